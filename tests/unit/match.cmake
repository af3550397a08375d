collage_test(match_test
  SOURCES
    unit/match_clauses_test.cpp
    unit/match_near_miss_test.cpp
    unit/match_patterns_test.cpp
    unit/match_test.cpp
  DEPENDS collage::match collage::place collage::sema)
collage_test(candidates_test
  SOURCES
    unit/candidates_formats_test.cpp
    unit/candidates_grow_test.cpp
    unit/candidates_problem_test.cpp
    unit/candidates_regions_test.cpp
    unit/candidates_split_test.cpp
  DEPENDS collage::place collage::sema)
collage_test(rewrite_test SOURCES unit/rewrite_test.cpp DEPENDS collage::match collage::sema)
