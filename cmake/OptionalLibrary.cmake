# collage_optional_library(NAME TARGETS WHAT PACKAGE [find_package arguments…]) finds a library that a build may lack.
#
# Makes the option COLLAGE_WITH_NAME: AUTO uses the library where it is found, ON fails without it, OFF leaves it out.
# Sets COLLAGE_HAS_NAME to 1 or 0 and COLLAGE_LINKS_NAME to TARGETS, what a user of it links. The list COLLAGE_OPTIONAL has
# every NAME. Of a library that is left out the configure output says WHAT a build without it lacks.
set(COLLAGE_OPTIONAL "")
macro(collage_optional_library name targets what package)
  set(COLLAGE_WITH_${name} AUTO CACHE STRING "Use ${package}: AUTO (where it is found), ON or OFF. Without it: no ${what}")
  set_property(CACHE COLLAGE_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  set(COLLAGE_HAS_${name} 0)
  set(COLLAGE_LINKS_${name} ${targets})
  list(APPEND COLLAGE_OPTIONAL ${name})
  if(COLLAGE_WITH_${name} STREQUAL AUTO)
    find_package(${package} ${ARGN} QUIET)
  elseif(COLLAGE_WITH_${name})
    find_package(${package} ${ARGN} REQUIRED)
  endif()
  if(COLLAGE_WITH_${name} AND ${package}_FOUND)
    set(COLLAGE_HAS_${name} 1)
  else()
    message(STATUS "Without ${package}: no ${what} (COLLAGE_WITH_${name} is ${COLLAGE_WITH_${name}})")
  endif()
endmacro()

# collage_optional_component(NAME WHAT) is the same for a part of Collage that needs no library: COLLAGE_WITH_NAME is ON or OFF.
macro(collage_optional_component name what)
  option(COLLAGE_WITH_${name} "Build it. Without it: no ${what}" ON)
  set(COLLAGE_HAS_${name} 0)
  list(APPEND COLLAGE_OPTIONAL ${name})
  if(COLLAGE_WITH_${name})
    set(COLLAGE_HAS_${name} 1)
  else()
    message(STATUS "Without ${what} (COLLAGE_WITH_${name} is ${COLLAGE_WITH_${name}})")
  endif()
endmacro()

# collage_optional_users(RESULT PATH) sets RESULT to the names whose PATH exists, where `@` is the name in lower case:
# `runtime/libraries/@` => ONEDNN OPENBLAS.
function(collage_optional_users result path)
  set(found "")
  foreach(name IN LISTS COLLAGE_OPTIONAL)
    string(TOLOWER ${name} lower)
    string(REPLACE "@" ${lower} file ${PROJECT_SOURCE_DIR}/${path})
    if(EXISTS ${file})
      list(APPEND found ${name})
    endif()
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# collage_lacks(RESULT REGEX NAME…) sets RESULT to a regular expression for each NAME that this build lacks: REGEX with the
# name in lower case for `@`. For filters of source lists.
function(collage_lacks result regex)
  set(found "")
  foreach(name IN LISTS ARGN)
    if(NOT COLLAGE_HAS_${name})
      string(TOLOWER ${name} lower)
      string(REPLACE "@" ${lower} one ${regex})
      list(APPEND found ${one})
    endif()
  endforeach()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# collage_link_optional(TARGET NAME…) links those of the libraries that are there.
function(collage_link_optional target)
  foreach(name IN LISTS ARGN)
    if(COLLAGE_HAS_${name})
      target_link_libraries(${target} PRIVATE ${COLLAGE_LINKS_${name}})
    endif()
  endforeach()
endfunction()

# collage_define_optional(SOURCE NAME…) defines COLLAGE_HAS_NAME as 1 or 0 for the one source that depends on it.
function(collage_define_optional source)
  set(definitions "")
  foreach(name IN LISTS ARGN)
    list(APPEND definitions COLLAGE_HAS_${name}=${COLLAGE_HAS_${name}})
  endforeach()
  set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS "${definitions}")
endfunction()
