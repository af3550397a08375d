collage_test(random_models_test
  SOURCES differential/random_models_test.cpp differential/random_case.cpp differential/brute_force.cpp
  DEPENDS collage::plan collage::place collage::codegen collage::sema collage::syntax collage::runtime)
