// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/host_turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace collage::runtime {
namespace {

TEST(HostTurns, TheOldestRunThatWaitsIsNext) {
  HostTurns turns;
  std::vector<uint64_t> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(turns.begin_run());
  std::vector<uint64_t> order;  // of those who had a turn, who alone write it
  std::vector<std::thread> threads;
  std::optional<HostTurns::Turn> last(std::in_place, &turns, runs[4]);
  for (const size_t i : {2, 0, 3, 1}) {
    threads.emplace_back([&, run = runs[i]] {
      const HostTurns::Turn turn(&turns, run);
      order.push_back(run);
    });
    while (turns.waiting() < threads.size()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(order.empty()) << "the youngest still has its turn";
  last.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<uint64_t>{runs[0], runs[1], runs[2], runs[3]}));
  EXPECT_EQ(turns.waiting(), 0U);
}

TEST(HostTurns, NobodyWaitsWithoutOthers) {
  HostTurns turns;
  const uint64_t run = turns.begin_run();
  for (int step = 0; step < 3; ++step) const HostTurns::Turn turn(&turns, run);
  const HostTurns::Turn none(nullptr, 0), also_none(nullptr, 0);
  EXPECT_EQ(turns.begin_run(), run + 1);
}

}  // namespace
}  // namespace collage::runtime
