// SPDX-License-Identifier: Apache-2.0
// Names in the bodies of branches, loops, scans and functions that other values have too: in the graph around, before
// or behind the node, in bodies around and inside. Each model is read as a whole, with a condition that is constant,
// and run in stages, where the condition is a value of the run; x = 1, -2.
#include "compiler/ir/analysis/evaluate.h"
#include "tests/unit/compiler/stages/staged_fixture.h"

namespace collage::stages {
namespace {

struct Shadowed {
  std::string name;
  std::string graph;             ///< reads x and the condition c, and gives one output
  std::vector<float> taken;      ///< where c is true
  std::vector<float> not_taken;  ///< where it is false
  std::string functions = {};
};

std::ostream& operator<<(std::ostream& out, const Shadowed& model) {
  return out << model.name;
}

std::string branches(const std::vector<std::string>& results, const std::string& taken, const std::string& other,
                     const std::string& condition = "c") {
  return node("If", {condition}, results, body("then_branch", taken) + body("else_branch", other));
}
/// then: `name` = -x, else: `name` = |x|
std::string two_branches(const std::string& result, const std::string& name) {
  return branches({result}, node("Neg", {"x"}, {name}) + output(name), node("Abs", {"x"}, {name}) + output(name));
}
/// A body of a Loop with one state.
std::string turn(const std::string& counter, const std::string& condition, const std::string& state,
                 const std::string& nodes, const std::vector<std::string>& results) {
  std::string text = input(counter, kInt, {}) + input(condition, kBool, {}) + input(state, kFloat, {"2"}) +
                     node("Identity", {condition}, {"go_on"}) + nodes + output("go_on");
  for (const std::string& result : results) text += output(result);
  return body("body", text);
}
std::string float_constant(const std::string& name, float value) {
  return "initializer { name: \"" + name + "\" data_type: 1 dims: 1 float_data: " + std::to_string(value) + " }\n";
}
const std::string kTwo = int_constant("two", {2});

std::vector<Shadowed> models() {
  std::vector<Shadowed> all;
  const auto add = [&all](const std::string& name, const std::string& graph, const std::vector<float>& taken,
                          const std::vector<float>& other, const std::string& functions = "") {
    all.push_back({name, graph, taken, other, functions});
  };
  // Branches.
  add("ResultOfABranchIsALaterValue", two_branches("y", "w") + node("Relu", {"y"}, {"w"}) + output("w"), {0, 2},
      {1, 2});
  add("InnerValueIsALaterValue",
      branches({"y"}, node("Neg", {"x"}, {"w"}) + node("Abs", {"w"}, {"v"}) + output("v"),
               node("Abs", {"x"}, {"w"}) + node("Neg", {"w"}, {"v"}) + output("v")) +
          node("Neg", {"y"}, {"w"}) + output("w"),
      {-1, -2}, {1, 2});
  add("ConstantOfABranchIsALaterValue",
      branches({"y"}, float_constant("w", 10) + node("Add", {"x", "w"}, {"s"}) + output("s"),
               float_constant("w", 20) + node("Add", {"x", "w"}, {"s"}) + output("s")) +
          node("Neg", {"y"}, {"w"}) + output("w"),
      {-11, -8}, {-21, -18});
  add("OneBranchHasItTheOtherDoesNot",
      branches({"y"}, node("Neg", {"x"}, {"w"}) + output("w"), node("Abs", {"x"}, {"v"}) + output("v")) +
          node("Relu", {"y"}, {"w"}) + node("Neg", {"w"}, {"v"}) + output("v"),
      {0, -2}, {-1, -2});
  add("AValueBeforeIsHidden",
      node("Relu", {"x"}, {"w"}) + two_branches("y", "w") + node("Add", {"y", "w"}, {"z"}) + output("z"), {0, 2},
      {2, 2});
  add("OneBranchReadsWhatTheOtherHides",
      node("Relu", {"x"}, {"w"}) +
          branches({"y"}, node("Neg", {"x"}, {"w"}) + output("w"), node("Neg", {"w"}, {"v"}) + output("v")) +
          output("y"),
      {-1, 2}, {-1, 0});
  add("TheResultOfTheNodeItself", two_branches("y", "y") + node("Neg", {"y"}, {"z"}) + output("z"), {1, -2}, {-1, -2});
  add("TheInputsOfTheGraph",
      branches({"y"}, node("Neg", {"x"}, {"n"}) + node("Relu", {"n"}, {"c"}) + output("c"),
               node("Abs", {"x"}, {"n"}) + node("Neg", {"n"}, {"c"}) + output("c")) +
          output("y"),
      {0, 2}, {-1, -2});
  add("NodesThatAreWrittenInAnyOrder", node("Relu", {"y"}, {"w"}) + two_branches("y", "w") + output("w"), {0, 2},
      {1, 2});
  add("TwoNodesHideEachOthersResults",
      two_branches("y", "z") +
          branches({"z"}, node("Relu", {"y"}, {"y2"}) + output("y2"), node("Neg", {"y"}, {"y2"}) + output("y2")) +
          output("z"),
      {0, 2}, {-1, -2});
  add("SeveralResultsChangePlaces",
      branches({"a", "b"}, node("Neg", {"x"}, {"b"}) + node("Abs", {"x"}, {"a"}) + output("b") + output("a"),
               node("Abs", {"x"}, {"b"}) + node("Relu", {"x"}, {"a"}) + output("b") + output("a")) +
          node("Sub", {"a", "b"}, {"z"}) + output("z"),
      {-2, 0}, {0, 2});
  add("SequencesInABranch",
      branches({"y"},
               node("SequenceConstruct", {"x", "x"}, {"q"}) +
                   node("ConcatFromSequence", {"q"}, {"r"}, number("axis", 0)) + output("r"),
               node("SequenceConstruct", {"x"}, {"q"}) + node("ConcatFromSequence", {"q"}, {"r"}, number("axis", 0)) +
                   output("r")) +
          node("Neg", {"y"}, {"q"}) + output("q"),
      {-1, 2, -1, 2}, {-1, 2});
  // Branches in branches.
  add("ABranchInsideHidesALaterValueAroundIt",
      branches({"y"},
               branches({"i"}, node("Neg", {"x"}, {"w"}) + output("w"), node("Abs", {"x"}, {"w"}) + output("w")) +
                   node("Relu", {"i"}, {"w"}) + output("w"),
               node("Abs", {"x"}, {"w"}) + output("w")) +
          node("Neg", {"y"}, {"w"}) + output("w"),
      {0, -2}, {-1, -2});
  add("ABranchInsideReadsWhatTheOuterOneHides",
      node("Relu", {"x"}, {"w"}) +
          branches(
              {"y"},
              node("Neg", {"x"}, {"w"}) +
                  branches({"i"}, node("Abs", {"w"}, {"v"}) + output("v"), node("Neg", {"w"}, {"v"}) + output("v")) +
                  output("i"),
              node("Identity", {"w"}, {"v"}) + output("v")) +
          node("Add", {"y", "w"}, {"z"}) + output("z"),
      {2, 2}, {2, 0});
  add("ABranchInsideNamesTheResultOfTheOuterNode",
      branches({"y"},
               node("Neg", {"x"}, {"n"}) +
                   branches({"i"}, node("Relu", {"n"}, {"y"}) + output("y"), node("Abs", {"n"}, {"y"}) + output("y")) +
                   output("i"),
               node("Abs", {"x"}, {"y"}) + output("y")) +
          output("y"),
      {0, 2}, {1, 2});
  // Loops: the condition says whether there are turns.
  add("TheStateIsALaterValue",
      kTwo + node("Loop", {"two", "c", "x"}, {"l"}, turn("i", "go", "y", node("Add", {"y", "y"}, {"s"}), {"s"})) +
          node("Relu", {"l"}, {"y"}) + output("y"),
      {4, 0}, {1, 0});
  add("TheCounterIsALaterValue",
      kTwo +
          node("Loop", {"two", "c", "x"}, {"l"},
               turn("n", "go", "s", node("Cast", {"n"}, {"f"}, number("to", kFloat)) + node("Add", {"s", "f"}, {"t"}),
                    {"t"})) +
          node("Neg", {"l"}, {"n"}) + node("Abs", {"n"}, {"f"}) + output("f"),
      {2, 1}, {1, 2});
  add("TheConditionIsTheOneOfTheGraph",
      kTwo + node("Loop", {"two", "c", "x"}, {"l"}, turn("i", "c", "x", node("Neg", {"x"}, {"s"}), {"s"})) +
          node("Add", {"l", "x"}, {"z"}) + output("z"),
      {2, -4}, {2, -4});
  add("RowsOfALoop",
      kTwo +
          node("Loop", {"two", "", "x"}, {"l", "rows"},
               turn("i", "go", "s", node("Add", {"s", "s"}, {"rows"}), {"rows", "rows"})) +
          node("Where", {"c", "rows", "l"}, {"s"}) + output("s"),
      {2, -4, 4, -8}, {4, -8, 4, -8});
  add("AConstantOfALoop",
      kTwo +
          node("Loop", {"two", "c", "x"}, {"l"},
               turn("i", "go", "s",
                    node("Constant", {}, {"k"}, "attribute { name: \"value_float\" type: FLOAT f: 10 } ") +
                        node("Add", {"s", "k"}, {"t"}),
                    {"t"})) +
          node("Neg", {"l"}, {"k"}) + output("k"),
      {-21, -18}, {-1, 2});
  add("LoopsInLoopsOfTheSameNames",
      kTwo +
          node("Loop", {"two", "c", "x"}, {"l"},
               turn("i", "go", "s",
                    node("Loop", {"two", "", "s"}, {"r"}, turn("i", "go", "s", node("Add", {"s", "s"}, {"t"}), {"t"})),
                    {"r"})) +
          node("Neg", {"l"}, {"t"}) + node("Neg", {"t"}, {"s"}) + output("s"),
      {16, -32}, {1, -2});
  add("ABranchInALoop",
      kTwo +
          node("Loop", {"two", "", "x"}, {"l"},
               turn("i", "go", "s",
                    branches({"b"}, node("Add", {"s", "s"}, {"t"}) + output("t"),
                             node("Neg", {"s"}, {"t"}) + output("t")) +
                        node("Abs", {"b"}, {"t"}),
                    {"t"})) +
          node("Neg", {"l"}, {"t"}) + output("t"),
      {-4, -8}, {-1, -2});
  add("ALoopInABranch",
      kTwo +
          branches({"y"},
                   node("Loop", {"two", "", "x"}, {"w"}, turn("i", "go", "w", node("Add", {"w", "w"}, {"y"}), {"y"})) +
                       output("w"),
                   node("Neg", {"x"}, {"w"}) + output("w")) +
          node("Relu", {"y"}, {"w"}) + output("w"),
      {4, 0}, {0, 2});
  // Scans.
  const std::string sums =
      body("body", input("s", kFloat, {}) + input("row", kFloat, {}) + node("Add", {"s", "row"}, {"t"}) +
                       node("Identity", {"t"}, {"sum"}) + output("t") + output("sum"));
  add("PartsOfAScanAreLaterValues",
      "initializer { name: \"zero\" data_type: 1 float_data: 0 }\n" +
          node("Scan", {"zero", "x"}, {"last", "sums"}, number("num_scan_inputs", 1) + sums) +
          node("Where", {"c", "sums", "x"}, {"row"}) + node("Neg", {"row"}, {"s"}) + node("Neg", {"s"}, {"t"}) +
          node("Add", {"t", "last"}, {"sum"}) + output("sum"),
      {0, -2}, {0, -3});
  // Functions: the condition is an operand.
  add("AnOperandOfACallHasANameOfABody", node("Relu", {"x"}, {"a"}) + call("f", {"a", "c"}, {"y"}) + output("y"),
      {-1, 0}, {1, 0},
      function("f", {"p", "q"}, {"r"},
               branches({"r"}, node("Neg", {"p"}, {"a"}) + output("a"), node("Abs", {"p"}, {"a"}) + output("a"), "q")));
  add("AResultOfACallHasANameOfABody", call("f", {"x", "c"}, {"v", "u"}) + node("Add", {"u", "v"}, {"z"}) + output("z"),
      {0, 4}, {0, 2},
      function("f", {"p", "q"}, {"r", "t"},
               node("Neg", {"p"}, {"r"}) +
                   branches({"t"}, node("Abs", {"r"}, {"v"}) + output("v"),
                            node("Neg", {"r"}, {"m"}) + node("Relu", {"m"}, {"v"}) + output("v"), "q")));
  add("CallsOfCalls", call("g", {"x", "c"}, {"a"}) + node("Neg", {"a"}, {"p"}) + output("p"), {-1, 2}, {-1, -2},
      function("f", {"p", "q"}, {"r"},
               branches({"r"}, node("Neg", {"p"}, {"a"}) + output("a"), node("Abs", {"p"}, {"a"}) + output("a"), "q")) +
          function("g", {"a", "c"}, {"b"}, call("f", {"a", "c"}, {"p"}) + call("f", {"p", "c"}, {"b"})));
  add("ALoopInAFunction", kTwo + call("f", {"x", "two", "c"}, {"s"}) + node("Neg", {"s"}, {"t"}) + output("t"), {-4, 8},
      {-1, 2},
      function("f", {"x", "n", "q"}, {"r"},
               node("Loop", {"n", "q", "x"}, {"r"}, turn("i", "go", "s", node("Add", {"s", "s"}, {"x2"}), {"x2"}))));
  add("ABodyInABodyOfAFunction", node("Relu", {"x"}, {"w"}) + call("f", {"w", "c"}, {"y"}) + output("y"), {-1, 0},
      {1, 0},
      function("f", {"p", "q"}, {"r"},
               branches({"r"},
                        branches({"i"}, node("Neg", {"p"}, {"w"}) + output("w"),
                                 node("Abs", {"p"}, {"w"}) + output("w"), "q") +
                            node("Identity", {"i"}, {"w"}) + output("w"),
                        node("Abs", {"p"}, {"w"}) + output("w"), "q")));
  return all;
}

class ShadowedNames : public Staged, public ::testing::WithParamInterface<Shadowed> {};

TEST_P(ShadowedNames, AreNamesOfTheirOwn) {
  const Shadowed& model = GetParam();
  const Tensor x = floats({2}, {1, -2});
  for (const bool condition : {true, false}) {
    SCOPED_TRACE(condition ? "the condition is true" : "the condition is false");
    const std::vector<float>& want = condition ? model.taken : model.not_taken;
    const std::string constant =
        "initializer { name: \"c\" data_type: 9 int32_data: " + std::to_string(condition ? 1 : 0) + " }\n";
    open(input("x", kFloat, {"2"}) + constant + model.graph, {}, 64, model.functions);
    ASSERT_TRUE(made_ && made_->whole) << diags_.render();
    auto whole = ir::evaluate_graph(made_->whole->model.graph, {x});
    ASSERT_TRUE(whole) << whole.message();
    EXPECT_EQ(elements<float>(whole->front()), want) << "as a whole";
    auto staged = open(input("c", kBool, {}) + input("x", kFloat, {"2"}) + model.graph, {}, 64, model.functions);
    if (staged != nullptr) {
      const Tensors results = run(*staged, {boolean(condition), x});
      ASSERT_EQ(results.size(), 1U);
      EXPECT_EQ(elements<float>(results[0]), want) << "in stages";
    } else {  // the condition decides no branch
      ASSERT_TRUE(made_ && made_->whole) << diags_.render();
      whole = ir::evaluate_graph(made_->whole->model.graph, {boolean(condition), x});
      ASSERT_TRUE(whole) << whole.message();
      EXPECT_EQ(elements<float>(whole->front()), want) << "with the condition as an input";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ShadowedNames, ::testing::ValuesIn(models()),
                         [](const auto& model) { return model.param.name; });

}  // namespace
}  // namespace collage::stages
