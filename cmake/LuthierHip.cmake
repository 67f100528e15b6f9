# HIP programs, built by hipcc as a user would build them, and device code alone, built by Clang.

set(LUTHIER_SAMPLE_TARGETS gfx90a CACHE STRING "GPU targets of the samples and of other HIP programs (a list)")
list(TRANSFORM LUTHIER_SAMPLE_TARGETS PREPEND --offload-arch= OUTPUT_VARIABLE hip_arch_flags)
# All of these, for all programs, would take the build long; scripts/targets.py runs all samples on all of them.
set(LUTHIER_SAMPLE_MORE_TARGETS gfx900 gfx906 gfx908 gfx1030 CACHE STRING "GPU targets of some of them beside these (a list)")
set(LUTHIER_SAMPLE_CHECKED_TARGETS gfx908 CACHE STRING "Those of them that checks, tools and hostile hooks are tried on (a list)")
if(LUTHIER_SAMPLE_TARGETS)
  list(REMOVE_ITEM LUTHIER_SAMPLE_MORE_TARGETS ${LUTHIER_SAMPLE_TARGETS})
endif()
list(TRANSFORM LUTHIER_SAMPLE_MORE_TARGETS PREPEND --offload-arch= OUTPUT_VARIABLE LUTHIER_HIP_MORE_TARGETS)
set(LUTHIER_HIP_FLAGS -std=c++17 -O2 -Wall -Wextra -Wno-unused-command-line-argument -I${PROJECT_SOURCE_DIR}/samples ${hip_arch_flags})
# ROCm in a prefix, beside which there may be another in the system's folders.
if(LUTHIER_ROCM_PATH)
  list(APPEND LUTHIER_HIP_FLAGS --rocm-path=${LUTHIER_ROCM_PATH} -isystem ${LUTHIER_ROCM_PATH}/include -L${LUTHIER_ROCM_PATH}/lib -Wl,--disable-new-dtags,-rpath,${LUTHIER_ROCM_PATH}/lib) # an old RPATH, as it also counts for what HIP needs
endif()

# luthier_rocm_output(OUTPUT [DEPENDENCY ...]): says that OUTPUT, which some command of the build writes, depends on the ROCm that is installed. `scripts/rocm.sh --prebuilt`
# makes these files on another release, and takes all others from the build that it is given. They are listed in rocm_outputs.txt of the build folder, in the order in which they
# can be made.
function(luthier_rocm_output)
  list(JOIN ARGN "\t" line)
  set_property(GLOBAL APPEND_STRING PROPERTY LUTHIER_ROCM_OUTPUTS "${line}\n")
endfunction()

# luthier_rocm_tests([REGEX] [EXCEPT REGEX]): the tests that this folder has added, or those whose names match, get the label rocm: they run programs on ROCr or HIP, so that they may end otherwise on
# another release. GoogleTest programs say it by luthier_test's ROCM. EXCEPT: those that expect what this release's compiler or libraries make.
function(luthier_rocm_tests)
  cmake_parse_arguments(ARG "" "EXCEPT" "" ${ARGN})
  get_property(tests DIRECTORY PROPERTY TESTS)
  if(ARG_UNPARSED_ARGUMENTS)
    list(FILTER tests INCLUDE REGEX ${ARG_UNPARSED_ARGUMENTS})
  endif()
  if(ARG_EXCEPT)
    list(FILTER tests EXCLUDE REGEX ${ARG_EXCEPT})
  endif()
  foreach(test IN LISTS tests)
    set_property(TEST ${test} APPEND PROPERTY LABELS rocm)
  endforeach()
endfunction()

# luthier_hip_program(TARGET PROGRAM [SOURCES a.hip ...] [HEADERS a.h ...] [GENCO kernels.hip] [LIBS -lx ...] [MORE_TARGETS])
# Builds PROGRAM (a path) as part of the target TARGET, anew when a source or one of the HEADERS changes. GENCO is built beside it as a code object of its own, whose path the
# program gets as SAMPLE_CODE_OBJECT. MORE_TARGETS: for those in LUTHIER_SAMPLE_MORE_TARGETS too.
function(luthier_hip_program target program)
  cmake_parse_arguments(ARG "MORE_TARGETS" "GENCO" "SOURCES;HEADERS;LIBS" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM ARG_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  cmake_path(GET program PARENT_PATH folder)
  cmake_path(GET program FILENAME name)
  file(MAKE_DIRECTORY ${folder})
  set(outputs ${program})
  set(defines)
  if(ARG_MORE_TARGETS)
    list(APPEND LUTHIER_HIP_FLAGS ${LUTHIER_HIP_MORE_TARGETS})
  endif()
  if(ARG_GENCO)
    cmake_path(GET ARG_GENCO STEM code_object_name)
    set(code_object ${folder}/${code_object_name}.hsaco)
    add_custom_command(OUTPUT ${code_object}
      COMMAND ${HIPCC} --genco ${LUTHIER_HIP_FLAGS} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_GENCO} -o ${code_object}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_GENCO}
      COMMENT "Building code object ${code_object_name}.hsaco" VERBATIM)
    list(APPEND outputs ${code_object})
    luthier_rocm_output(${code_object} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_GENCO})
    set(defines "-DSAMPLE_CODE_OBJECT=\"${code_object}\"")
  endif()
  add_custom_command(OUTPUT ${program}
    COMMAND ${HIPCC} ${LUTHIER_HIP_FLAGS} ${defines} ${ARG_SOURCES} -o ${program} ${ARG_LIBS}
    DEPENDS ${ARG_SOURCES} ${ARG_HEADERS} ${PROJECT_SOURCE_DIR}/samples/sample.h
    COMMENT "Building HIP program ${name}" VERBATIM)
  luthier_rocm_output(${program} ${ARG_SOURCES} ${ARG_HEADERS} ${PROJECT_SOURCE_DIR}/samples/sample.h)
  add_custom_target(${target} ALL DEPENDS ${outputs})
endfunction()

# luthier_code_object(OUTPUT source.hip [FLAG ...] [TARGET gfx90a] [HEADERS a.h ...]): a code object, without any ROCm header or library; made anew when one
# of the HEADERS changes.
function(luthier_code_object output source)
  cmake_parse_arguments(ARG "" "TARGET" "HEADERS" ${ARGN})
  if(NOT ARG_TARGET)
    set(ARG_TARGET gfx90a)
  endif()
  cmake_path(ABSOLUTE_PATH source)
  list(TRANSFORM ARG_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_CXX_COMPILER} -x hip --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc
      --offload-arch=${ARG_TARGET} -O2 -Wall ${ARG_UNPARSED_ARGUMENTS} ${source} -o ${output}
    DEPENDS ${source} ${ARG_HEADERS} COMMENT "Compiling ${source} for ${ARG_TARGET}" VERBATIM)
endfunction()

# luthier_checked_tests(NAME ARGUMENT ...): `luthier run ARGUMENT ...` under each check that the virtual GPU can make of a program (docs/virtual-gpu.md), as
# tests NAME.CHECK. strict_waits: compilers put waits where they belong. poison_dead: what liveness analysis calls dead is not needed. strict_resources: compilers rely on nothing that the
# hardware does not have.
function(luthier_checked_tests name)
  add_test(NAME ${name}.strict_waits COMMAND ${PROJECT_BINARY_DIR}/bin/luthier run --strict-waits ${ARGN})
  add_test(NAME ${name}.poison_dead COMMAND ${PROJECT_SOURCE_DIR}/tests/e2e/poison.py ${PROJECT_BINARY_DIR}/bin/luthier ${ARGN})
  add_test(NAME ${name}.strict_resources COMMAND ${PROJECT_SOURCE_DIR}/tests/e2e/strict_resources.py ${PROJECT_BINARY_DIR}/bin/luthier ${ARGN})
  set_tests_properties(${name}.strict_waits ${name}.poison_dead ${name}.strict_resources PROPERTIES TIMEOUT 300)
endfunction()
