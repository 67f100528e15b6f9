# Every outside library, found once. All are Debian packages, listed in scripts/packages.txt.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)

# LLVM's version file takes no range, so what was found is judged here.
find_package(LLVM REQUIRED CONFIG PATHS /usr/lib/llvm-${LUTHIER_LLVM_VERSION}/lib/cmake/llvm NO_DEFAULT_PATH)
if(NOT LLVM_VERSION_MAJOR IN_LIST LUTHIER_LLVM_RELEASES)
  message(FATAL_ERROR "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}: Luthier is built with LLVM 19, 20 or 21, whose tables of instructions src/isa/generate knows")
endif()
foreach(target AMDGPU X86)
  if(NOT target IN_LIST LLVM_TARGETS_TO_BUILD)
    message(FATAL_ERROR "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR} was built without the target ${target}")
  endif()
endforeach()
set(LUTHIER_LLVM_MAJOR ${LLVM_VERSION_MAJOR})
string(REGEX MATCH "^[0-9]+" clang_major ${CMAKE_CXX_COMPILER_VERSION})
if(clang_major GREATER LUTHIER_LLVM_MAJOR)
  message(FATAL_ERROR "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR} cannot be relied on to read the bitcode that Clang ${CMAKE_CXX_COMPILER_VERSION} writes: "
    "configure in an empty folder with -DCMAKE_CXX_COMPILER=clang++-${LUTHIER_LLVM_MAJOR}, or with the LLVM of this Clang (-DLLVM_DIR)")
endif()

# LLVM's demangler, which depends on nothing else of LLVM.
llvm_map_components_to_libnames(LUTHIER_LLVM_DEMANGLE_LIBS Demangle)
add_library(luthier_llvm_demangle INTERFACE)
target_include_directories(luthier_llvm_demangle SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(luthier_llvm_demangle INTERFACE ${LUTHIER_LLVM_DEMANGLE_LIBS})

# The parts of LLVM that only disassemble AMD GPU code, linked statically so that no LLVM symbol is visible in a process
# that has an LLVM of its own (HIP brings one).
llvm_map_components_to_libnames(LUTHIER_LLVM_MC_LIBS AMDGPUDisassembler AMDGPUDesc AMDGPUInfo AMDGPUUtils MC MCDisassembler Support TargetParser)
add_library(luthier_llvm_mc INTERFACE)
target_include_directories(luthier_llvm_mc SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(luthier_llvm_mc INTERFACE ${LUTHIER_LLVM_MC_LIBS})

# The parts that assemble it as well.
llvm_map_components_to_libnames(LUTHIER_LLVM_ASM_LIBS AMDGPUAsmParser MCParser)
add_library(luthier_llvm_asm INTERFACE)
target_link_libraries(luthier_llvm_asm INTERFACE ${LUTHIER_LLVM_ASM_LIBS} luthier_llvm_mc)

# The parts that compile hooks: bitcode in, an object of AMD GPU code out. Linked statically as well, into libluthier.so
# whose exports are only its own.
llvm_map_components_to_libnames(LUTHIER_LLVM_CODEGEN_LIBS AMDGPUAsmParser AMDGPUCodeGen AMDGPUDesc AMDGPUInfo AMDGPUUtils Analysis BitReader CodeGen Core Demangle IPO
  MC Object Passes ScalarOpts Support Target TargetParser TransformUtils)
add_library(luthier_llvm_codegen INTERFACE)
target_include_directories(luthier_llvm_codegen SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(luthier_llvm_codegen INTERFACE ${LUTHIER_LLVM_CODEGEN_LIBS})

# The reader of DWARF line tables.
llvm_map_components_to_libnames(LUTHIER_LLVM_DWARF_LIBS DebugInfoDWARF Object Support)
add_library(luthier_llvm_dwarf INTERFACE)
target_include_directories(luthier_llvm_dwarf SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(luthier_llvm_dwarf INTERFACE ${LUTHIER_LLVM_DWARF_LIBS})

# Compressed offload bundles.
find_package(ZLIB REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)
add_library(luthier_zstd INTERFACE)
target_link_libraries(luthier_zstd INTERFACE ${ZSTD_LIBRARY})

# ROCm: the system's, or in a prefix of its own (AMD's packages: /opt/rocm).
set(LUTHIER_ROCM_PATH "$ENV{ROCM_PATH}" CACHE PATH "Prefix that ROCm is installed in, if that is not the system's; default: the environment's ROCM_PATH")
if(LUTHIER_ROCM_PATH AND NOT IS_DIRECTORY ${LUTHIER_ROCM_PATH})
  message(FATAL_ERROR "ROCM_PATH: there is no folder ${LUTHIER_ROCM_PATH}")
endif()
set(rocm_roots ${LUTHIER_ROCM_PATH} ${LUTHIER_ROCM_PATH}/usr)
find_path(HSA_INCLUDE_DIR hsa/hsa.h HINTS ${rocm_roots} PATH_SUFFIXES include REQUIRED)
find_library(HSA_RUNTIME hsa-runtime64 HINTS ${rocm_roots} PATH_SUFFIXES lib lib/x86_64-linux-gnu REQUIRED)
# AMD's device libraries are bitcode: only the Clang that they come with, or a newer one, reads it.
file(GLOB device_libs LIST_DIRECTORIES true /usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode ${LUTHIER_ROCM_PATH}/lib/llvm/lib/clang/*/lib/amdgcn/bitcode)
find_path(LUTHIER_DEVICE_LIBS ockl.bc HINTS ${LUTHIER_ROCM_PATH}/amdgcn/bitcode ${device_libs} PATHS /usr/lib/x86_64-linux-gnu/amdgcn/bitcode REQUIRED)
set(LUTHIER_DEVICE_LIBS_COMPILER ${CMAKE_CXX_COMPILER})
if(LUTHIER_DEVICE_LIBS MATCHES "^(.*/llvm-([0-9]+))/lib/clang/" AND CMAKE_MATCH_2 GREATER LUTHIER_LLVM_MAJOR)
  set(LUTHIER_DEVICE_LIBS_COMPILER ${CMAKE_MATCH_1}/bin/clang++)
elseif(LUTHIER_ROCM_PATH AND LUTHIER_DEVICE_LIBS STREQUAL ${LUTHIER_ROCM_PATH}/amdgcn/bitcode AND EXISTS ${LUTHIER_ROCM_PATH}/lib/llvm/bin/clang++)
  set(LUTHIER_DEVICE_LIBS_COMPILER ${LUTHIER_ROCM_PATH}/lib/llvm/bin/clang++)
endif()

# Not every release of Debian has it. Tests go through its generators.
find_library(ROCRAND_LIBRARY rocrand HINTS ${rocm_roots} PATH_SUFFIXES lib lib/x86_64-linux-gnu)
set(LUTHIER_ROCRAND_GENERATORS)
if(ROCRAND_LIBRARY)
  set(LUTHIER_ROCRAND_GENERATORS xorwow mrg32k3a mtgp32 philox sobol32 sobol64)
else()
  message(STATUS "rocRAND (librocrand-dev) is not installed: its tests are left out")
endif()

if(LUTHIER_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # What HIP reads code objects with.
  find_path(AMD_COMGR_INCLUDE_DIR amd_comgr.h HINTS ${rocm_roots} PATH_SUFFIXES include include/amd_comgr REQUIRED)
endif()
if(LUTHIER_BUILD_SAMPLES)
  find_program(HIPCC hipcc HINTS ${LUTHIER_ROCM_PATH} PATH_SUFFIXES bin REQUIRED)
  # From HIP 6 on, its run-time compiler is a library of its own.
  find_library(HIPRTC_LIBRARY hiprtc HINTS ${rocm_roots} PATH_SUFFIXES lib lib/x86_64-linux-gnu)
endif()
if(LUTHIER_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
