# Examples on the pages of docs/ are compiled: what a page shows is what works.

# luthier_extract_block(PAGE LANGUAGE OUTPUT): writes the page's first block of that language to a file.
function(luthier_extract_block page language output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
  file(READ ${page} text)
  string(FIND "${text}" "```${language}\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${page} has no block of ${language}")
  endif()
  string(LENGTH "```${language}\n" skip)
  math(EXPR begin "${begin} + ${skip}")
  string(SUBSTRING "${text}" ${begin} -1 rest)
  string(FIND "${rest}" "```" length)
  string(SUBSTRING "${rest}" 0 ${length} block)
  file(CONFIGURE OUTPUT ${output} CONTENT "${block}" @ONLY)
endfunction()
