// SPDX-License-Identifier: Apache-2.0
// What a written placement costs, and for what it is refused: a good one, with one thing changed at a time.
#include <gtest/gtest.h>

#include "compiler/place/evaluate/evaluate.h"
#include "tests/unit/compiler/sema/fixture.h"

namespace collage::place {
namespace {

/// Relu on the host, Tanh on a device, Exp on the host.
class WrittenPlacement : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::Loaded loaded = testing::load(
        "model @m(%x: f32[4]) -> (%y: f32[4]) {\n"
        "  %a = partition @p0 on host(host) cost 10ps (%x) -> (host) {\n"
        "    %a = Relu(%x) : f32[4]\n"
        "  }\n"
        "  %a.npu = convert %a to npu[0] cost 4ps : f32[4]\n"
        "  %b = partition @p1 on npu(npu[0]) cost 3ps (%a.npu) -> (npu[0]) {\n"
        "    %b = Tanh(%a.npu) : f32[4]\n"
        "  }\n"
        "  %b.host = convert %b to host cost 5ps : f32[4]\n"
        "  %y = partition @p2 on host(host) cost 20ps (%b.host) -> (host) {\n"
        "    %y = Exp(%b.host) : f32[4]\n"
        "  }\n"
        "}\n");
    ASSERT_TRUE(loaded.model) << loaded.errors;
    graph_ = std::move(loaded.model->graph);
    placement_ = std::move(loaded.model->placement);
    ASSERT_EQ(placement_.partitions.size(), 3u);
    ASSERT_EQ(placement_.conversions.size(), 2u);
  }

  /// The cost in picoseconds, or the reason.
  std::string judged() const {
    const Verdict verdict = evaluate(graph_, placement_);
    if (const auto* reason = std::get_if<std::string>(&verdict)) return *reason;
    return std::to_string(std::get<Cost>(verdict).count());
  }
  ir::Partition& part(size_t p) { return placement_.partitions[p]; }
  ir::ValueId value(std::string_view name) const { return graph_.find_value(std::string(name)); }

  ir::Graph graph_;
  ir::Placement placement_;
};

const ir::Format kNpu{"npu[0]"};

TEST_F(WrittenPlacement, CostsItsPartitionsAndConversions) {
  EXPECT_EQ(judged(), "42");
}

TEST_F(WrittenPlacement, OrderOfPartitionsAndConversionsDoesNotMatter) {
  std::swap(part(0), part(2));
  std::swap(placement_.conversions[0], placement_.conversions[1]);
  EXPECT_EQ(judged(), "42");
}

TEST_F(WrittenPlacement, ConversionsMayFollowEachOtherInAnyOrder) {
  // %a by way of a layout, the second step first.
  const ir::Format between{"host", "NHWC"};
  placement_.conversions[0].from = between;
  placement_.conversions.push_back({value("a"), ir::kHostPlain, between, runtime::Duration::picoseconds(1), "a.l", {}});
  EXPECT_EQ(judged(), "43");
}

TEST_F(WrittenPlacement, ANodeOfNoPartition) {
  placement_.partitions.pop_back();
  EXPECT_EQ(judged(), "node `%y` is in no partition");
}

TEST_F(WrittenPlacement, ANodeOfTwoPartitions) {
  part(2).nodes = {1, 2};
  EXPECT_EQ(judged(), "node `%b` is in two partitions");
}

TEST_F(WrittenPlacement, ANodeThatDoesNotExist) {
  part(2).nodes.push_back(3);
  EXPECT_EQ(judged(), "a partition names a node that does not exist");
}

TEST_F(WrittenPlacement, AResultThatIsNotListed) {
  part(1).outputs.clear();
  EXPECT_EQ(judged(), "partition `p1` does not list its result `%b`");
}

TEST_F(WrittenPlacement, AModelOutputLeavesItsPartition) {
  part(2).outputs.clear();
  EXPECT_EQ(judged(), "partition `p2` does not list its result `%y`");
}

TEST_F(WrittenPlacement, AResultThatDoesNotLeave) {
  // Relu and Tanh on the host: %a stays inside.
  part(0).nodes = {0, 1};
  part(0).outputs.push_back({value("b"), ir::kHostPlain});
  placement_.partitions.erase(placement_.partitions.begin() + 1);
  placement_.conversions.clear();
  EXPECT_EQ(judged(), "partition `p0` lists `%a`, which does not leave it");
  part(0).outputs.erase(part(0).outputs.begin());
  EXPECT_EQ(judged(), "30");
}

TEST_F(WrittenPlacement, AValueThatDoesNotExist) {
  part(1).outputs.push_back({ir::ValueId(graph_.value_count()), kNpu});
  EXPECT_EQ(judged(), "a partition lists a value that does not exist");
  part(1).outputs.pop_back();
  placement_.conversions[0].value = ir::ValueId();
  EXPECT_EQ(judged(), "a conversion names a value that does not exist");
}

TEST_F(WrittenPlacement, AConversionToAFormatThatIsThere) {
  placement_.conversions.push_back(placement_.conversions.back());
  EXPECT_EQ(judged(), "`%b` is converted to `host`, which it has already");
}

TEST_F(WrittenPlacement, AConversionFromAFormatThatNeverIsThere) {
  placement_.conversions[1].from = ir::Format("npu[1]");
  EXPECT_EQ(judged(), "`%b` is converted from `npu[1]`, which it never has");
}

TEST_F(WrittenPlacement, AnOperandInAFormatThatItNeverHas) {
  placement_.conversions.erase(placement_.conversions.begin());
  EXPECT_EQ(judged(), "partition `p1` reads `%a` in `npu[0]`, which it never has");
}

TEST_F(WrittenPlacement, AnOperandThatIsNotListed) {
  part(1).inputs.clear();
  EXPECT_EQ(judged(), "partition `p1` does not list its operand `%a`");
}

TEST_F(WrittenPlacement, AnOperandThatIsNotRead) {
  part(1).inputs.push_back({value("x"), ir::kHostPlain});
  EXPECT_EQ(judged(), "partition `p1` lists an operand that it does not read");
}

TEST_F(WrittenPlacement, AModelOutputThatStaysOnTheDevice) {
  part(2).outputs = {{value("y"), kNpu}};
  EXPECT_EQ(judged(), "model output `%y` never reaches the host");
}

TEST_F(WrittenPlacement, PartitionsThatWaitForEachOther) {
  // Relu and Exp as one partition around Tanh.
  part(0).nodes = {0, 2};
  part(0).inputs.push_back({value("b"), ir::kHostPlain});
  part(0).outputs.push_back({value("y"), ir::kHostPlain});
  placement_.partitions.pop_back();
  EXPECT_EQ(judged(), "partition `p0` waits for itself: the partitions form a cycle");
}

}  // namespace
}  // namespace collage::place
