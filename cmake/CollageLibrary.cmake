# collage_library(NAME [OWN_OPTIONS] [COLD] [DEPENDS …] [PRIVATE_DEPENDS …] [WITHOUT REGEX…] [SINGLY REGEX]) makes the library
# of one floor, `collage_NAME`, with the alias `collage::NAME`, from every .cpp file in and below the folder that calls
# it: a new file needs no row here.
# DEPENDS are the lower floors whose headers its own headers show. WITHOUT leaves out sources whose path, relative to the
# folder, matches. SINGLY: files that repeat local names of others, so that they cannot be compiled in groups.
# COLD: it runs for an instant only, and is compiled with -O1, which is quicker.
#
# collage_executable(NAME [OWN_OPTIONS] [COLD] [DEPENDS …] [SOURCES …]) makes a program; without SOURCES from the .cpp
# files of the folder.

add_library(collage_options INTERFACE)
target_include_directories(collage_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_features(collage_options INTERFACE cxx_std_20)
# Every object can go into the programs and into the shared libraries, which show nothing but what is marked in
# include/collage (COLLAGE_API).
set(COLLAGE_SHARED_OPTIONS -fPIC -fvisibility=hidden -fvisibility-inlines-hidden CACHE STRING "Of all code where libraries are shared")
mark_as_advanced(COLLAGE_SHARED_OPTIONS)
if(COLLAGE_SHARED)
  target_compile_options(collage_options INTERFACE ${COLLAGE_SHARED_OPTIONS})
endif()
# Clang's check of function types reads the bytes before a function: generated code has none there.
set(COLLAGE_SANITIZERS -fno-sanitize-recover=undefined $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function> -fno-omit-frame-pointer)
if(COLLAGE_SANITIZE OR COLLAGE_FUZZ)
  target_compile_definitions(collage_options INTERFACE COLLAGE_ADDRESS_SANITIZER)
endif()
if(COLLAGE_SANITIZE)
  target_compile_options(collage_options INTERFACE -fsanitize=address,undefined ${COLLAGE_SANITIZERS})
  target_link_options(collage_options INTERFACE -fsanitize=address,undefined)
endif()
if(COLLAGE_SANITIZE_THREADS)
  target_compile_options(collage_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(collage_options INTERFACE -fsanitize=thread)
endif()
if(COLLAGE_FUZZ)
  target_compile_options(collage_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined ${COLLAGE_SANITIZERS})
  target_link_options(collage_options INTERFACE -fsanitize=address,undefined)
endif()

# Models, rules and packages come from anywhere: a write past an array on the stack ends the process.
option(COLLAGE_HARDENED "Stack protectors, checked copies, read-only relocations" ON)
if(COLLAGE_HARDENED AND NOT COLLAGE_SANITIZE AND NOT COLLAGE_SANITIZE_THREADS AND NOT COLLAGE_FUZZ)
  target_compile_options(collage_options INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE
                                                   $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  target_link_options(collage_options INTERFACE -Wl,-z,relro,-z,now)
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

# The headers of the standard library, compiled once for the runtime, and once with fmt for what may use fmt
# (precompiled/*.h). A file still includes what it uses: with COLLAGE_PRECOMPILED=OFF everything builds without them.
option(COLLAGE_PRECOMPILED "Precompile the headers of the standard library and of fmt" ON)
function(collage_precompiled_headers name header)
  if(COLLAGE_PRECOMPILED)
    add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled/empty.cpp)
    target_link_libraries(${name} PRIVATE collage_options collage_warnings ${ARGN})
    target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/${header})
  endif()
endfunction()
collage_precompiled_headers(collage_precompiled_runtime standard.h)
collage_precompiled_headers(collage_precompiled_compiler with_fmt.h fmt::fmt)

# Targets with compile options of their own, such as OpenMP's, say `own`: a precompiled header serves equal options only.
function(collage_precompile target own)
  if(NOT COLLAGE_PRECOMPILED)
    return()
  endif()
  if(own)
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/standard.h)
    return()
  endif()
  if(COLLAGE_WITHOUT_FMT)
    target_precompile_headers(${target} REUSE_FROM collage_precompiled_runtime)
  else()
    target_link_libraries(${target} PRIVATE fmt::fmt)
    target_precompile_headers(${target} REUSE_FROM collage_precompiled_compiler)
  endif()
endfunction()

# Several sources of one library are compiled at once: what their headers hold is parsed and generated once for all of
# them. The preset `dev` compiles each alone: a change costs one file, and a missing
# include shows.
option(COLLAGE_UNITY "Compile the sources of a library in groups" ON)
set(collage_unity_group 8)
function(collage_compile_in_groups target)
  if(COLLAGE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${collage_unity_group})
  endif()
endfunction()

set(COLLAGE_COLD_OPTIONS $<$<CONFIG:Release>:-O1> CACHE STRING "Of code that runs for an instant only")
mark_as_advanced(COLLAGE_COLD_OPTIONS)

function(collage_library name)
  cmake_parse_arguments(ARG "OWN_OPTIONS;COLD" "SINGLY" "DEPENDS;PRIVATE_DEPENDS;WITHOUT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  foreach(without IN LISTS ARG_WITHOUT)
    list(FILTER sources EXCLUDE REGEX ${without})
  endforeach()
  add_library(collage_${name} STATIC ${sources})
  add_library(collage::${name} ALIAS collage_${name})
  target_link_libraries(collage_${name} PUBLIC collage_options ${ARG_DEPENDS} PRIVATE collage_warnings ${ARG_PRIVATE_DEPENDS})
  set_target_properties(collage_${name} PROPERTIES EXPORT_NAME ${name})
  collage_compile_in_groups(collage_${name})
  if(ARG_SINGLY)
    list(FILTER sources INCLUDE REGEX ${ARG_SINGLY})
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(ARG_COLD)
    target_compile_options(collage_${name} PRIVATE ${COLLAGE_COLD_OPTIONS})
  endif()
  collage_precompile(collage_${name} "${ARG_OWN_OPTIONS}")
endfunction()

# collage_digest_of(VARIABLE FOLDER…) sets it to a digest of the sources in and below these folders, for what is kept on
# disk and depends on them.
function(collage_digest_of variable)
  list(TRANSFORM ARGN APPEND "/*.cpp" OUTPUT_VARIABLE code)
  list(TRANSFORM ARGN APPEND "/*.h" OUTPUT_VARIABLE headers)
  list(TRANSFORM ARGN APPEND "/*.def" OUTPUT_VARIABLE tables)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${code} ${headers} ${tables})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  set(digests "")
  foreach(source IN LISTS sources)
    file(SHA256 ${source} digest)
    string(APPEND digests ${digest})
  endforeach()
  string(SHA256 digest "${digests}")
  string(SUBSTRING ${digest} 0 16 digest)
  set(${variable} ${digest} PARENT_SCOPE)
endfunction()

function(collage_executable name)
  cmake_parse_arguments(ARG "OWN_OPTIONS;COLD" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE collage_options collage_warnings ${ARG_DEPENDS})
  collage_compile_in_groups(${name})
  if(ARG_COLD)
    target_compile_options(${name} PRIVATE ${COLLAGE_COLD_OPTIONS})
  endif()
  collage_precompile(${name} "${ARG_OWN_OPTIONS}")
endfunction()

# collage_shared_library(NAME SOURCES … [DEPENDS …] [PRIVATE_DEPENDS …]) makes libcollage_NAME, the target
# collage_shared_NAME: the C interface in SOURCES and all that it needs. DEPENDS are other such libraries. It shows the functions `collage_*` and
# nothing else, but for the functions that XNNPACK must find there (runtime/libraries/xnnpack/thread_pool.h). With
# COLLAGE_SHARED=OFF it is an archive.
set(collage_library_kind STATIC)
if(COLLAGE_SHARED)
  set(collage_library_kind SHARED)
endif()
function(collage_shared_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target collage_shared_${name})
  add_library(${target} ${collage_library_kind} ${ARG_SOURCES})
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} PRIVATE collage_options collage_warnings ${ARG_PRIVATE_DEPENDS})
  if(COLLAGE_SHARED)
    collage_hide_all_but_the_interface(${target})
  endif()
  set_target_properties(${target} PROPERTIES
    DEFINE_SYMBOL "" OUTPUT_NAME collage_${name} EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${collage_abi_version}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
  collage_compile_in_groups(${target})
  collage_precompile(${target} "")
endfunction()

function(collage_hide_all_but_the_interface target)
  set(shown "collage_*;")
  if(COLLAGE_HAS_XNNPACK)
    string(APPEND shown " pthreadpool_get_threads_count; pthreadpool_parallelize_*;")
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/exports.map CONTENT "COLLAGE_@collage_abi_version@ { global: @shown@ local: *; };\n" @ONLY)
  target_link_options(${target} PRIVATE -Wl,--as-needed -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/exports.map)
  # The functions of a sanitizer come with the program.
  if(NOT COLLAGE_SANITIZE AND NOT COLLAGE_SANITIZE_THREADS AND NOT COLLAGE_FUZZ)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()
