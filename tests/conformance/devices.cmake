collage_test(device_conformance_test
  SOURCES conformance/device_test.cpp conformance/device_queue_test.cpp conformance/sim_device_test.cpp
    conformance/device_memory_test.cpp conformance/precision_test.cpp
  DEPENDS collage::devices collage::kernels)
