# Fails when an object file of an AVX level defines a weak symbol outside the level's namespace: the linker keeps one copy
# of such a symbol for the whole program, and if it keeps this one, code with AVX instructions runs on CPUs without them.
# Arguments: NM, LEVEL, and OBJECTS separated by commas.
string(REPLACE "," ";" objects "${OBJECTS}")
set(wrong)
foreach(object IN LISTS objects)
  execute_process(COMMAND ${NM} --defined-only --format=posix ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" symbols "${symbols}")
  foreach(symbol IN LISTS symbols)
    if(symbol MATCHES "^([^ ]+) [WVu] " AND NOT CMAKE_MATCH_1 MATCHES "level_${LEVEL}")
      cmake_path(GET object FILENAME file)
      list(APPEND wrong "  ${file}: ${CMAKE_MATCH_1}")
    endif()
  endforeach()
endforeach()
if(wrong)
  list(JOIN wrong "\n" wrong)
  message(FATAL_ERROR "weak symbols outside of namespace level_${LEVEL} (see src/vgpu/exec/level.h):\n${wrong}")
endif()
