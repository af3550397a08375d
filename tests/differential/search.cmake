# SPDX-License-Identifier: Apache-2.0
collage_test(placement_random_test
  SOURCES
    differential/brute_force.cpp
    differential/placement_random_test.cpp
    differential/random_problem.cpp
    differential/strategies_random_test.cpp
  DEPENDS collage::place)
collage_test(parallel_random_test
  SOURCES
    differential/parallel_random_test.cpp
    differential/random_problem.cpp
  DEPENDS collage::place)
collage_test(matcher_random_test
  SOURCES differential/matcher_random_test.cpp
  DEPENDS collage::match collage::sema collage::syntax)
collage_test(certificate_random_test
  SOURCES
    differential/brute_force.cpp
    differential/certificate_cases.cpp
    differential/certificate_damage_test.cpp
    differential/certificate_random_test.cpp
    differential/certificate_tampering_test.cpp
    differential/multipliers.cpp
    differential/random_problem.cpp
  DEPENDS collage::certificate collage::place)
# For tests/nightly: a program, because its cases go to another one.
collage_executable(ilp_cases
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/ilp_cases.cpp
    ${CMAKE_CURRENT_LIST_DIR}/random_problem.cpp
  DEPENDS collage::certificate collage::place)
collage_test(lazy_costs_test
  SOURCES
    differential/lazy_costs_test.cpp
    differential/random_problem.cpp
  DEPENDS collage::place)
