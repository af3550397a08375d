collage_test(ops_test SOURCES unit/ops_test.cpp unit/ops_errors_test.cpp unit/ops_quantized_test.cpp unit/ops_split_test.cpp DEPENDS collage::ir)
