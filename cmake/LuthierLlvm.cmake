# Which LLVM the project is built with, decided before project() because the compiler is the same release's Clang: the compiler writes bitcode, of hooks and of the
# virtual GPU's handlers, that the LLVM inside must be able to read.

set(LUTHIER_LLVM_RELEASES 21 20 19) # that the instruction tables (src/isa/generate) are known to come out right with, the preferred one first

if(NOT DEFINED LUTHIER_LLVM_VERSION AND NOT LLVM_DIR)
  foreach(release IN LISTS LUTHIER_LLVM_RELEASES)
    if(EXISTS /usr/lib/llvm-${release}/lib/cmake/llvm/LLVMConfig.cmake AND EXISTS /usr/lib/llvm-${release}/bin/clang++)
      set(LUTHIER_LLVM_VERSION ${release} CACHE STRING "LLVM release to build with: 19, 20 or 21")
      break()
    endif()
  endforeach()
  if(NOT DEFINED LUTHIER_LLVM_VERSION)
    message(FATAL_ERROR "Luthier needs LLVM 19, 20 or 21 and its Clang, none of which is in /usr/lib/llvm-*: install clang-N, llvm-N-dev and what else "
      "scripts/packages.txt has, or say where LLVM is with -DLLVM_DIR=.../lib/cmake/llvm and -DCMAKE_CXX_COMPILER=.../clang++")
  endif()
endif()
if(LUTHIER_LLVM_VERSION AND NOT LUTHIER_LLVM_VERSION IN_LIST LUTHIER_LLVM_RELEASES)
  message(FATAL_ERROR "LUTHIER_LLVM_VERSION=${LUTHIER_LLVM_VERSION}: Luthier is built with LLVM 19, 20 or 21")
endif()
if(LUTHIER_LLVM_VERSION AND NOT DEFINED CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  find_program(LUTHIER_CLANGXX NAMES clang++-${LUTHIER_LLVM_VERSION} HINTS /usr/lib/llvm-${LUTHIER_LLVM_VERSION}/bin REQUIRED)
  find_program(LUTHIER_CLANG NAMES clang-${LUTHIER_LLVM_VERSION} HINTS /usr/lib/llvm-${LUTHIER_LLVM_VERSION}/bin REQUIRED)
  set(CMAKE_C_COMPILER ${LUTHIER_CLANG})
  set(CMAKE_CXX_COMPILER ${LUTHIER_CLANGXX})
endif()
