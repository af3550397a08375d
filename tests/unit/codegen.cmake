collage_test(codegen_test SOURCES
  unit/codegen_c_test.cpp
  unit/codegen_conv_test.cpp
  unit/codegen_gemm_test.cpp
  unit/codegen_math_test.cpp
  unit/codegen_movement_test.cpp
  unit/codegen_pointwise_test.cpp
  unit/codegen_reduce_test.cpp
  unit/codegen_rows_test.cpp
  unit/codegen_target_test.cpp
  DEPENDS collage::codegen collage::kernels ${CMAKE_DL_LIBS})
target_compile_definitions(codegen_test PRIVATE COLLAGE_CC="${CMAKE_C_COMPILER}")
