collage_test(runtime_test
  SOURCES unit/encodings_test.cpp unit/runtime_executor_test.cpp unit/runtime_pool_test.cpp unit/runtime_schedule_test.cpp
    unit/runtime_storage_test.cpp
    unit/runtime_validate_test.cpp
  DEPENDS collage::encodings collage::runtime)
