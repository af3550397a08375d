// SPDX-License-Identifier: Apache-2.0
#include "compiler/certificate/format_trees.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::certificate {
namespace {

using place::ConversionEdge;
using place::FormatId;
using place::ps;

TEST(FormatTrees, WhatIsThereCostsNothing) {
  const FormatTrees trees({{0, 1, ps(5)}}, {0, 1});
  EXPECT_EQ(trees.cost(0, 0b01), 0);
  EXPECT_EQ(trees.cost(1, 0b10), 0);
  EXPECT_EQ(trees.cost(7, 0), 0);
}

TEST(FormatTrees, ConversionsHaveADirection) {
  const FormatTrees trees({{0, 1, ps(5)}}, {0, 1});
  EXPECT_EQ(trees.cost(0, 0b10), 5);
  EXPECT_EQ(trees.cost(1, 0b01), kUnreachable);
  EXPECT_EQ(trees.cost(7, 0b01), kUnreachable);
}

TEST(FormatTrees, FormatsShareTheWayToThem) {
  // 0 -> 1 for 10, and from there 1 each to 2 and 3; straight ahead they are 7 each.
  const FormatTrees trees({{0, 1, ps(10)}, {1, 2, ps(1)}, {1, 3, ps(1)}, {0, 2, ps(7)}, {0, 3, ps(7)}}, {2, 3, 1});
  EXPECT_EQ(trees.cost(0, 0b001), 7);
  EXPECT_EQ(trees.cost(0, 0b011), 12);
  EXPECT_EQ(trees.cost(0, 0b111), 12);
}

TEST(FormatTrees, AConversionWithoutACostIsNone) {
  const FormatTrees trees({{0, 1, place::Cost::max()}}, {1});
  EXPECT_EQ(trees.cost(0, 0b1), kUnreachable);
}

/// The least that any choice of edges costs which leads to all that is wanted.
Wide by_all_choices(const std::vector<ConversionEdge>& edges, FormatId written, const std::vector<FormatId>& wanted) {
  Wide best = kUnreachable;
  for (size_t choice = 0; choice < size_t{1} << edges.size(); ++choice) {
    std::set<FormatId> have = {written};
    Wide cost = 0;
    for (size_t round = 0; round < edges.size(); ++round) {
      for (size_t e = 0; e < edges.size(); ++e) {
        if ((choice >> e & 1) != 0 && have.contains(edges[e].from)) have.insert(edges[e].to);
      }
    }
    for (size_t e = 0; e < edges.size(); ++e) cost += (choice >> e & 1) != 0 ? edges[e].cost.count() : 0;
    const auto is_there = [&](FormatId format) { return have.contains(format); };
    if (std::all_of(wanted.begin(), wanted.end(), is_there)) best = std::min(best, cost);
  }
  return best;
}

TEST(FormatTrees, AreTheCheapestOfAllChoicesOfConversions) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  const std::vector<FormatId> wanted = {1, 2, 3};
  for (int round = 0; round < 100; ++round) {
    std::vector<ConversionEdge> edges;
    for (int edge = 0; edge < 8; ++edge) edges.push_back({FormatId(below(5)), FormatId(below(5)), ps(below(10))});
    const FormatTrees trees(edges, wanted);
    for (uint32_t set = 0; set < 8; ++set) {
      std::vector<FormatId> of_set;
      for (size_t i = 0; i < wanted.size(); ++i) {
        if ((set >> i & 1) != 0) of_set.push_back(wanted[i]);
      }
      EXPECT_TRUE(trees.cost(0, set) == by_all_choices(edges, 0, of_set)) << round << " " << set;
    }
  }
}

}  // namespace
}  // namespace collage::certificate
