# The virtual GPU and its tests once more under AddressSanitizer and ThreadSanitizer, each in a build folder of its own below
# this one. They are part of the ordinary build, so that `ninja` and `ctest` cover them; without changes they build nothing.

include(ExternalProject)

# Optimised no more than sanitizers want, and with assertions, ours and the standard library's, which the ordinary build leaves out. Suppressions need the full names
# of inlined functions, which -g1 does not have.
function(luthier_sanitized_build sanitizer)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  ExternalProject_Add(sanitized_${sanitizer}
    SOURCE_DIR ${PROJECT_SOURCE_DIR}
    BINARY_DIR ${PROJECT_BINARY_DIR}/sanitized-${sanitizer}
    CMAKE_ARGS -DLUTHIER_SANITIZE=${sanitizer} -DLUTHIER_WERROR=${LUTHIER_WERROR} -DLUTHIER_ORDINARY_BUILD=${PROJECT_BINARY_DIR} -DLUTHIER_VGPU_LEVELS=base -DLUTHIER_VGPU_LEVELS_32=
      -DLUTHIER_BUILD_SAMPLES=OFF -DLUTHIER_BUILD_BENCH=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g -D_GLIBCXX_ASSERTIONS"
      -DLUTHIER_LLVM_VERSION=${LUTHIER_LLVM_VERSION} -DLLVM_DIR=${LLVM_DIR} -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
      -DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER} -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
    BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --parallel ${cores} --target sanitized_tests
    INSTALL_COMMAND ""
    BUILD_ALWAYS ON
    USES_TERMINAL_BUILD ON)
  add_dependencies(sanitized_${sanitizer} luthier luthier-hook-compiler luthier_isa_generate)
  add_test(NAME sanitized.${sanitizer}
    COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${PROJECT_BINARY_DIR}/sanitized-${sanitizer} --output-on-failure --no-tests=error -L sanitized)
  set_tests_properties(sanitized.${sanitizer} PROPERTIES TIMEOUT 600)
endfunction()

# Inside a sanitized build.

# luthier_ordinary_program(TARGET FOLDER): instead of add_executable, for a program that a sanitizer has nothing to say about: the one of the ordinary build, in
# the same folder of this one, as programs look for libraries beside themselves.
function(luthier_ordinary_program target folder)
  set(copy ${PROJECT_BINARY_DIR}/${folder}/${target})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
  add_custom_target(ordinary_${target} COMMAND ${CMAKE_COMMAND} -E copy_if_different ${LUTHIER_ORDINARY_BUILD}/${folder}/${target} ${copy} VERBATIM)
  add_executable(${target} IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${copy})
  add_dependencies(${target} ordinary_${target})
endfunction()

# luthier_sanitized_hip_program(TARGET PROGRAM source.hip): hipcc's Clang has another sanitizer runtime than ours, so such programs are built by ours, for
# HIP 5.2.3's code objects.
function(luthier_sanitized_hip_program target program source)
  cmake_path(ABSOLUTE_PATH source)
  set(alloc ${PROJECT_SOURCE_DIR}/tests/sanitized_alloc.cc)
  cmake_path(GET program PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${program}
    COMMAND ${CMAKE_CXX_COMPILER} -x hip --offload-arch=gfx90a -mcode-object-version=4 --rocm-device-lib-path=${LUTHIER_DEVICE_LIBS} -std=c++17
      -O1 -g -fsanitize=${LUTHIER_SANITIZE} -fno-gpu-sanitize -Wno-unused-result -I${PROJECT_SOURCE_DIR}/samples ${source}
      -x c++ ${alloc} -Wl,--export-dynamic-symbol=aligned_alloc -o ${program} -lamdhip64
    DEPENDS ${source} ${alloc} ${PROJECT_SOURCE_DIR}/samples/sample.h COMMENT "Building ${program} under a sanitizer" VERBATIM)
  add_custom_target(${target} DEPENDS ${program})
endfunction()

# luthier_sanitized_environment(TEST): for a test of such a program.
function(luthier_sanitized_environment test)
  set(e2e ${PROJECT_SOURCE_DIR}/tests/e2e)
  # LLVM 15 inside HIP sets alternate signal stacks too, on which AddressSanitizer trips: use_sigaltstack=0. Our LLVM is not built for it: containers that it
  # has filled look overflown.
  set_tests_properties(${test} PROPERTIES LABELS sanitized TIMEOUT 300 ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=1:use_sigaltstack=0:detect_container_overflow=0;LSAN_OPTIONS=suppressions=${e2e}/lsan.supp:print_suppressions=0;TSAN_OPTIONS=suppressions=${e2e}/tsan.supp halt_on_error=1 history_size=4")
endfunction()

if(LUTHIER_BUILD_TESTS AND LUTHIER_BUILD_SANITIZED AND NOT LUTHIER_SANITIZE)
  luthier_sanitized_build(address)
  luthier_sanitized_build(thread)
endif()
