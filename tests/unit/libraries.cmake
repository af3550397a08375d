collage_test(libraries_test
  SOURCES
    unit/libraries_onednn_test.cpp
    unit/libraries_openblas_test.cpp
  DEPENDS collage::plan collage::libraries)
