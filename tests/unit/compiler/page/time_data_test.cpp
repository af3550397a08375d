// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/time_data.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/compiler/page/small_graph.h"

namespace collage::page {
namespace {

using ir::NodeId;
using ir::ValueId;
using nlohmann::ordered_json;

/// A product, an activation and a view of it, another product.
class Times : public ::testing::Test {
 protected:
  Times() {
    const ValueId x = model_.input("x", {64, 64}), w = model_.input("w", {64, 64});
    const ValueId m = model_.add("MatMul", "m", {x, w});
    const ValueId r = model_.add("Relu", "r", {m});
    const ValueId n = model_.add("MatMul", "n", {r, w});
    model_.graph.mark_output(model_.add("Flatten", "f", {n}));
    partition_ = {.name = "p0",
                  .backend = "onednn",
                  .instance = "host",
                  .matches = {},
                  .cost = {},
                  .nodes = model_.graph.node_ids(),
                  .inputs = {},
                  .outputs = {},
                  .span = {}};
  }

  ValueId value(const char* name) const { return model_.graph.find_value(name); }
  std::vector<NodeId> nodes(std::vector<const char*> names) const {
    std::vector<NodeId> nodes;
    for (const char* name : names) nodes.push_back(model_.node(name));
    return nodes;
  }
  ordered_json profiled(std::vector<report::ProfileRow> rows) {
    ir::Placement placement;
    placement.partitions.push_back(partition_);
    return profile_data(model_.graph, placement, {.model = "m", .runs = 11, .rows = std::move(rows)});
  }

  test::SmallGraph model_;
  ir::Partition partition_;
};

TEST_F(Times, OfUnitsThatAddUpAreExactWhereOneNodeHasThem) {
  partition_.cost = ir::Duration::seconds(0.01);
  const ordered_json json =
      predicted_times(model_.graph, partition_, {{nodes({"m", "r"}), 0.007}, {nodes({"n"}), 0.003}, {nodes({"f"}), 0}});
  EXPECT_DOUBLE_EQ(json["node_s"][0].get<double>(), 0.007);  // the Relu is fused
  EXPECT_DOUBLE_EQ(json["node_s"][1].get<double>(), 0);
  EXPECT_DOUBLE_EQ(json["node_s"][2].get<double>(), 0.003);
  EXPECT_EQ(json["exact"], (ordered_json{2, 3}));
}

TEST_F(Times, OfUnitsThatDoNotAddUpAreScaled) {
  partition_.cost = ir::Duration::seconds(0.02);
  const ordered_json json =
      predicted_times(model_.graph, partition_, {{nodes({"m", "r"}), 0.007}, {nodes({"n", "f"}), 0.003}});
  EXPECT_DOUBLE_EQ(json["node_s"][0].get<double>(), 0.014);
  EXPECT_DOUBLE_EQ(json["node_s"][2].get<double>(), 0.006);
  EXPECT_TRUE(json["exact"].empty());
}

TEST_F(Times, WithoutUnitsAreDividedByWork) {
  partition_.cost = ir::Duration::seconds(0.02);
  const ordered_json json = predicted_times(model_.graph, partition_, {});
  EXPECT_DOUBLE_EQ(json["node_s"][0].get<double>(), 0.01);
  EXPECT_DOUBLE_EQ(json["node_s"][2].get<double>(), 0.01);
}

TEST_F(Times, KernelsHaveTheNodesUpToTheirResults) {
  const auto kernels = nodes_of_kernels(model_.graph, partition_.nodes, {value("r"), {}, value("n")});
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0], nodes({"m", "r"}));
  EXPECT_TRUE(kernels[1].empty());           // a change of layout
  EXPECT_EQ(kernels[2], nodes({"n", "f"}));  // nothing computes the view
}

TEST_F(Times, KernelsOfOneResultHaveItsNodesEach) {
  const auto kernels = nodes_of_kernels(model_.graph, partition_.nodes, {value("r"), value("r"), value("f")});
  EXPECT_EQ(kernels[0], nodes({"m", "r"}));
  EXPECT_EQ(kernels[1], nodes({"m", "r"}));
  EXPECT_EQ(kernels[2], nodes({"n", "f"}));
}

TEST_F(Times, OfAProfileGoByPartitionAndNode) {
  const ordered_json json =
      profiled({{.kind = "onednn", .what = "p0 %r product + relu", .seconds = 3, .partition = "p0", .value = "r"},
                {.kind = "onednn", .what = "p0 %n product", .seconds = 2, .partition = "p0", .value = "n"},
                {.kind = "onednn", .what = "p0 around its kernels", .seconds = 1, .partition = "p0"},
                {.kind = "convert", .what = "%x", .seconds = 4, .value = "x"},
                {.kind = "npu[0]", .what = "p9", .seconds = 5, .partition = "p9"}});
  ASSERT_EQ(json["kernels"].size(), 3u);
  EXPECT_EQ(json["kernels"][0]["nodes"], (ordered_json{0, 1}));
  EXPECT_EQ(json["kernels"][1]["nodes"], (ordered_json{2, 3}));
  EXPECT_TRUE(json["kernels"][2]["nodes"].empty());
  EXPECT_FALSE(json["kernels"][0].contains("about"));
  ASSERT_EQ(json["moves"].size(), 1u);
  EXPECT_EQ(json["moves"][0]["value"], "x");
}

TEST_F(Times, OfAPartitionThatIsTimedAsAWholeAreThoseOfAllNodes) {
  const ordered_json json =
      profiled({{.kind = "npu[0]", .what = "p0 (%m, …)", .seconds = 3, .partition = "p0", .is_simulated = true}});
  ASSERT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["nodes"].size(), 4u);
  EXPECT_EQ(json["kernels"][0]["simulated"], true);
}

TEST_F(Times, ThatAreDividedHaveANodeEach) {
  const ordered_json json = profiled(
      {{.kind = "npu[0]", .what = "p0 %m MatMul", .seconds = 3, .partition = "p0", .value = "m", .is_about = true},
       {.kind = "npu[0]", .what = "p0 %n MatMul", .seconds = 3, .partition = "p0", .value = "n", .is_about = true}});
  ASSERT_EQ(json["kernels"].size(), 2u);
  EXPECT_EQ(json["kernels"][0]["nodes"], ordered_json::array({0}));
  EXPECT_EQ(json["kernels"][1]["about"], true);
}

}  // namespace
}  // namespace collage::page
