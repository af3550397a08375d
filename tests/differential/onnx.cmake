collage_test(random_onnx_test
  SOURCES
    differential/counting_jit.cpp
    differential/random_onnx.cpp
    differential/random_onnx_maker.cpp
    differential/random_onnx_quantized.cpp
    differential/random_onnx_scans.cpp
    differential/random_onnx_shrink.cpp
    differential/random_onnx_test.cpp
    differential/random_onnx_windows.cpp
  DEPENDS collage::driver collage::codegen onnx_proto)
