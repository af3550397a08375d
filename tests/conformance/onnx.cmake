# ONNX's own tests, from Debian's libonnx-testdata. Without them the test says that it was skipped.
find_path(ONNX_DATA_DIR node/test_relu/model.onnx PATHS /usr/share/libonnx-testdata/data)
collage_test(onnx_node_test
  SOURCES conformance/onnx_node_test.cpp conformance/node_test_case.cpp
  DEPENDS collage::import)

# Not a test of its own: run_node_tests FOLDER prints a table of a folder of ONNX's tests, in several ways.
add_executable(run_node_tests conformance/run_node_tests.cpp conformance/node_test_case.cpp)
target_link_libraries(run_node_tests PRIVATE collage_test_options collage::driver collage::import onnx_proto fmt::fmt)
target_compile_definitions(run_node_tests PRIVATE COLLAGE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

collage_test(onnx_export_test SOURCES conformance/onnx_export_test.cpp
  DEPENDS collage::export collage::import onnx onnx_proto)
if(ONNX_DATA_DIR)
  target_compile_definitions(onnx_node_test PRIVATE COLLAGE_ONNX_DATA="${ONNX_DATA_DIR}")
  target_compile_definitions(onnx_export_test PRIVATE COLLAGE_ONNX_TESTDATA="${ONNX_DATA_DIR}/node")
endif()
