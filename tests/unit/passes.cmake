collage_test(passes_test SOURCES unit/passes_test.cpp DEPENDS collage::passes)
