# What `cmake --install` puts where, so that tools can be built outside of this tree: find_package(luthier), luthier_add_tool. Programs and the virtual GPU are
# installed by their own folders.

include(CMakePackageConfigHelpers)

# What tools link to.
add_library(luthier::luthier ALIAS luthier_runtime)

target_include_directories(luthier_runtime INTERFACE "$<BUILD_INTERFACE:${LUTHIER_INCLUDE_DIRS}>" $<INSTALL_INTERFACE:include>)
set_target_properties(luthier_runtime PROPERTIES EXPORT_NAME luthier)
set_target_properties(luthier-hook-handles PROPERTIES EXPORT_NAME hook-handles)

install(TARGETS luthier_runtime EXPORT luthier LIBRARY DESTINATION lib)
install(TARGETS luthier-hook-handles EXPORT luthier RUNTIME DESTINATION lib/luthier/bin)
# luthier/vgpu.h is the header of a library that is not installed: it is for programs of this tree.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/luthier DESTINATION include PATTERN vgpu.h EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/src/isa/generated/include/luthier/opcode.h DESTINATION include/luthier)

set(package lib/cmake/luthier)
install(EXPORT luthier NAMESPACE luthier:: DESTINATION ${package} FILE luthierTargets.cmake)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/luthierConfig.cmake.in ${PROJECT_BINARY_DIR}/package/luthierConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/luthierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/luthierConfig.cmake ${PROJECT_BINARY_DIR}/package/luthierConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/LuthierTool.cmake DESTINATION ${package})
configure_file(${PROJECT_SOURCE_DIR}/cmake/luthier.pc.in ${PROJECT_BINARY_DIR}/package/luthier.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/luthier.pc DESTINATION lib/pkgconfig)

# The pages, where their links to each other lead.
set(pages share/doc/luthier)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${pages})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${pages} RENAME copyright) # as Debian calls it
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${pages})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools DESTINATION ${pages} FILES_MATCHING PATTERN README.md)
