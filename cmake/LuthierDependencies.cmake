# Every outside library, found once. All are Debian 12 packages, listed in scripts/packages.txt.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/llvm)

# LLVM's demangler, which depends on nothing else of LLVM.
llvm_map_components_to_libnames(LUTHIER_LLVM_DEMANGLE_LIBS Demangle)
add_library(luthier_llvm_demangle INTERFACE)
target_include_directories(luthier_llvm_demangle SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(luthier_llvm_demangle INTERFACE ${LUTHIER_LLVM_DEMANGLE_LIBS})

# The parts of LLVM that only disassemble AMD GPU code, linked statically so that no LLVM symbol is visible in a process
# that has an LLVM of its own (HIP loads LLVM 15).
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

find_path(HSA_INCLUDE_DIR hsa/hsa.h REQUIRED)

if(LUTHIER_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(LUTHIER_BUILD_SAMPLES)
  find_program(HIPCC hipcc REQUIRED)
endif()
if(LUTHIER_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
