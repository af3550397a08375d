collage_test(random_models_test
  SOURCES differential/random_models_test.cpp differential/random_case.cpp differential/brute_force.cpp
  DEPENDS collage::plan collage::place collage::codegen collage::sema collage::syntax collage::runtime)
collage_test(random_hosts_test
  SOURCES differential/random_hosts_test.cpp differential/random_case.cpp
  DEPENDS collage::plan collage::codegen collage::cluster collage::sema collage::runtime)
collage_test(random_memory_test
  SOURCES differential/random_memory_test.cpp differential/random_case.cpp
  DEPENDS collage::driver collage::plan collage::place collage::codegen collage::sema collage::syntax collage::runtime)

# Certificates from end to end.
collage_executable(write_random_cases
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/random_case.cpp
    ${CMAKE_CURRENT_LIST_DIR}/write_random_cases.cpp
  DEPENDS fmt::fmt)
add_test(NAME certify_random_cases
  COMMAND ${Python3_EXECUTABLE} -B tests/differential/certify_random_cases $<TARGET_FILE_DIR:collagec>
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(certify_random_cases PROPERTIES TIMEOUT 1200)
