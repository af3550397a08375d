collage_test(lint_test
  SOURCES unit/lint_conditions_test.cpp unit/lint_rules_test.cpp
  DEPENDS collage::lint collage::match collage::sema collage::syntax)
