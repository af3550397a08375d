collage_test(rules_test
  SOURCES unit/rules_parse_test.cpp unit/rules_robust_test.cpp unit/rules_sema_test.cpp
  DEPENDS collage::sema collage::syntax)

collage_test(rules_tool_test
  SOURCES unit/rules_format_test.cpp
  DEPENDS collage::rules_tool)
