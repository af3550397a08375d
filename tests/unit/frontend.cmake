collage_test(frontend_test
  SOURCES
    unit/frontend_constants_test.cpp
    unit/frontend_errors_test.cpp
    unit/frontend_placed_test.cpp
    unit/frontend_print_test.cpp
  DEPENDS collage::sema collage::io)
