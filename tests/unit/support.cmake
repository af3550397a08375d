# SPDX-License-Identifier: Apache-2.0
collage_test(support_test SOURCES unit/support_test.cpp DEPENDS collage::support collage::core)
