# Tools: luthier_add_tool, and luthier_hook_bitcode below it. This file is part of the installed package too, so it knows nothing of the project but the
# targets luthier::luthier and luthier::hook-handles and the folders of headers, LUTHIER_INCLUDE_DIRS.

set(LUTHIER_ROCM_PATH "$ENV{ROCM_PATH}" CACHE PATH "Prefix that ROCm is installed in, if that is not the system's; default: the environment's ROCM_PATH")

# Hooks are compiled by the Clang of Luthier's own LLVM (LUTHIER_LLVM_MAJOR), which reads what it writes, whatever compiles the rest.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^${LUTHIER_LLVM_MAJOR}[.]")
  set(LUTHIER_HOOK_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH "Compiler of hooks (Clang ${LUTHIER_LLVM_MAJOR})")
else()
  find_program(LUTHIER_HOOK_COMPILER NAMES clang++-${LUTHIER_LLVM_MAJOR} HINTS /usr/lib/llvm-${LUTHIER_LLVM_MAJOR}/bin DOC "Compiler of hooks (Clang ${LUTHIER_LLVM_MAJOR})")
  if(NOT LUTHIER_HOOK_COMPILER)
    message(FATAL_ERROR "clang++-${LUTHIER_LLVM_MAJOR} not found: hooks are compiled by the Clang of the LLVM that this Luthier was built with; "
      "install clang-${LUTHIER_LLVM_MAJOR} or say where it is with -DLUTHIER_HOOK_COMPILER=")
  endif()
endif()

# Math functions, and what HIP's headers call: bitcode for any GPU (src/hook/llvm/device_library.h).
find_path(LUTHIER_DEVICE_LIBRARY ocml.bc HINTS ${LUTHIER_ROCM_PATH}/amdgcn/bitcode ${LUTHIER_ROCM_PATH}/lib/llvm/amdgcn/bitcode /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode
  /opt/rocm/amdgcn/bitcode NO_DEFAULT_PATH DOC "Folder of ROCm's device library (rocm-device-libs), for hooks that call its functions")

# luthier_hook_bitcode(OUTPUT source.hip [HIP] [FLAG ...]): hooks as bitcode that belongs to no GPU target (docs/hooks.md). Clang's own passes stay off: they would
# make use of the target that it must be given. HIP: the source includes HIP's headers.
function(luthier_hook_bitcode output source)
  cmake_parse_arguments(ARG "HIP" "" "" ${ARGN})
  cmake_path(ABSOLUTE_PATH source)
  set(headers -nogpuinc)
  if(ARG_HIP)
    set(headers --rocm-path=/usr -D__HIP_PLATFORM_AMD__)
    if(LUTHIER_ROCM_PATH)
      set(headers --rocm-path=${LUTHIER_ROCM_PATH} -isystem ${LUTHIER_ROCM_PATH}/include -D__HIP_PLATFORM_AMD__)
    endif()
  endif()
  set(library)
  if(LUTHIER_DEVICE_LIBRARY)
    foreach(part ocml ockl)
      list(APPEND library -Xclang -mlink-builtin-bitcode -Xclang ${LUTHIER_DEVICE_LIBRARY}/${part}.bc)
    endforeach()
  endif()
  list(TRANSFORM LUTHIER_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE includes)
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${output}
    COMMAND ${LUTHIER_HOOK_COMPILER} -x hip --cuda-device-only --no-gpu-bundle-output -nogpulib ${headers} --offload-arch=gfx900
      -std=c++17 -O2 -Xclang -disable-llvm-passes -emit-llvm -Wall ${library} ${includes} ${ARG_UNPARSED_ARGUMENTS} -MD -MF ${output}.d -MT ${output} -c ${source} -o ${output}
    DEPENDS ${source} DEPFILE ${output}.d COMMENT "Compiling hooks ${source}" VERBATIM)
endfunction()

# luthier_add_tool(NAME SOURCES a.cc ... [HOOKS a.hip] [HIP] [LIBS target ...] [OUTPUT_DIRECTORY folder] [DESCRIPTION "one line"])
# A tool for `luthier run --tool`: the shared library libNAME.so, target NAME. The hooks are compiled, embedded into it, and described by NAME_hooks.h, which the
# sources include: `hooks::count` is the handle of hook `count` with its parameters' types. HIP: the hooks include HIP's headers. DESCRIPTION: what `luthier tools` prints
# beside the name (src/runtime/tool_description.h).
function(luthier_add_tool name)
  cmake_parse_arguments(ARG "HIP" "HOOKS;OUTPUT_DIRECTORY;DESCRIPTION" "SOURCES;LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR ARG_KEYWORDS_MISSING_VALUES OR NOT ARG_SOURCES)
    message(FATAL_ERROR "luthier_add_tool(NAME SOURCES a.cc ... [HOOKS a.hip] [HIP] [LIBS target ...] [OUTPUT_DIRECTORY folder] [DESCRIPTION text]): "
      "not understood: ${ARG_UNPARSED_ARGUMENTS} ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  add_library(${name} SHARED ${ARG_SOURCES})
  if(ARG_HOOKS)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_hooks)
    set(bitcode ${folder}/${name}.bc)
    set(flags)
    if(ARG_HIP)
      set(flags HIP)
    endif()
    luthier_hook_bitcode(${bitcode} ${ARG_HOOKS} ${flags})
    cmake_path(GET ARG_HOOKS FILENAME origin)
    set(handles ${folder}/${name}_hooks.h ${folder}/${name}_hooks.cc)
    add_custom_command(OUTPUT ${handles}
      COMMAND luthier::hook-handles ${bitcode} -o ${folder}/${name}_hooks.h --source ${folder}/${name}_hooks.cc --origin ${origin}
      DEPENDS ${bitcode} luthier::hook-handles COMMENT "Writing handles of ${origin}" VERBATIM)
    target_sources(${name} PRIVATE ${handles})
    target_include_directories(${name} PRIVATE ${folder})
  endif()
  if(ARG_DESCRIPTION)
    string(REGEX REPLACE "([\"\\\\])" "\\\\\\1" text "${ARG_DESCRIPTION}")
    set(description ${CMAKE_CURRENT_BINARY_DIR}/${name}_description.cc)
    file(CONFIGURE OUTPUT ${description} @ONLY CONTENT [=[
extern "C" __attribute__((visibility("default"))) const char luthierToolDescription[];
const char luthierToolDescription[] = "@text@";
]=])
    target_sources(${name} PRIVATE ${description})
  endif()
  target_link_libraries(${name} PRIVATE luthier::luthier ${ARG_LIBS})
  target_compile_features(${name} PRIVATE cxx_std_20)
  # What is missing is an error of the build; and two tools in one process see nothing of each other.
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(NOT LUTHIER_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  if(ARG_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY})
  endif()
endfunction()
