# SPDX-License-Identifier: Apache-2.0
collage_test(processors_test
  SOURCES processors/processors_test.cpp unit/compiler/codegen/make_code.cpp accuracy/cases.cpp accuracy/in_dtype.cpp
  DEPENDS collage::driver collage::codegen)
