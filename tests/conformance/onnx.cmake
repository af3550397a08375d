# ONNX's own tests, from Debian's libonnx-testdata. Without them the test says that it was skipped.
find_path(ONNX_DATA_DIR node/test_relu/model.onnx PATHS /usr/share/libonnx-testdata/data)
collage_test(onnx_node_test SOURCES conformance/onnx_node_test.cpp DEPENDS collage::import)
collage_test(onnx_export_test SOURCES conformance/onnx_export_test.cpp
  DEPENDS collage::export collage::import onnx onnx_proto)
if(ONNX_DATA_DIR)
  target_compile_definitions(onnx_node_test PRIVATE COLLAGE_ONNX_DATA="${ONNX_DATA_DIR}")
  target_compile_definitions(onnx_export_test PRIVATE COLLAGE_ONNX_TESTDATA="${ONNX_DATA_DIR}/node")
endif()
