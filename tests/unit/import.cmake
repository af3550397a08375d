collage_test(import_test SOURCES unit/import_test.cpp DEPENDS collage::import onnx_proto)
collage_test(picture_test SOURCES unit/picture_test.cpp DEPENDS collage::io JPEG::JPEG PNG::PNG)
