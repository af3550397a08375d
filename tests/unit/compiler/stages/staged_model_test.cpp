// SPDX-License-Identifier: Apache-2.0
// Models that only the values of a run fix the shapes of: branches, loops, scans, sequences, and operators with results
// of unknown size.
#include "compiler/stages/dynamic_model.h"
#include "tests/unit/compiler/stages/staged_fixture.h"

namespace collage::stages {
namespace {

TEST_F(Staged, ValuesDecideHowManyCoordinatesThereAre) {
  auto model = open(input("x", kFloat, {"2", "3"}) + output("y") + node("Relu", {"x"}, {"r"}) +
                    node("NonZero", {"r"}, {"i"}) + node("Neg", {"i"}, {"y"}));
  ASSERT_NE(model, nullptr) << diags_.render();
  Tensors outputs = run(*model, {floats({2, 3}, {1, -1, 0, 0, 2, 3})});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(elements<int64_t>(outputs[0]), (std::vector<int64_t>{0, -1, -1, 0, -1, -2}));
  outputs = run(*model, {floats({2, 3}, {0, 0, 0, 0, 0, 4})});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(elements<int64_t>(outputs[0]), (std::vector<int64_t>{-1, -2}));
  // The first stage serves both, the one after NonZero is made for each shape.
  EXPECT_EQ(model->reports().size(), 3U);
  EXPECT_EQ(model->reports()[0].runs, 2U);
}

TEST_F(Staged, AShapeMayBeComputed) {
  auto model = open(input("x", kFloat, {"6"}) + input("s", kInt, {"2"}) + output("y") + int_constant("one", {1}) +
                    node("Add", {"s", "one"}, {"t"}) + node("Reshape", {"x", "t"}, {"r"}) + node("Neg", {"r"}, {"y"}));
  ASSERT_NE(model, nullptr) << diags_.render();
  const Tensor x = floats({6}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run(*model, {x, ints({2}, {1, 2})}).at(0).shape(), (Shape{2, 3}));
  EXPECT_EQ(run(*model, {x, ints({2}, {2, 1})}).at(0).shape(), (Shape{3, 2}));
  auto wrong = model->run({x, ints({2}, {4, 4})});
  EXPECT_FALSE(wrong.is_ok());
}

TEST_F(Staged, AStageIsMadeForShapesAndNotForValues) {
  auto model = open(input("x", kFloat, {"4", "2"}) + input("at", kInt, {"1"}) + output("y") + int_constant("one", {1}) +
                    node("Add", {"at", "one"}, {"end"}) + node("Slice", {"x", "at", "end"}, {"row"}) +
                    node("Neg", {"row"}, {"y"}));
  ASSERT_NE(model, nullptr) << diags_.render();
  const Tensor x = floats({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  for (int64_t at = 0; at < 4; ++at) {
    const auto row = static_cast<float>(2 * at);
    EXPECT_EQ(elements<float>(run(*model, {x, ints({1}, {at})}).at(0)), (std::vector<float>{-row, -row - 1}));
  }
  EXPECT_EQ(model->reports().size(), 2U);
}

TEST_F(Staged, ABranchIsChosenAtRunTime) {
  const std::string then_branch = node("Add", {"x", "x"}, {"a"}) + output("a");
  const std::string else_branch = node("Concat", {"x", "x"}, {"b"}, number("axis", 0)) + output("b");
  auto model = open(input("c", kBool, {}) + input("x", kFloat, {"2"}) + output("y") +
                    node("If", {"c"}, {"r"}, body("then_branch", then_branch) + body("else_branch", else_branch)) +
                    node("Neg", {"r"}, {"y"}));
  ASSERT_NE(model, nullptr) << diags_.render();
  const Tensor x = floats({2}, {1, 2});
  EXPECT_EQ(elements<float>(run(*model, {boolean(true), x}).at(0)), (std::vector<float>{-2, -4}));
  EXPECT_EQ(elements<float>(run(*model, {boolean(false), x}).at(0)), (std::vector<float>{-1, -2, -1, -2}));
}

/// A state that grows, a condition, rows of each turn, a value of the graph around it.
TEST_F(Staged, ALoopCarriesStatesOfAnyShape) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + input("s", kFloat, {"n"}) +
                           int_constant("shape", {1}) + node("Cast", {"i"}, {"f"}, number("to", kFloat)) +
                           node("Reshape", {"f", "shape"}, {"f1"}) + node("Add", {"f1", "x"}, {"row"}) +
                           node("Concat", {"s", "row"}, {"s_out"}, number("axis", 0)) +
                           node("Size", {"s_out"}, {"count"}) + node("Less", {"count", "most"}, {"go_on"}) +
                           output("go_on") + output("s_out") + output("row");
  auto model = open(input("trips", kInt, {}) + input("most", kInt, {}) + input("x", kFloat, {"1"}) + output("last") +
                    output("rows") + node("Identity", {"x"}, {"start"}) +
                    node("Loop", {"trips", "", "start"}, {"last", "rows"}, body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  const Tensor x = floats({1}, {10});
  Tensors outputs = run(*model, {ints({}, {3}), ints({}, {100}), x});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(elements<float>(outputs[0]), (std::vector<float>{10, 10, 11, 12}));
  EXPECT_EQ(outputs[1].shape(), (Shape{3, 1}));
  outputs = run(*model, {ints({}, {50}), ints({}, {3}), x});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(elements<float>(outputs[0]), (std::vector<float>{10, 10, 11}));
  outputs = run(*model, {ints({}, {0}), ints({}, {3}), x});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(elements<float>(outputs[0]), (std::vector<float>{10}));
  EXPECT_EQ(outputs[1].shape()[0], 0);
}

TEST_F(Staged, TheBodyOfALoopIsMadeOnceForOneShape) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + input("s", kFloat, {"2"}) +
                           node("Identity", {"go"}, {"go_on"}) + node("Add", {"s", "s"}, {"s_out"}) + output("go_on") +
                           output("s_out");
  auto model = open(input("trips", kInt, {}) + input("x", kFloat, {"2"}) + output("y") +
                    node("Loop", {"trips", "", "x"}, {"y"}, body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  EXPECT_EQ(elements<float>(run(*model, {ints({}, {10}), floats({2}, {1, 2})}).at(0)),
            (std::vector<float>{1024, 2048}));
  ASSERT_EQ(model->reports().size(), 2U);
  EXPECT_EQ(model->reports()[1].runs, 10U);
}

/// A scan with more turns than become nodes.
TEST_F(Staged, AScanRunsOverSlices) {
  const std::string turn = input("s", kFloat, {"2"}) + input("row", kFloat, {"2"}) +
                           node("Add", {"s", "row"}, {"s_out"}) + node("Identity", {"s_out"}, {"sum"}) +
                           output("s_out") + output("sum");
  auto model = open(input("s", kFloat, {"2"}) + input("x", kFloat, {"300", "2"}) + output("last") + output("sums") +
                    node("Scan", {"s", "x"}, {"last", "sums"}, number("num_scan_inputs", 1) + body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  std::vector<float> rows, sums;
  for (int i = 1; i <= 300; ++i) {
    rows.insert(rows.end(), {1, 2});
    sums.insert(sums.end(), {static_cast<float>(i), static_cast<float>(2 * i)});
  }
  Tensors outputs = run(*model, {floats({2}, {0, 0}), floats({300, 2}, rows)});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(elements<float>(outputs[0]), (std::vector<float>{300, 600}));
  EXPECT_EQ(elements<float>(outputs[1]), sums);
}

/// Few turns of known number are nodes of the stage around them: none is run on the host.
TEST_F(Staged, ALoopOfKnownTurnsIsPartOfItsStage) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + input("s", kInt, {"1", "n"}) +
                           node("Add", {"s", "i"}, {"s_out"}) + output("go") + output("s_out") + output("s_out");
  auto model =
      open(input("x", kFloat, {"4"}) + output("y") + output("all") + int_constant("trips", {3}) +
           node("NonZero", {"x"}, {"found"}) + node("Loop", {"trips", "", "found"}, {"y", "all"}, body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  const Tensors outputs = run(*model, {floats({4}, {0, 1, 0, 1})});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(elements<int64_t>(outputs[0]), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(outputs[1].shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(elements<int64_t>(outputs[1]), (std::vector<int64_t>{1, 3, 2, 4, 4, 6}));
  ASSERT_EQ(model->reports().size(), 2U);
  EXPECT_TRUE(model->reports()[1].then.empty());
  // Three additions, three rows, their join, and the result.
  EXPECT_EQ(model->reports()[1].operators, 8U);
}

/// Results of turns that never came have the type that they would have, and no rows along the right axis.
TEST_F(Staged, ALoopWithoutTurnsGivesNoRowsOfTheRightType) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + input("s", kFloat, {"n"}) +
                           node("Identity", {"go"}, {"go_on"}) + node("Identity", {"s"}, {"s_out"}) +
                           node("Cast", {"s"}, {"row"}, number("to", kInt)) + output("go_on") + output("s_out") +
                           output("row");
  auto model = open(input("trips", kInt, {}) + input("go", kBool, {}) + input("x", kFloat, {"2"}) + output("last") +
                    output("rows") + node("Loop", {"trips", "go", "x"}, {"last", "rows"}, body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  for (const auto& [trips, go] : {std::pair(0, true), std::pair(5, false)}) {
    const Tensors outputs = run(*model, {ints({}, {trips}), boolean(go), floats({2}, {1, 2})});
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(elements<float>(outputs[0]), (std::vector<float>{1, 2}));
    EXPECT_EQ(outputs[1].dtype(), DType::I64);
    EXPECT_EQ(outputs[1].shape(), (Shape{0, 2}));
  }
}

TEST_F(Staged, AScanWithoutSlicesGivesNoRowsAlongItsAxis) {
  const std::string turn = input("s", kFloat, {"2"}) + input("slice", kFloat, {"2"}) +
                           node("Add", {"s", "slice"}, {"s_out"}) +
                           node("Cast", {"s_out"}, {"row"}, number("to", kInt)) + output("s_out") + output("row");
  const std::string axes = "attribute { name: \"scan_output_axes\" type: INTS ints: 1 } ";
  auto model =
      open(input("s", kFloat, {"2"}) + output("last") + output("rows") +
           "initializer { name: \"none\" data_type: 1 dims: 0 dims: 2 }\n" +
           node("Scan", {"s", "none"}, {"last", "rows"}, number("num_scan_inputs", 1) + axes + body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  const Tensors outputs = run(*model, {floats({2}, {3, 4})});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(elements<float>(outputs[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(outputs[1].dtype(), DType::I64);
  EXPECT_EQ(outputs[1].shape(), (Shape{2, 0}));
}

/// The body of a loop without turns reads a value that each turn of the loop around it makes longer.
TEST_F(Staged, ALoopWithoutTurnsInATurnOfAnotherFollowsItsShapes) {
  const std::string inner = input("j", kInt, {}) + input("inner_go", kBool, {}) +
                            node("Identity", {"inner_go"}, {"inner_on"}) +
                            node("Cast", {"s"}, {"row"}, number("to", kInt)) + output("inner_on") + output("row");
  const std::string turn =
      input("i", kInt, {}) + input("go", kBool, {}) + input("s", kFloat, {"n"}) + node("Identity", {"go"}, {"go_on"}) +
      node("Loop", {"none", ""}, {"rows"}, body("body", inner)) + node("Shape", {"rows"}, {"shape"}) +
      node("Concat", {"s", "x"}, {"s_out"}, number("axis", 0)) + output("go_on") + output("s_out") + output("shape");
  auto model = open(input("trips", kInt, {}) + input("none", kInt, {}) + input("x", kFloat, {"1"}) + output("last") +
                    output("shapes") + node("Loop", {"trips", "", "x"}, {"last", "shapes"}, body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  const Tensors outputs = run(*model, {ints({}, {3}), ints({}, {0}), floats({1}, {1})});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(elements<int64_t>(outputs[1]), (std::vector<int64_t>{0, 1, 0, 2, 0, 3}));
}

TEST_F(Staged, TypesOfABodyAreMadeOnceForEachTypeOfItsInputs) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + input("s", kFloat, {"n"}) +
                           node("Identity", {"go"}, {"go_on"}) + node("Add", {"s", "x"}, {"s_out"}) +
                           node("Cast", {"s_out"}, {"row"}, number("to", kInt)) + output("go_on") + output("s_out") +
                           output("row");
  auto model = open(input("trips", kInt, {}) + input("x", kFloat, {"2"}) + output("last") + output("rows") +
                    node("Loop", {"trips", "", "x"}, {"last", "rows"}, body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  const import::OnnxFile& file = *source_->onnx();
  auto loop = file.node(file.graph(), 0);
  ASSERT_TRUE(loop) << loop.message();
  const import::GraphRef body = loop->bodies.at("body");
  GraphRunner runner(source_->onnx(), settings(), 2, diags_);
  const auto types_for = [&](int64_t state, int64_t around) -> const ResultTypes& {
    Scope outer(file, file.graph(), nullptr);
    outer.set("x", value_of(Tensor(DType::F32, {around})));
    const ResultTypes inputs = {ir::TensorType{DType::I64, {}}, ir::TensorType{DType::Bool, {}},
                                ir::TensorType{DType::F32, {state}}};
    return runner.result_types(body, inputs, &outer);
  };
  const ResultTypes* first = &types_for(1, 2);
  ASSERT_EQ(first->size(), 3U);
  EXPECT_EQ((*first)[2], (ir::TensorType{DType::I64, {2}}));
  EXPECT_EQ(&types_for(1, 2), first) << "made twice";
  EXPECT_EQ(types_for(5, 1)[2], (ir::TensorType{DType::I64, {5}})) << "another input";
  EXPECT_EQ(&types_for(1, 2), first) << "two are kept";
  EXPECT_EQ(types_for(1, 3)[2], (ir::TensorType{DType::I64, {3}})) << "another value around it";
  EXPECT_EQ(types_for(5, 1)[2], (ir::TensorType{DType::I64, {5}})) << "made again";
}

TEST_F(Staged, ReportsOfAStateThatGrowsDoNotGrowWithoutEnd) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + input("s", kFloat, {"n"}) +
                           node("Identity", {"go"}, {"go_on"}) +
                           node("Concat", {"s", "x"}, {"s_out"}, number("axis", 0)) + output("go_on") + output("s_out");
  auto model = open(input("trips", kInt, {}) + input("x", kFloat, {"1"}) + output("y") +
                        node("Loop", {"trips", "", "x"}, {"y"}, body("body", turn)),
                    {}, 4);
  ASSERT_NE(model, nullptr) << diags_.render();
  EXPECT_EQ(run(*model, {ints({}, {400}), floats({1}, {1})}).at(0).shape(), (Shape{401}));
  const std::vector<StageReport> reports = model->reports();
  EXPECT_LT(reports.size(), 300U);
  size_t stages = 0, runs = 0;
  for (const StageReport& report : reports) {
    stages += report.stages;
    runs += report.runs;
  }
  EXPECT_EQ(stages, 401U);
  EXPECT_EQ(runs, 401U);
  EXPECT_NE(print(reports).find("and 389 more"), std::string::npos) << print(reports);
}

TEST_F(Staged, SequencesAreStatesToo) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + "input { name: \"s\" }\n" +
                           node("Identity", {"go"}, {"go_on"}) + node("SequenceInsert", {"s", "x"}, {"s_out"}) +
                           output("go_on") + output("s_out");
  auto model =
      open(input("trips", kInt, {}) + input("x", kFloat, {"2"}) + output("y") + output("n") +
           node("SequenceEmpty", {}, {"none"}) + node("Loop", {"trips", "", "none"}, {"all"}, body("body", turn)) +
           node("SequenceLength", {"all"}, {"n"}) +
           node("ConcatFromSequence", {"all"}, {"y"}, number("axis", 0) + number("new_axis", 1)));
  ASSERT_NE(model, nullptr) << diags_.render();
  Tensors outputs = run(*model, {ints({}, {3}), floats({2}, {1, 2})});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(elements<int64_t>(outputs[1]), (std::vector<int64_t>{3}));
}

/// Work enough for compiled code, in a body: it is compiled, checked, and agrees.
TEST_F(Staged, BodiesAreCompiled) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + input("s", kFloat, {"64", "64"}) +
                           node("Identity", {"go"}, {"go_on"}) + node("MatMul", {"s", "x"}, {"p"}) +
                           node("Tanh", {"p"}, {"s_out"}) + output("go_on") + output("s_out");
  auto model = open(input("trips", kInt, {}) + input("x", kFloat, {"64", "64"}) + output("y") +
                    node("Loop", {"trips", "", "x"}, {"y"}, body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  std::vector<float> values(64 * 64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i % 13) - 6) / 64;
  run(*model, {ints({}, {4}), floats({64, 64}, values)});
  ASSERT_EQ(model->reports().size(), 2U);
  EXPECT_NE(model->reports()[1].backends, "");
  EXPECT_EQ(model->reports()[1].runs, 4U);
}

TEST_F(Staged, TheStagesThatWereUsedLastAreKept) {
  auto model =
      open(input("x", kFloat, {"4"}) + output("y") + node("NonZero", {"x"}, {"i"}) + node("Neg", {"i"}, {"y"}), {}, 2);
  ASSERT_NE(model, nullptr) << diags_.render();
  for (int round = 0; round < 2; ++round) {
    for (int ones = 1; ones <= 3; ++ones) {
      std::vector<float> values(4, 0);
      std::fill_n(values.begin(), ones, 1.0F);
      EXPECT_EQ(run(*model, {floats({4}, values)}).at(0).shape(), (Shape{1, ones}));
    }
  }
  EXPECT_GT(model->reports().size(), 4U);
}

/// With the values of their last run.
TEST_F(Staged, StagesAreKeptForCommandsAboutThem) {
  auto plain = open(input("x", kFloat, {"4"}) + output("y") + node("Relu", {"x"}, {"r"}) +
                    node("NonZero", {"r"}, {"i"}) + node("Neg", {"i"}, {"y"}));
  ASSERT_NE(plain, nullptr) << diags_.render();
  StageSettings keeping = settings();
  keeping.keeps_stages = true;
  StagedModel model(source_->onnx(), *made_->first, {}, keeping, 64, diags_);
  for (StagedModel* one : {plain.get(), &model}) {
    run(*one, {floats({4}, {-1, 2, 3, -4})});
    run(*one, {floats({4}, {-1, -2, -3, 4})});
  }
  EXPECT_TRUE(plain->kept_stages().empty());
  const std::vector<KeptStage> kept = model.kept_stages();
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].number, 1U);
  EXPECT_EQ(kept[0].report.runs, 2U);
  EXPECT_TRUE(kept[0].graph.find_value("r").is_valid());
  ASSERT_EQ(kept[0].inputs.size(), 1U);
  EXPECT_EQ(elements<float>(kept[0].inputs[0]), (std::vector<float>{-1, -2, -3, 4}));
  EXPECT_EQ(kept[2].number, 3U);
  EXPECT_TRUE(kept[2].report.has_run_time_shapes);
  EXPECT_EQ(elements<int64_t>(kept[2].inputs.at(0)), (std::vector<int64_t>{3}));
}

TEST_F(Staged, ShapesOfInputsAndValuesMayBothBeOpen) {
  open(input("x", kFloat, {"n", "3"}) + output("y") + node("Relu", {"x"}, {"r"}) + node("NonZero", {"r"}, {"i"}) +
       node("Neg", {"i"}, {"y"}));
  ASSERT_NE(source_, nullptr) << diags_.render();
  DynamicModel model(std::move(source_), settings(), 2, diags_);
  for (int round = 0; round < 2; ++round) {
    for (const int64_t rows : {1, 2}) {
      auto outputs = model.run({floats({rows, 3}, {1, -1, 2, 3, 3, 3})});
      ASSERT_TRUE(outputs) << diags_.render();
      EXPECT_EQ(outputs->at(0).name, "y");
      EXPECT_EQ(outputs->at(0).tensor.shape(), (Shape{2, rows == 1 ? 2 : 5}));
    }
  }
  EXPECT_EQ(model.made(), 2U);
}

TEST_F(Staged, AGivenInputThatDecidesAShapeIsBound) {
  request::Specialisation to;
  to.given.emplace("s", ints({2}, {3, 2}));
  auto model =
      open(input("x", kFloat, {"6"}) + input("s", kInt, {"2"}) + output("y") + node("Reshape", {"x", "s"}, {"y"}), to);
  EXPECT_EQ(model, nullptr);
  ASSERT_TRUE(made_ && made_->whole) << diags_.render();
  EXPECT_TRUE(made_->bound.contains("s"));
  const ir::Graph& graph = made_->whole->model.graph;
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{3, 2}));
}

/// Functions of a model that have names of the standard's operators, and other operands.
TEST_F(Staged, WhatDecidesAShapeIsNotSaidByTheNameAlone) {
  request::Specialisation to;
  to.given.emplace("x", floats({4}, {1, 0, 2, 3}));
  auto model = open(input("x", kFloat, {"4"}) + output("y") + call("Range", {"x"}, {"i"}) + node("Neg", {"i"}, {"y"}),
                    to, 64, function("Range", {"data"}, {"places"}, node("NonZero", {"data"}, {"places"})));
  ASSERT_NE(model, nullptr) << "x is data: " << diags_.render();
  EXPECT_TRUE(made_->bound.empty());
  EXPECT_EQ(elements<int64_t>(run(*model, {floats({4}, {1, 0, 2, 3})}).at(0)), (std::vector<int64_t>{0, -2, -3}));

  to.given.clear();
  to.given.emplace("s", ints({2}, {2, 2}));
  open(input("x", kFloat, {"4"}) + input("s", kInt, {"2"}) + output("y") + call("NonMaxSuppression", {"x", "s"}, {"y"}),
       to, 64, function("NonMaxSuppression", {"data", "to"}, {"made"}, node("Reshape", {"data", "to"}, {"made"})));
  ASSERT_TRUE(made_ && made_->whole) << diags_.render();
  EXPECT_TRUE(made_->bound.contains("s"));
}

TEST_F(Staged, FaultsInBodiesNameTheNode) {
  const std::string turn = input("i", kInt, {}) + input("go", kBool, {}) + input("s", kFloat, {"2"}) +
                           node("Identity", {"go"}, {"go_on"}) + node("MatMul", {"s", "wide"}, {"s_out"}) +
                           output("go_on") + output("s_out");
  auto model = open(input("trips", kInt, {}) + input("x", kFloat, {"2"}) + input("wide", kFloat, {"5", "5"}) +
                    output("y") + node("Loop", {"trips", "", "x"}, {"y"}, body("body", turn)));
  ASSERT_NE(model, nullptr) << diags_.render();
  auto outputs = model->run({ints({}, {2}), floats({2}, {1, 2}), Tensor(DType::F32, {5, 5})});
  EXPECT_FALSE(outputs.is_ok());
  EXPECT_NE(diags_.render().find("node 's_out' (MatMul)"), std::string::npos) << diags_.render();
}

}  // namespace
}  // namespace collage::stages
