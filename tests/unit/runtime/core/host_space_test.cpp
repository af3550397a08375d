// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/host_space.h"

#include <gtest/gtest.h>

namespace collage::runtime {
namespace {

TEST(HostSpace, NamesAreReadBack) {
  for (int number : {0, 1, 12}) EXPECT_EQ(host_number(host_space(number)), number);
  EXPECT_EQ(host_number("host[0]"), 0);
  for (const char* name : {"", "npu[0]", "hosts", "host[", "host[]", "host[-1]", "host[1]x", "host[1 ]"}) {
    EXPECT_FALSE(host_number(name)) << name;
    EXPECT_FALSE(is_other_host(name)) << name;
  }
}

TEST(HostSpace, APartCallsItsOwnMemoryHost) {
  EXPECT_FALSE(is_other_host("host"));
  EXPECT_TRUE(is_other_host("host[0]")) << "the first one, in the part of another";
  EXPECT_TRUE(is_other_host("host[2]"));
}

}  // namespace
}  // namespace collage::runtime
