collage_test(rules_test
  SOURCES unit/rules_parse_test.cpp unit/rules_robust_test.cpp unit/rules_sema_test.cpp
  DEPENDS collage::sema collage::syntax)
