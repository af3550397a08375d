// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/requests.h"

#include <gtest/gtest.h>

namespace collage::driver {
namespace {

TEST(SearchOptions, ABudgetOfTimeAloneLiftsTheLimitOfStates) {
  const uint64_t usual = place::SearchOptions().max_states;
  EXPECT_EQ(search_options(0, std::nullopt).max_states, usual);
  EXPECT_EQ(search_options(0, 0.5).max_states, kUnlimitedStates);
  EXPECT_EQ(search_options(0, 0.5).max_seconds, 0.5);
  EXPECT_EQ(search_options(12, std::nullopt).max_states, 12u);
  // A limit that was asked for counts, the usual one too.
  EXPECT_EQ(search_options(12, 0.5).max_states, 12u);
  EXPECT_EQ(search_options(usual, 0.5).max_states, usual);
}

}  // namespace
}  // namespace collage::driver
