// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/link_text.h"

#include <gtest/gtest.h>

namespace collage::syntax {
namespace {

TEST(LinkText, MeasuredFiguresReplaceStatedOnes) {
  EXPECT_EQ(with_figures("link lan bandwidth 10 GB/s latency 5 us duplex", 8.312e9, 21.44e-6),
            "link lan bandwidth 8.31 GB/s latency 21.4 us duplex");
  EXPECT_EQ(with_figures("link host latency 1.5ms\n  bandwidth 100MB/s", 2.5e9, 3e-6),
            "link host latency 3 us\n  bandwidth 2.5 GB/s");
}

TEST(LinkText, ALatencyThatIsNotStatedIsAdded) {
  EXPECT_EQ(with_figures("link lan bandwidth 10 GB/s duplex", 1e9, 5e-6),
            "link lan bandwidth 1 GB/s latency 5 us duplex");
}

TEST(LinkText, NamesAreNoFigures) {
  EXPECT_EQ(with_figures("link bandwidth_1 bandwidth 1 GB/s", 2e9, 1e-6),
            "link bandwidth_1 bandwidth 2 GB/s latency 1 us");
  EXPECT_EQ(with_figures("link low_latency bandwidth 1 GB/s", 2e9, 1e-6),
            "link low_latency bandwidth 2 GB/s latency 1 us");
}

TEST(LinkText, FiguresThatWereWrittenAreReplacedAgain) {
  const std::optional<std::string> large = with_figures("link lan bandwidth 1 GB/s latency 5 us", 3.35e12, 2e-3);
  ASSERT_TRUE(large);
  EXPECT_EQ(*large, "link lan bandwidth 3.35e+03 GB/s latency 2e+03 us");
  EXPECT_EQ(with_figures(*large, 2e9, 1e-6), "link lan bandwidth 2 GB/s latency 1 us");
}

TEST(LinkText, WhatIsComputedStays) {
  EXPECT_FALSE(with_figures("link lan bandwidth rate latency 5 us", 1e9, 1e-6));
  EXPECT_FALSE(with_figures("link lan bandwidth 10 GB/s latency delay", 1e9, 1e-6));
  EXPECT_FALSE(with_figures("link lan", 1e9, 1e-6));
}

}  // namespace
}  // namespace collage::syntax
