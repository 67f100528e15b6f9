# The virtual GPU and its tests once more under AddressSanitizer and ThreadSanitizer, each in a build folder of its own below
# this one. They are part of the ordinary build, so that `ninja` and `ctest` cover them; without changes they build nothing.

include(ExternalProject)

function(luthier_sanitized_build sanitizer)
  ExternalProject_Add(sanitized_${sanitizer}
    SOURCE_DIR ${PROJECT_SOURCE_DIR}
    BINARY_DIR ${PROJECT_BINARY_DIR}/sanitized-${sanitizer}
    CMAKE_ARGS -DLUTHIER_SANITIZE=${sanitizer} -DLUTHIER_WERROR=${LUTHIER_WERROR} -DLUTHIER_VGPU_LEVELS=base
      -DLUTHIER_BUILD_SAMPLES=OFF -DLUTHIER_BUILD_BENCH=OFF -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
      -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> --target sanitized_tests
    INSTALL_COMMAND ""
    BUILD_ALWAYS ON
    USES_TERMINAL_BUILD ON)
  add_test(NAME sanitized.${sanitizer}
    COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${PROJECT_BINARY_DIR}/sanitized-${sanitizer} --output-on-failure --no-tests=error -L sanitized)
  set_tests_properties(sanitized.${sanitizer} PROPERTIES TIMEOUT 600)
endfunction()

if(LUTHIER_BUILD_TESTS AND LUTHIER_BUILD_SANITIZED AND NOT LUTHIER_SANITIZE)
  luthier_sanitized_build(address)
  luthier_sanitized_build(thread)
endif()
