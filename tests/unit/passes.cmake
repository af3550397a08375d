collage_test(passes_test SOURCES unit/passes_test.cpp DEPENDS collage::passes)
collage_test(phases_test SOURCES unit/phases_test.cpp DEPENDS collage::passes collage::sema)
