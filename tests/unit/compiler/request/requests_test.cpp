// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/requests.h"

#include <gtest/gtest.h>

namespace collage::request {
namespace {

place::SearchOptions search(uint64_t max_states, std::optional<double> budget) {
  Settings settings;
  settings.max_states = max_states;
  settings.budget = budget;
  return settings.search();
}

TEST(Settings, ABudgetOfTimeAloneLiftsTheLimitOfStates) {
  const uint64_t usual = place::SearchOptions().max_states;
  EXPECT_EQ(search(0, std::nullopt).max_states, usual);
  EXPECT_EQ(search(0, 0.5).max_states, kUnlimitedStates);
  EXPECT_EQ(search(0, 0.5).max_seconds, 0.5);
  EXPECT_EQ(search(12, std::nullopt).max_states, 12u);
  // A limit that was asked for counts, the usual one too.
  EXPECT_EQ(search(12, 0.5).max_states, 12u);
  EXPECT_EQ(search(usual, 0.5).max_states, usual);
}

TEST(Settings, BackendsThatOptionsName) {
  Settings settings;
  settings.strategy = "priority:npu,dsp";
  settings.place = {"a=b=acc[1]"};
  settings.memory = {"chip[0]=4MiB"};
  settings.allow = {"f16,i8", "wide=bf16"};
  settings.named = {"lost[2]", "*"};
  EXPECT_EQ(settings.named_backends(),
            (std::vector<std::string>{"npu", "dsp", "lost", "*", "acc", "chip", "f16,i8", "wide"}));
}

TEST(Complete, WhatACommandImplies) {
  Request simulated;
  simulated.command = CommandName::Simulate;
  complete(simulated);
  EXPECT_EQ(simulated.settings.costs.mode, CostMode::Estimate);
  simulated.settings.costs.mode = CostMode::Measured;  // was asked for
  complete(simulated);
  EXPECT_EQ(simulated.settings.costs.mode, CostMode::Measured);

  Request asked;
  asked.command = CommandName::Why;
  complete(asked);
  EXPECT_TRUE(asked.settings.costs.measures_all);
  EXPECT_FALSE(asked.executes());

  Request checked;
  checked.command = CommandName::Check;
  checked.settings.allows_outside = true;
  complete(checked);
  EXPECT_TRUE(checked.checks && checked.executes() && !checked.run.is_asked);
  EXPECT_TRUE(checked.model.allows_outside);
  EXPECT_FALSE(checked.settings.costs.measures_all);

  Request compared;
  compared.command = CommandName::Compare;
  EXPECT_FALSE(compared.executes());
  compared.runs = 1;
  EXPECT_TRUE(compared.executes());
}

}  // namespace
}  // namespace collage::request
