collage_test(measure_test
  SOURCES
    unit/measure_database_test.cpp
    unit/measure_test.cpp
    unit/measure_worker_test.cpp
  DEPENDS collage::measure collage::libraries SQLite::SQLite3)
