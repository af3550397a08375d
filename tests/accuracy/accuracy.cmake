# SPDX-License-Identifier: Apache-2.0
collage_test(accuracy_test
  SOURCES accuracy/accuracy_test.cpp accuracy/cases.cpp accuracy/measure_errors.cpp accuracy/plain_f32.cpp
          accuracy/in_dtype.cpp accuracy/amx_test.cpp unit/compiler/codegen/make_code.cpp
  DEPENDS collage::driver collage::codegen)
collage_test(special_values_test
  SOURCES accuracy/special_values_test.cpp accuracy/special_cases.cpp accuracy/run_everywhere.cpp accuracy/in_dtype.cpp
  DEPENDS collage::driver collage::codegen)
