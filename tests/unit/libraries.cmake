collage_test(libraries_test
  SOURCES
    unit/libraries_onednn_test.cpp
    unit/libraries_openblas_test.cpp
    unit/libraries_plugin_test.cpp
  DEPENDS collage::plan collage::libraries)
target_compile_definitions(libraries_test PRIVATE COLLAGE_PLUGIN_FOLDER="${PROJECT_BINARY_DIR}/plugins")
add_dependencies(libraries_test sample_plugin sample_plugin_other_abi sample_plugin_fails)
