collage_test(plan_test
  SOURCES
    unit/plan_arena_test.cpp
    unit/plan_build_test.cpp
    unit/plan_check_test.cpp
    unit/plan_lowering_test.cpp
    unit/plan_random_test.cpp
    unit/plan_split_test.cpp
    unit/plan_targets_test.cpp
  DEPENDS collage::encodings collage::place collage::plan collage::runtime collage::sema)
