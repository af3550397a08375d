// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/work_shares.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/compiler/page/small_graph.h"

namespace collage::report {
namespace {

using ir::ValueId;
using page::test::SmallGraph;

TEST(WorkShares, AddUpAndGoByMultiplyAdds) {
  SmallGraph model;
  const ValueId x = model.input("x", {256, 256});
  const ValueId wide = model.add("MatMul", "wide", {x, model.input("w", {256, 1024})});
  model.add("MatMul", "narrow", {wide, model.input("v", {1024, 64})});
  const std::vector<double> shares = work_shares(model.graph, model.graph.node_ids());
  EXPECT_NEAR(shares[0], 0.8, 0.02);  // 256 x 1024 beside 1024 x 64
  EXPECT_DOUBLE_EQ(std::accumulate(shares.begin(), shares.end(), 0.0), 1);
}

TEST(WorkShares, OfPointwiseOperatorsAreWhatTheyAloneRead) {
  SmallGraph model;
  const ValueId x = model.input("x", {64, 64}), other = model.input("other", {64, 64});
  const ValueId m = model.add("MatMul", "m", {x, x});
  const ValueId r = model.add("Relu", "r", {m});
  model.add("Add", "s", {r, other});
  const std::vector<double> shares = work_shares(model.graph, model.graph.node_ids());
  EXPECT_EQ(shares[1], 0);
  EXPECT_GT(shares[2], 0);
  EXPECT_GT(shares[0], shares[2]);
  // Apart from the product the Relu moves bytes.
  const std::vector<ir::NodeId> apart{model.node("r"), model.node("s")};
  EXPECT_GT(work_shares(model.graph, apart)[0], 0);
}

TEST(WorkShares, OfViewsAreNothingOrAllEqual) {
  SmallGraph model;
  const ValueId f = model.add("Flatten", "f", {model.input("x", {4, 4, 4})});
  model.add("Relu", "r", {f});
  EXPECT_EQ(work_shares(model.graph, {model.node("f"), model.node("r")})[0], 0);
  EXPECT_EQ(work_shares(model.graph, {model.node("f")}), std::vector<double>{1});
}

}  // namespace
}  // namespace collage::report
