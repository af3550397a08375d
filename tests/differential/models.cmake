collage_test(random_models_test
  SOURCES differential/random_models_test.cpp differential/random_case.cpp differential/brute_force.cpp
  DEPENDS collage::plan collage::place collage::codegen collage::sema collage::syntax collage::runtime)
collage_test(random_memory_test
  SOURCES differential/random_memory_test.cpp differential/random_case.cpp
  DEPENDS collage::driver collage::plan collage::place collage::codegen collage::sema collage::syntax collage::runtime)
