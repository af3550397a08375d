# SPDX-License-Identifier: Apache-2.0
collage_test(accuracy_test
  SOURCES accuracy/accuracy_test.cpp accuracy/cases.cpp accuracy/measure_errors.cpp accuracy/plain_f32.cpp
          accuracy/amx_test.cpp
  DEPENDS collage::driver collage::codegen)
