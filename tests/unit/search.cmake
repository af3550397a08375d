# SPDX-License-Identifier: Apache-2.0
collage_test(search_test
  SOURCES
    unit/search_bound_test.cpp
    unit/search_coalesce_test.cpp
    unit/search_counterexamples_test.cpp
    unit/search_evolve_test.cpp
    unit/search_merge_test.cpp
    unit/search_regions_test.cpp
    unit/search_steiner_test.cpp
    unit/search_strategies_test.cpp
  DEPENDS collage::place)
