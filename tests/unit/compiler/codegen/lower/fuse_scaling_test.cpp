// SPDX-License-Identifier: Apache-2.0
// Large partitions: what is examined for one node does not grow with the partition. Where it does, these tests take
// minutes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "compiler/codegen/lower/fuse.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 30;
constexpr int64_t kRow = 8;

/// A chain of equal blocks, each with a Concat.
class FuseScaling : public ::testing::Test {
 protected:
  FuseScaling() : last_(graph_.add_input("x", {ir::DType::F32, {2, kRow}})) {}

  ir::ValueId ints(const std::string& name, int64_t value) {
    ir::Tensor tensor(ir::DType::I64, {1});
    tensor.as<int64_t>()[0] = value;
    return graph_.add_constant(name, ir::make_constant(std::move(tensor)));
  }

  ir::ValueId op(const std::string& name, std::vector<ir::ValueId> inputs, int64_t length, ir::AttrMap attrs = {}) {
    const std::string result = fmt::format("v{}", graph_.node_count());
    graph_.add_node(*ir::find_op(name), std::move(inputs), std::move(attrs), {result}, {{ir::DType::F32, {2, length}}});
    return graph_.find_value(result);
  }

  ir::ValueId join(ir::ValueId a, ir::ValueId b, int64_t length) {
    ir::AttrMap attrs;
    attrs.set("axis", int64_t{1});
    return op("Concat", {a, b}, length, std::move(attrs));
  }

  /// Forms groups within the time, each node in one of them.
  std::vector<Group> groups() {
    graph_.mark_output(last_);
    const std::vector<ir::NodeId> nodes = graph_.node_ids();
    const Clock::time_point begin = Clock::now();
    std::vector<Group> groups = form_groups(graph_, nodes);
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), kMostSeconds);
    std::set<ir::NodeId> grouped;
    for (const Group& group : groups) {
      for (const ir::NodeId node : group.nodes) EXPECT_TRUE(grouped.insert(node).second);
    }
    EXPECT_EQ(grouped.size(), nodes.size());
    return groups;
  }

  ir::Graph graph_;
  ir::ValueId last_;
};

TEST_F(FuseScaling, APathIsLookedForNearBothEnds) {
  const ir::ValueId start = ints("start", 4), end = ints("end", 4 + kRow), axis = ints("axis", 1);
  for (int i = 0; i < 8000; ++i) {
    const ir::ValueId a = op("Relu", {last_}, kRow), b = op("Neg", {last_}, kRow);
    const ir::ValueId both = op("Sigmoid", {join(a, b, 2 * kRow)}, 2 * kRow);
    last_ = op("Add", {op("Slice", {both, start, end, axis}, kRow), last_}, kRow);
  }
  groups();
}

TEST_F(FuseScaling, MovedRowsAreLookedForAroundTheirConcat) {
  const ir::ValueId zero = ints("zero", 0), half = ints("half", kRow / 2), end = ints("end", kRow),
                    axis = ints("axis", 1);
  const ir::ValueId cos = graph_.add_input("cos", {ir::DType::F32, {2, kRow}});
  const ir::ValueId sin = graph_.add_input("sin", {ir::DType::F32, {2, kRow}});
  for (int i = 0; i < 8000; ++i) {
    const ir::ValueId a = op("Slice", {last_, zero, half, axis}, kRow / 2);
    const ir::ValueId b = op("Neg", {op("Slice", {last_, half, end, axis}, kRow / 2)}, kRow / 2);
    const ir::ValueId swapped = op("Mul", {join(b, a, kRow), sin}, kRow);
    last_ = op("Add", {op("Mul", {last_, cos}, kRow), swapped}, kRow);
  }
  const std::vector<Group> formed = groups();
  EXPECT_TRUE(std::any_of(formed.begin(), formed.end(), [](const Group& group) { return group.moves.has_value(); }));
}

}  // namespace
}  // namespace collage::codegen
