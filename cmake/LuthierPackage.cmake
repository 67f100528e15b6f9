# `cpack` in the build folder, or scripts/package.sh --deb: all that is installed as one Debian package. What Debian 12 has built installs on
# later releases too, as the libraries it needs (dpkg-shlibdeps names them) have the same packages there.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME luthier)
set(CPACK_PACKAGE_VENDOR "The Luthier project")
set(CPACK_PACKAGE_CONTACT "The Luthier project")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Luthier instruments AMD GPU programs while they run, with hooks written in HIP.
Where there is no AMD GPU, programs run on a virtual GPU that executes their
machine code on the CPU, and can be checked for invalid memory accesses, races
and other mistakes there.")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
# To write tools: the compiler of hooks, of the LLVM that reads them, and what luthier_add_tool is for.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang-${LUTHIER_LLVM_MAJOR}, cmake")
# Applications bring ROCr and HIP along. Reports as databases (-f db) load SQLite when they are wanted.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "hipcc, rocm-device-libs, libsqlite3-0")
include(CPack)
