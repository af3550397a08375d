// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/steiner.h"

#include <gtest/gtest.h>

#include "compiler/place/problem/conversion_costs.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

ConversionEdge edge(FormatId from, FormatId to, int cost) {
  return {from, to, ps(cost)};
}

TEST(Steiner, OneCopyThenTwoReorders) {
  // 0: host, 1: device plain, 2 and 3: device layouts. Copying twice would cost 20.
  const std::vector<ConversionEdge> edges = {edge(0, 1, 8), edge(0, 2, 10), edge(0, 3, 10), edge(1, 2, 1),
                                             edge(1, 3, 2)};
  const Arborescence tree = cheapest_arborescence(edges, 0, {3, 2});
  EXPECT_EQ(tree.cost.count(), 11);
  ASSERT_EQ(tree.edges.size(), 3u);
  EXPECT_EQ(tree.edges[0].to, FormatId(1));
}

TEST(Steiner, AWantedFormatCanFeedAnother) {
  const Arborescence tree = cheapest_arborescence({edge(0, 1, 5), edge(1, 2, 1), edge(0, 2, 5)}, 0, {1, 2});
  EXPECT_EQ(tree.cost.count(), 6);
}

TEST(Steiner, TheWrittenFormatCostsNothing) {
  EXPECT_EQ(cheapest_arborescence({}, 2, {2, 2}).cost, Cost());
  EXPECT_TRUE(cheapest_arborescence({}, 2, {}).edges.empty());
}

TEST(Steiner, UnreachableIsInfinite) {
  EXPECT_FALSE(cheapest_arborescence({edge(1, 0, 1)}, 0, {1}).reachable());
  EXPECT_FALSE(cheapest_arborescence({{0, 1, Cost::max()}}, 0, {1}).reachable());
}

TEST(Steiner, FreeConversionsMakeNoDetour) {
  const Arborescence tree = cheapest_arborescence({edge(0, 1, 0), edge(1, 2, 0), edge(0, 2, 0), edge(2, 1, 0)}, 0, {2});
  EXPECT_EQ(tree.edges.size(), 1u);
}

TEST(Steiner, ManyWantedFormatsGetTheNearestFirst) {
  std::vector<ConversionEdge> edges;
  std::vector<FormatId> wanted;
  for (FormatId f : IdRange<FormatId>(1, 41)) {
    edges.push_back(edge(0, f, 2));
    wanted.push_back(f);
  }
  const Arborescence star = cheapest_arborescence(edges, 0, wanted);
  EXPECT_EQ(star.cost, ps(80));
  EXPECT_EQ(star.edges.size(), 40u);
  // Each from the one before, and the last by way of a format that nobody wants.
  for (FormatId f : IdRange<FormatId>(1, 40)) edges.push_back(edge(f, support::advance(f, 1), 1));
  edges.push_back(edge(40, 41, 1));
  edges.push_back(edge(41, 42, 1));
  wanted.push_back(FormatId(42));
  const Arborescence path = cheapest_arborescence(edges, 0, wanted);
  EXPECT_EQ(path.cost, ps(2 + 39 + 2));
  std::set<FormatId> made = {0};
  for (const ConversionEdge& one : path.edges) {
    EXPECT_TRUE(made.contains(one.from));
    made.insert(one.to);
  }
  EXPECT_EQ(made.size(), 43u);
  wanted.push_back(FormatId(43));
  EXPECT_FALSE(cheapest_arborescence(edges, 0, wanted).reachable());
}

TEST(ConversionCosts, CanonicalForgetsWhatNoReaderCanUse) {
  Sketch sketch(2, {{0, 1}});
  const FormatId near = sketch.add_format("npu[0]");
  const FormatId far = sketch.add_format("npu[0]", "NHWC");
  sketch.convert(0, near, 5);
  sketch.convert(near, far, 1);
  sketch.add({1}, 1, 0, near);
  sketch.add({1}, 1, 0, far);
  ConversionCosts costs(sketch.problem);
  const FormatMask host = costs.bit(1, 0);
  const FormatMask near_bit = costs.bit(1, near);
  const FormatMask far_bit = costs.bit(1, far);
  EXPECT_EQ(costs.increment(1, 0, near_bit, far_bit).count(), 1);
  EXPECT_EQ(costs.canonical(1, 0, host, near_bit), 0u);
  EXPECT_EQ(costs.canonical(1, 0, near_bit | far_bit, 0), 0u);
  // `far` paid for includes `near`: either set makes both readers free, but one alone does not.
  EXPECT_EQ(costs.canonical(1, 0, near_bit | far_bit, near_bit | far_bit), far_bit);
  EXPECT_EQ(costs.canonical(1, 0, near_bit, near_bit | far_bit), near_bit);
}

}  // namespace
}  // namespace collage::place
