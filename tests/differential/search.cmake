# SPDX-License-Identifier: Apache-2.0
collage_test(placement_random_test
  SOURCES
    differential/brute_force.cpp
    differential/placement_random_test.cpp
    differential/random_problem.cpp
  DEPENDS collage::place)
collage_test(matcher_random_test
  SOURCES differential/matcher_random_test.cpp
  DEPENDS collage::match collage::sema collage::syntax)
