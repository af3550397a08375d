# Unit tests lie under the path of what they test: tests/unit/compiler/place/exact/ tests compiler/place/exact/. A row makes
# one program of all *_test.cpp in and below a folder; a new file needs no row.
#
#   collage_unit_tests(FOLDER DEPENDS TARGET… [WITHOUT REGEX…])   tests/unit/compiler/place => unit_compiler_place
#
# WITHOUT leaves out files whose path matches: tests of libraries that this build lacks.

function(collage_unit_tests folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;WITHOUT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${folder}/*_test.cpp)
  set_property(GLOBAL APPEND PROPERTY COLLAGE_UNIT_TESTS ${sources})
  foreach(without IN LISTS ARG_WITHOUT)
    list(FILTER sources EXCLUDE REGEX ${without})
  endforeach()
  string(REPLACE "/" "_" name unit_${folder})
  collage_test(${name} SOURCES ${sources} DEPENDS ${ARG_DEPENDS})
endfunction()

collage_unit_tests(runtime/core DEPENDS collage::runtime)
collage_unit_tests(runtime/encodings DEPENDS collage::encodings)
collage_optional_users(formats runtime/io/picture_@.cpp)
collage_lacks(lacking "/picture_@_test[.]cpp$" ${formats})
collage_unit_tests(runtime/io DEPENDS collage::io WITHOUT ${lacking})
collage_link_optional(unit_runtime_io ${formats})
collage_unit_tests(runtime/kernels DEPENDS collage::ir collage::kernels)
collage_optional_users(optional runtime/libraries/@)
collage_lacks(lacking "/runtime/libraries/@/" ${optional})
collage_unit_tests(runtime/libraries DEPENDS collage::plan collage::libraries WITHOUT ${lacking})
target_compile_definitions(unit_runtime_libraries PRIVATE COLLAGE_PLUGIN_FOLDER="${PROJECT_BINARY_DIR}/plugins")
add_dependencies(unit_runtime_libraries sample_plugin sample_plugin_other_abi sample_plugin_fails)
collage_unit_tests(runtime/plan DEPENDS collage::runtime)
collage_unit_tests(runtime/pool DEPENDS collage::pool)
collage_unit_tests(runtime/exec DEPENDS collage::encodings collage::runtime)

collage_unit_tests(compiler/support DEPENDS collage::support collage::core)
collage_unit_tests(compiler/syntax DEPENDS collage::sema collage::syntax)
collage_unit_tests(compiler/ir DEPENDS collage::ir collage::sema)
collage_unit_tests(compiler/sema DEPENDS collage::sema collage::io)
collage_unit_tests(compiler/import DEPENDS collage::import onnx_proto)
collage_unit_tests(compiler/export DEPENDS collage::export collage::import collage::sema onnx onnx_proto)
collage_unit_tests(compiler/passes DEPENDS collage::passes collage::sema)
collage_unit_tests(compiler/match DEPENDS collage::match collage::place collage::sema)
collage_unit_tests(compiler/lint DEPENDS collage::lint collage::match collage::sema collage::syntax)
collage_unit_tests(compiler/place DEPENDS collage::place collage::sema)
collage_unit_tests(compiler/driver DEPENDS collage::driver collage::sema)
collage_unit_tests(compiler/codegen DEPENDS collage::codegen collage::kernels ${CMAKE_DL_LIBS})
target_compile_definitions(unit_compiler_codegen PRIVATE COLLAGE_CC="${CMAKE_C_COMPILER}")
collage_unit_tests(compiler/plan DEPENDS collage::encodings collage::place collage::plan collage::runtime collage::sema)
collage_unit_tests(compiler/measure DEPENDS collage::measure collage::libraries SQLite::SQLite3)
collage_unit_tests(compiler/api DEPENDS Collage::compiler)
collage_unit_tests(compiler/rules_tool DEPENDS collage::rules_tool)

# A test that no row takes in would never run.
get_property(taken GLOBAL PROPERTY COLLAGE_UNIT_TESTS)
file(GLOB_RECURSE present CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/*_test.cpp)
list(REMOVE_ITEM present ${taken})
if(present)
  message(FATAL_ERROR "no row of tests/unit/unit.cmake takes in ${present}")
endif()
