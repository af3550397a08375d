// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/link_measurement.h"

#include <gtest/gtest.h>

#include <future>

#include "runtime/cluster/local_transport.h"

namespace collage::runtime {
namespace {

TEST(LinkMeasurement, EachPairHasFigures) {
  const auto ranks = make_local_transports(3);
  const LinkRounds rounds{.small = 5, .large = 2, .large_bytes = 100'000};
  std::vector<std::future<Result<std::vector<PairFigures>>>> others;
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    others.push_back(std::async(std::launch::async, [&, rank] { return measure_links(*ranks[rank], rounds); }));
  }
  const auto figures = measure_links(*ranks[0], rounds);
  ASSERT_TRUE(figures) << figures.message();
  std::vector<std::pair<int, int>> pairs;
  for (const PairFigures& pair : *figures) {
    pairs.emplace_back(pair.a, pair.b);
    EXPECT_GT(pair.latency, 0);
    EXPECT_GT(pair.bytes_per_second, 0);
  }
  EXPECT_EQ(pairs, (std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 2}}));
  for (auto& other : others) EXPECT_TRUE(other.get()->empty());
}

}  // namespace
}  // namespace collage::runtime
