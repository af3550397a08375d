collage_test(kernels_test
  SOURCES unit/kernels_contraction_test.cpp unit/kernels_indexing_test.cpp unit/kernels_movement_test.cpp
          unit/kernels_quantized_test.cpp unit/kernels_recurrent_test.cpp unit/kernels_test.cpp
  DEPENDS collage::ir collage::kernels)
