// SPDX-License-Identifier: Apache-2.0
// Functions that a model defines: their calls become nodes.
#include <google/protobuf/unknown_field_set.h>

#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

using Floats = std::vector<float>;

class FunctionsTest : public ImportTest {
 protected:
  onnx::FunctionProto& function(const std::string& name, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
    onnx::FunctionProto& added = *model_.add_functions();
    added.set_domain("local");
    added.set_name(name);
    for (const auto& input : inputs) added.add_input(input);
    for (const auto& output : outputs) added.add_output(output);
    added.add_opset_import()->set_version(17);
    return added;
  }
  static onnx::NodeProto& inside(onnx::FunctionProto& function, const std::string& op,
                                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                                 const std::string& domain = "") {
    onnx::NodeProto& added = *function.add_node();
    added.set_op_type(op);
    added.set_domain(domain);
    for (const auto& name : inputs) added.add_input(name);
    for (const auto& name : outputs) added.add_output(name);
    return added;
  }
  onnx::NodeProto& call(const std::string& name, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    onnx::NodeProto& added = node(name, inputs, outputs);
    added.set_domain("local");
    return added;
  }
  static void refer(onnx::NodeProto& node, const std::string& name, const std::string& to,
                    onnx::AttributeProto::AttributeType type) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    attribute.set_ref_attr_name(to);
  }
  /// Sets a string or message field that the installed headers may not know.
  static void set_field(google::protobuf::Message& message, int number, const std::string& bytes) {
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(number, bytes);
  }
};

TEST_F(FunctionsTest, CallsAreReplacedByNodesWithNamesOfTheirOwn) {
  auto& twice = function("twice", {"x"}, {"y"});
  inside(twice, "Add", {"x", "x"}, {"t"}).set_name("sum");
  inside(twice, "Neg", {"t"}, {"y"});
  input("t", {2});
  call("twice", {"t"}, {"a"}).set_name("first");
  call("twice", {"a"}, {"b"});
  output("b");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (Floats{4, 8}));
  EXPECT_EQ(imported->node_count(), 4u);
  EXPECT_EQ(imported->node(ir::NodeId(0)).origin, "first/sum");
  EXPECT_EQ(imported->node_name(ir::NodeId(0)), "first/t");
  EXPECT_EQ(imported->node_name(ir::NodeId(1)), "a");
  EXPECT_EQ(imported->node_name(ir::NodeId(2)), "b/t");
  EXPECT_EQ(imported->node(ir::NodeId(3)).origin, "b/y");
}

TEST_F(FunctionsTest, AttributesAreThoseOfTheCallOrDefaults) {
  auto& leaky = function("leaky", {"x"}, {"y"});
  leaky.add_attribute("slope");
  refer(inside(leaky, "LeakyRelu", {"x"}, {"y"}), "alpha", "slope", onnx::AttributeProto::FLOAT);
  onnx::AttributeProto fallback;
  fallback.set_name("slope_with_default");
  fallback.set_type(onnx::AttributeProto::FLOAT);
  fallback.set_f(0.25f);
  auto& defaulted = function("defaulted", {"x"}, {"y"});
  set_field(defaulted, 11, fallback.SerializeAsString());
  refer(inside(defaulted, "LeakyRelu", {"x"}, {"y"}), "alpha", "slope_with_default", onnx::AttributeProto::FLOAT);
  input("x", {1});
  node("Neg", {"x"}, {"n"});
  attr(call("leaky", {"n"}, {"given"}), "slope", 0.5f);
  call("leaky", {"n"}, {"left_out"});  // the default of LeakyRelu itself
  call("defaulted", {"n"}, {"default"});
  attr(node("Concat", {"given", "left_out", "default"}, {"y"}), "axis", int64_t{0});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (Floats{-0.5f, -0.01f, -0.25f}));
}

TEST_F(FunctionsTest, NestedCallsAndOverloads) {
  auto& inner = function("inner", {"x"}, {"y"});
  inside(inner, "Neg", {"x"}, {"y"});
  auto& other = function("inner", {"x"}, {"y"});
  set_field(other, 13, "loud");
  inside(other, "Add", {"x", "x"}, {"y"});
  auto& outer = function("outer", {"x"}, {"y"});
  inside(outer, "inner", {"x"}, {"t"}, "local");
  set_field(inside(outer, "inner", {"t"}, {"y"}, "local"), 8, "loud");
  input("x", {2});
  call("outer", {"x"}, {"y"}).set_name("top");
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (Floats{-2, -4}));
  EXPECT_EQ(imported->node(ir::NodeId(0)).origin, "top/t/y");
}

TEST_F(FunctionsTest, EachFunctionHasItsOwnOpset) {
  // In opset 12 the axes of Squeeze are an attribute, in 13 an operand.
  auto& old = function("old", {"x"}, {"y"});
  old.mutable_opset_import(0)->set_version(12);
  attr(inside(old, "Squeeze", {"x"}, {"y"}), "axes", std::vector<int64_t>{0});
  input("x", {1, 1, 2});
  initializer("axes", {1}, onnx::TensorProto::INT64).add_int64_data(0);
  call("old", {"x"}, {"s"});
  node("Squeeze", {"s", "axes"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->outputs()[0]).type.shape, (Shape{2}));
}

TEST_F(FunctionsTest, OperandsLeftOutAndResultsThatAreOperands) {
  auto& clip = function("clip", {"x", "low", "high"}, {"y", "same", "again"});
  inside(clip, "Clip", {"x", "low", "high"}, {"y"});
  inside(clip, "Identity", {"y"}, {"again"});
  clip.set_output(1, "x");
  input("x", {3});
  floats("two", {}, {2});
  call("clip", {"x", "", "two"}, {"y", "copy"});
  node("Add", {"y", "copy"}, {"z"});
  output("z");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (Floats{2, 4, 5}));
}

TEST_F(FunctionsTest, BranchesInsideReadTheFunctionsValues) {
  auto& choose = function("choose", {"c", "x"}, {"y"});
  inside(choose, "Neg", {"x"}, {"n"});
  auto& branching = inside(choose, "If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *branching.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& taken = *attribute.mutable_g()->add_node();
    taken.set_op_type(std::string(name) == "then_branch" ? "Identity" : "Abs");
    taken.add_input("n");
    taken.add_output("r");
    attribute.mutable_g()->add_output()->set_name("r");
  }
  input("x", {1});
  initializer("yes", {}, onnx::TensorProto::BOOL).add_int32_data(1);
  call("choose", {"yes", "x"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (Floats{-1}));
}

TEST_F(FunctionsTest, OperatorsKnownHereAreNotTakenFromTheFile) {
  auto& gelu = function("Gelu", {"x"}, {"y"});
  gelu.clear_domain();
  inside(gelu, "Neg", {"x"}, {"y"});
  auto& unheard = function("Unheard", {"x"}, {"y"});
  unheard.clear_domain();
  inside(unheard, "Neg", {"x"}, {"y"});
  set_opset(20);
  input("x", {1});
  node("Gelu", {"x"}, {"g"});
  node("Unheard", {"g"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->node(ir::NodeId(0)).op->name, "Gelu");
  EXPECT_EQ(imported->node(ir::NodeId(1)).op->name, "Neg");
}

TEST_F(FunctionsTest, FunctionsThatCallThemselvesAreRefused) {
  inside(function("f", {"x"}, {"y"}), "g", {"x"}, {"y"}, "local");
  inside(function("g", {"x"}, {"y"}), "f", {"x"}, {"y"}, "local");
  input("x", {1});
  call("f", {"x"}, {"y"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("function `f` calls itself"), std::string::npos) << messages();
}

TEST_F(FunctionsTest, CallsThatMultiplyEndSoon) {
  // Each function calls the one before it 32 times: 32^12 nodes.
  inside(function("f0", {"x"}, {"y"}), "Neg", {"x"}, {"y"});
  for (int i = 1; i <= 12; ++i) {
    auto& next = function(fmt::format("f{}", i), {"x"}, {"v32"});
    for (int k = 0; k < 32; ++k) {
      inside(next, fmt::format("f{}", i - 1), {k == 0 ? "x" : fmt::format("v{}", k)}, {fmt::format("v{}", k + 1)},
             "local");
    }
  }
  input("x", {1});
  call("f12", {"x"}, {"y"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("unfold into more than"), std::string::npos) << messages();
}

TEST_F(FunctionsTest, CallsThatNestTooDeeplyAreRefused) {
  inside(function("f0", {"x"}, {"y"}), "Neg", {"x"}, {"y"});
  for (int i = 1; i <= 1000; ++i)
    inside(function(fmt::format("f{}", i), {"x"}, {"y"}), fmt::format("f{}", i - 1), {"x"}, {"y"}, "local");
  input("x", {1});
  call("f1000", {"x"}, {"y"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("calls are nested more than"), std::string::npos) << messages();
  graph().mutable_node(0)->set_op_type("f50");
  EXPECT_TRUE(import_model()) << messages();
}

TEST_F(FunctionsTest, FaultsAreReportedAtTheCall) {
  auto& f = function("f", {"x"}, {"y"});
  inside(f, "Neg", {"elsewhere"}, {"y"});
  input("x", {1});
  call("f", {"x"}, {"y"}).set_name("here");
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("node 'here' (f)"), std::string::npos) << messages();
  EXPECT_NE(messages().find("reads `elsewhere`, which it does not define"), std::string::npos) << messages();

  f.mutable_node(0)->set_input(0, "x");
  attr(*graph().mutable_node(0), "slop", 1.0f);
  f.add_attribute("slope");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("did you mean `slope`?"), std::string::npos) << messages();

  graph().mutable_node(0)->clear_attribute();
  graph().mutable_node(0)->add_input("x");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("has 1 operands and 1 results, found 2 and 1"), std::string::npos) << messages();

  graph().mutable_node(0)->mutable_input()->RemoveLast();
  *model_.add_functions() = f;
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("function 'f'"), std::string::npos) << messages();
}

}  // namespace
}  // namespace collage::import
