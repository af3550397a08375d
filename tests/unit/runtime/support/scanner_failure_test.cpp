// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/scanner_failure.h"

#include <gtest/gtest.h>

namespace collage::support {
namespace {

TEST(ScannerFailure, LackOfMemoryIsNoBug) {
  EXPECT_THROW(scanner_failed("out of dynamic memory in yy_scan_bytes()"), std::bad_alloc);
  EXPECT_THROW(scanner_failed("fatal flex scanner internal error--end of buffer missed"), InternalError);
}

}  // namespace
}  // namespace collage::support
