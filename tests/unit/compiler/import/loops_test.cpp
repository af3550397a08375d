// SPDX-License-Identifier: Apache-2.0
// Loops whose number of turns is known before a run become the nodes of their turns.
#include <algorithm>

#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

class LoopImportTest : public ImportTest {
 protected:
  static onnx::GraphProto& body(onnx::NodeProto& node, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
    onnx::GraphProto& graph = graph_attr(node, "body");
    for (const std::string& name : inputs) graph.add_input()->set_name(name);
    for (const std::string& name : outputs) graph.add_output()->set_name(name);
    return graph;
  }
  static onnx::NodeProto& inner(onnx::GraphProto& body, const std::string& op, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
    onnx::NodeProto& added = *body.add_node();
    added.set_op_type(op);
    for (const std::string& name : inputs) added.add_input(name);
    for (const std::string& name : outputs) added.add_output(name);
    return added;
  }
  static void integer(TensorProto& tensor, const std::string& name, int64_t value) {
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_int64_data(value);
  }
  void integer(const std::string& name, int64_t value) { integer(*graph().add_initializer(), name, value); }
  void boolean(const std::string& name, bool value) {
    initializer(name, {}, TensorProto::BOOL).add_int32_data(value ? 1 : 0);
  }
  onnx::NodeProto& loop(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    onnx::NodeProto& added = node("Loop", inputs, outputs);
    added.set_name("loop");
    return added;
  }

  /// The state s and the number of the turn: s + i, which is also a row.
  void add_numbers(const std::string& trips, const std::string& condition, const std::vector<std::string>& outputs) {
    onnx::GraphProto& turn = body(loop({trips, condition, "x"}, outputs), {"i", "go", "s"}, {"go_on", "n", "n"});
    inner(turn, "Identity", {"go"}, {"go_on"});
    attr(inner(turn, "Cast", {"i"}, {"f"}), "to", int64_t{TensorProto::FLOAT});
    inner(turn, "Add", {"s", "f"}, {"n"});
  }

  std::vector<int> host_nodes() {
    write(model_.SerializeAsString());
    std::shared_ptr<const OnnxFile> file = OnnxFile::read(path(), {}, diags_);
    std::optional<ImportedStage> stage = file ? import_first_stage(*file, diags_) : std::nullopt;
    EXPECT_TRUE(stage) << messages();
    return stage ? stage->ready : std::vector<int>();
  }
  static size_t count(const ir::Graph& graph, const std::string& op) {
    const std::vector<ir::NodeId> ids = graph.node_ids();
    return static_cast<size_t>(
        std::count_if(ids.begin(), ids.end(), [&](ir::NodeId id) { return graph.node(id).op->name == op; }));
  }
};

TEST_F(LoopImportTest, AKnownNumberOfTurnsBecomesNodes) {
  input("x", {2});
  integer("three", 3);
  boolean("yes", true);
  add_numbers("three", "yes", {"y", "all"});
  output("all");
  output("y");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->outputs()[0]).type.shape, (Shape{3, 2}));
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 2, 2, 3, 4, 5}));
  const ir::ValueId second = imported->find_value("loop/1/n");
  ASSERT_TRUE(second.is_valid());
  EXPECT_EQ(imported->node(imported->value(second).producer).origin, "loop/1/n");
}

TEST_F(LoopImportTest, TheNumberOfTurnsMayBeShapeArithmetic) {
  input("x", {3});
  node("Shape", {"x"}, {"trips"});
  add_numbers("trips", "", {"y"});
  output("y");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{4, 5, 6}));
}

TEST_F(LoopImportTest, ALoopThatDoesNotStartHandsItsStatesOn) {
  input("x", {2});
  integer("none", 0);
  add_numbers("none", "", {"a"});
  integer("five", 5);
  boolean("no", false);
  onnx::GraphProto& turn = body(node("Loop", {"five", "no", "a"}, {"y"}), {"i", "go", "s"}, {"go", "n"});
  inner(turn, "Neg", {"s"}, {"n"});
  output("y");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 2}));
}

TEST_F(LoopImportTest, RowsOfNoTurnsAreLeftToTheStages) {
  input("x", {2});
  integer("none", 0);
  add_numbers("none", "", {"a", "all"});
  output("all");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("node 'loop' (Loop): error: it has no turns"), std::string::npos) << messages();
  EXPECT_EQ(host_nodes(), (std::vector<int>{0}));
}

/// while (k < 3), with a count that is a state; the constants of the body are there once.
TEST_F(LoopImportTest, AConditionMayFollowFromConstants) {
  input("x", {2});
  integer("zero", 0);
  onnx::GraphProto& turn =
      body(loop({"", "", "zero", "x"}, {"", "y"}), {"i", "go", "k", "s"}, {"go_on", "k_out", "s_out"});
  integer(*turn.add_initializer(), "one", 1);
  onnx::NodeProto& most = inner(turn, "Constant", {}, {"most"});
  attr(most, "value_int", int64_t{3});
  inner(turn, "Add", {"k", "one"}, {"k_out"});
  inner(turn, "Less", {"k_out", "most"}, {"go_on"});
  inner(turn, "Add", {"s", "s"}, {"s_out"});
  output("y");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{8, 16}));
  EXPECT_EQ(count(*imported, "Add"), 3u);
  EXPECT_TRUE(imported->find_value("loop/one").is_valid());
  EXPECT_TRUE(imported->find_value("loop/most").is_valid());
  EXPECT_FALSE(imported->find_value("loop/0/one").is_valid());
}

TEST_F(LoopImportTest, ManyTurnsAndUnknownOnesAreLeftToTheStages) {
  input("x", {2});
  input("trips", {}, TensorProto::INT64);
  integer("many", 1000);
  add_numbers("many", "", {"a"});
  onnx::GraphProto& turn = body(node("Loop", {"trips", "", "x"}, {"b"}), {"i", "go", "s"}, {"go", "n"});
  inner(turn, "Neg", {"s"}, {"n"});
  output("a");
  output("b");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("its 1000 turns are more than 512 nodes"), std::string::npos) << messages();
  EXPECT_NE(messages().find("only values of a run say how many turns it has"), std::string::npos) << messages();
  EXPECT_EQ(host_nodes(), (std::vector<int>{0, 1}));
}

TEST_F(LoopImportTest, AConditionOfTheRunIsLeftToTheStages) {
  input("x", {1});
  integer("three", 3);
  floats("limit", {1}, {10});
  onnx::GraphProto& turn = body(loop({"three", "", "x"}, {"y"}), {"i", "go", "s"}, {"go_on", "n"});
  inner(turn, "Add", {"s", "s"}, {"n"});
  inner(turn, "Less", {"n", "limit"}, {"go_on"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("only values of a run say whether it goes on"), std::string::npos) << messages();
  EXPECT_EQ(host_nodes(), (std::vector<int>{0}));
}

TEST_F(LoopImportTest, AConditionBehindTheLastTurnIsNeverAsked) {
  input("x", {1});
  integer("once", 1);
  floats("limit", {1}, {10});
  onnx::GraphProto& turn = body(loop({"once", "", "x"}, {"y"}), {"i", "go", "s"}, {"go_on", "n"});
  inner(turn, "Add", {"s", "s"}, {"n"});
  inner(turn, "Less", {"n", "limit"}, {"go_on"});
  output("y");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{2}));
}

/// Names of the outer body and of the graph around both; turns multiply.
TEST_F(LoopImportTest, LoopsInLoopsReadWhatIsAroundThem) {
  input("x", {2});
  integer("two", 2);
  integer("three", 3);
  onnx::GraphProto& outer = body(loop({"two", "", "x"}, {"y"}), {"i", "go", "s"}, {"go", "n"});
  onnx::NodeProto& nested = inner(outer, "Loop", {"three", "", "s"}, {"n"});
  nested.set_name("inner");
  onnx::GraphProto& turn = body(nested, {"j", "on", "t"}, {"on", "u"});
  inner(turn, "Add", {"t", "x"}, {"u"});
  output("y");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{7, 14}));
  EXPECT_EQ(count(*imported, "Add"), 6u);
  EXPECT_TRUE(imported->find_value("loop/1/inner/2/u").is_valid());
}

TEST_F(LoopImportTest, TurnsOfLoopsInLoopsCountTogether) {
  input("x", {2});
  integer("thirty", 30);
  onnx::GraphProto& outer = body(loop({"thirty", "", "x"}, {"y"}), {"i", "go", "s"}, {"go", "n"});
  onnx::GraphProto& turn = body(inner(outer, "Loop", {"thirty", "", "s"}, {"n"}), {"j", "on", "t"}, {"on", "u"});
  inner(turn, "Add", {"t", "x"}, {"u"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_EQ(host_nodes(), (std::vector<int>{0}));
}

TEST_F(LoopImportTest, ABodyMayHandOnItsInputsAndWhatIsAroundIt) {
  input("x", {2});
  integer("two", 2);
  node("Neg", {"x"}, {"around"});
  body(loop({"two", "", "x"}, {"y", "rows", "states"}), {"i", "go", "s"}, {"go", "s", "around", "s"});
  attr(node("Concat", {"rows", "states"}, {"all"}), "axis", int64_t{0});
  output("all");
  output("y");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{-1, -2, -1, -2, 1, 2, 1, 2}));
}

TEST_F(LoopImportTest, AStateMayBeASequence) {
  input("x", {1, 2});
  integer("three", 3);
  node("SequenceEmpty", {}, {"none"});
  onnx::GraphProto& turn = body(loop({"three", "", "none"}, {"all"}), {"i", "go", "s"}, {"go", "s_out"});
  attr(inner(turn, "Cast", {"i"}, {"f"}), "to", int64_t{TensorProto::FLOAT});
  inner(turn, "Mul", {"x", "f"}, {"part"});
  inner(turn, "SequenceInsert", {"s", "part"}, {"s_out"});
  attr(node("ConcatFromSequence", {"all"}, {"y"}), "axis", int64_t{0});
  output("y");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{0, 0, 1, 2, 2, 4}));
}

/// Columns from the last to the first; sums side by side, the last first.
TEST_F(LoopImportTest, AScanHasAxesAndDirections) {
  input("x", {2, 3});
  floats("zero", {2}, {0, 0});
  onnx::NodeProto& scan = node("Scan", {"zero", "x"}, {"last", "sums"});
  scan.set_name("scan");
  attr(scan, "num_scan_inputs", int64_t{1});
  attr(scan, "scan_input_axes", std::vector<int64_t>{-1});
  attr(scan, "scan_input_directions", std::vector<int64_t>{1});
  attr(scan, "scan_output_axes", std::vector<int64_t>{-1});
  attr(scan, "scan_output_directions", std::vector<int64_t>{1});
  inner(body(scan, {"s", "column"}, {"n", "n"}), "Add", {"s", "column"}, {"n"});
  output("sums");
  output("last");
  const auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->outputs()[0]).type.shape, (Shape{2, 3}));
  EXPECT_EQ(run(*imported), (std::vector<float>{6, 5, 3, 15, 11, 6}));
  EXPECT_TRUE(imported->find_value("scan/2/n").is_valid());
}

TEST_F(LoopImportTest, AScanOfBatchesIsLeftToTheStages) {
  set_opset(8);
  input("x", {1, 3, 2});
  onnx::NodeProto& scan = node("Scan", {"", "x"}, {"y"});
  attr(scan, "num_scan_inputs", int64_t{1});
  inner(body(scan, {"row"}, {"n"}), "Neg", {"row"}, {"n"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_EQ(host_nodes(), (std::vector<int>{0}));
}

/// A name that the body lacks may be one of the results that its turns make.
TEST_F(LoopImportTest, ABodyThatNeedsResultsOfItsOwnNodeIsReported) {
  input("x", {3, 2});
  floats("zero", {2}, {0, 0});
  onnx::NodeProto& scan = node("Scan", {"zero", "x"}, {"last", "sums"});
  attr(scan, "num_scan_inputs", int64_t{1});
  inner(body(scan, {"s", "row"}, {"sums", "n"}), "Add", {"s", "row"}, {"n"});
  output("last");
  output("sums");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("reads `sums`, a result of its own or of the node around it"), std::string::npos)
      << messages();
}

TEST_F(LoopImportTest, ABodyThatDoesNotFitIsReported) {
  input("x", {2});
  integer("two", 2);
  body(loop({"two", "", "x"}, {"y"}), {"i", "go"}, {"go"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("its body does not fit its 3 operands and 1 results"), std::string::npos) << messages();
}

}  // namespace
}  // namespace collage::import
