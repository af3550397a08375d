# collage_library(NAME SOURCES … [DEPENDS …] [PRIVATE_DEPENDS …]) makes the library of one floor, `collage_NAME`, with the
# alias `collage::NAME`. DEPENDS are the lower floors whose headers its own headers show.

add_library(collage_options INTERFACE)
target_include_directories(collage_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_features(collage_options INTERFACE cxx_std_20)
if(COLLAGE_SANITIZE)
  target_compile_options(collage_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                   -fno-omit-frame-pointer)
  target_link_options(collage_options INTERFACE -fsanitize=address,undefined)
endif()
if(COLLAGE_FUZZ)
  target_compile_options(collage_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
                                                   -fno-omit-frame-pointer)
  target_link_options(collage_options INTERFACE -fsanitize=address,undefined)
endif()

# Not for generated parsers. -Wrestrict is wrong about std::string's operator+ in gcc 12. Clang, which only fuzzes, knows
# neither it nor -Wshadow=local.
add_library(collage_warnings INTERFACE)
target_compile_options(collage_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local;-Wno-restrict>
                                                  $<$<BOOL:${COLLAGE_WERROR}>:-Werror>)

if(COLLAGE_TIDY)
  find_program(CLANG_TIDY clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${CLANG_TIDY})
endif()

function(collage_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(collage_${name} STATIC ${ARG_SOURCES})
  add_library(collage::${name} ALIAS collage_${name})
  target_link_libraries(collage_${name} PUBLIC collage_options ${ARG_DEPENDS} PRIVATE collage_warnings ${ARG_PRIVATE_DEPENDS})
  set_target_properties(collage_${name} PROPERTIES EXPORT_NAME ${name})
endfunction()

function(collage_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE collage_options collage_warnings ${ARG_DEPENDS})
endfunction()
