# How every library, test and program of the project is declared, so that flags and folders are said once.

add_library(luthier_flags INTERFACE)
target_compile_options(luthier_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-unused-parameter -fno-omit-frame-pointer)
# lld: the default linker takes seconds for each program that contains LLVM.
target_link_options(luthier_flags INTERFACE -fuse-ld=lld)
if(LUTHIER_WERROR)
  target_compile_options(luthier_flags INTERFACE -Werror)
endif()
if(LUTHIER_SANITIZE)
  target_compile_options(luthier_flags INTERFACE -fsanitize=${LUTHIER_SANITIZE})
  target_link_options(luthier_flags INTERFACE -fsanitize=${LUTHIER_SANITIZE})
endif()

# luthier_batched(TARGET): sanitized builds compile several sources of it at once. Most of the time goes into headers, and the ordinary build has shown
# that each source compiles by itself.
function(luthier_batched target)
  if(LUTHIER_SANITIZE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# The standard headers that most libraries include take as long to compile as what is in a source, so they are compiled once for all of them.
file(WRITE ${PROJECT_BINARY_DIR}/src/precompiled.cc "")
add_library(luthier_library_headers OBJECT ${PROJECT_BINARY_DIR}/src/precompiled.cc)
target_link_libraries(luthier_library_headers PRIVATE luthier_flags)
target_compile_options(luthier_library_headers PRIVATE -fno-exceptions)
target_precompile_headers(luthier_library_headers PRIVATE <algorithm> <array> <atomic> <cstdint> <cstring> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
  <string_view> <unordered_map> <vector>)

# luthier_library(NAME SOURCES a.cc ... DEPS other ...): one folder of src/, built without exceptions.
function(luthier_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(luthier_${name} STATIC ${ARG_SOURCES})
  target_include_directories(luthier_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(luthier_${name} PRIVATE -fno-exceptions)
  target_link_libraries(luthier_${name} PUBLIC ${ARG_DEPS} PRIVATE luthier_flags ${ARG_PRIVATE_DEPS})
  target_precompile_headers(luthier_${name} REUSE_FROM luthier_library_headers)
  luthier_batched(luthier_${name})
endfunction()

# luthier_shim(NAME a.c ...): preloaded into applications and their children, so it needs nothing but libc, and never a
# sanitizer's runtime.
function(luthier_shim name)
  add_library(${name} SHARED ${ARGN})
  target_compile_options(${name} PRIVATE -Wall -Wextra -fvisibility=hidden -fno-delete-null-pointer-checks)
  if(LUTHIER_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
endfunction()

# All test programs, without running them. The headers that most of them begin with are compiled once, for this program. What takes time is in
# libraries, so tests are not optimised: they compile in half the time.
set(LUTHIER_TEST_OPTIONS -O0)
if(LUTHIER_BUILD_TESTS)
  add_custom_target(build-tests)
  file(WRITE ${PROJECT_BINARY_DIR}/tests/precompiled.cc "int main() {}\n")
  add_executable(luthier_test_headers ${PROJECT_BINARY_DIR}/tests/precompiled.cc)
  target_link_libraries(luthier_test_headers PRIVATE luthier_flags GTest::gtest_main GTest::gmock)
  target_compile_options(luthier_test_headers PRIVATE ${LUTHIER_TEST_OPTIONS})
  target_precompile_headers(luthier_test_headers PRIVATE <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
endif()

# luthier_test_program(NAME SOURCES ... DEPS ...): a GoogleTest program, and no CTest.
function(luthier_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} luthier_flags GTest::gtest_main GTest::gmock)
  target_compile_options(${name} PRIVATE ${LUTHIER_TEST_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM luthier_test_headers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(build-tests ${name})
endfunction()

# luthier_test(NAME SOURCES ... DEPS ... [ENV K=V] [ROCM] [SANITIZED address|thread ...]): a GoogleTest program, each of its cases a CTest.
# It also runs in the builds under these sanitizers (cmake/LuthierSanitized.cmake). ROCM: as luthier_rocm_tests has it.
function(luthier_test name)
  cmake_parse_arguments(ARG "ROCM" "TIMEOUT" "SOURCES;DEPS;ENV;SANITIZED" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  luthier_test_program(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS})
  set(properties TIMEOUT ${ARG_TIMEOUT})
  list(LENGTH ARG_ENV env_count)
  if(env_count GREATER 1)
    # gtest_discover_tests takes the second entry of a list for the name of a property, and drops all that follow it.
    message(FATAL_ERROR "${name}: one ENV entry at most")
  endif()
  if(ARG_ENV)
    list(APPEND properties ENVIRONMENT "${ARG_ENV}")
  endif()
  if(LUTHIER_SANITIZE AND LUTHIER_SANITIZE IN_LIST ARG_SANITIZED)
    add_dependencies(sanitized_tests ${name})
    list(APPEND properties LABELS sanitized)
  elseif(ARG_ROCM)
    list(APPEND properties LABELS rocm)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()

