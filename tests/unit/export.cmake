collage_test(export_test SOURCES unit/export_test.cpp DEPENDS collage::export collage::import collage::sema onnx onnx_proto)
