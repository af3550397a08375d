// SPDX-License-Identifier: Apache-2.0
// Which nodes compute what is tested for NaN or infinities: the forms that exporters write, and what is no test.
#include "compiler/ir/analysis/value_tests.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/compiler/sema/fixture.h"

namespace collage::testing {
namespace {

/// The names of the nodes that are tested: `a:nan by t, b:inf by u`.
std::string tested(const std::string& body, const std::string& head = "(%x: f32[4]) -> (%y: f32[4])") {
  const Loaded loaded = load("model @m" + head + " {\n" + body + "\n}\n");
  if (!loaded.model.has_value()) return loaded.errors;
  const ir::Graph& graph = loaded.model->graph;
  const std::vector<ir::ValueTests> tests = ir::find_value_tests(graph);
  std::string text;
  for (ir::NodeId node : graph.node_ids()) {
    const auto add = [&](const char* kind, ir::ValueId test) {
      if (!test.is_valid()) return;
      text += (text.empty() ? "" : ", ") + graph.node_name(node) + kind + graph.value(test).name;
    };
    add(":nan by ", tests[node.slot()].for_nan);
    add(":inf by ", tests[node.slot()].for_inf);
  }
  return text;
}

struct Form {
  const char* name;
  const char* body;
  const char* expected;
};

class TestForms : public ::testing::TestWithParam<Form> {};

TEST_P(TestForms, AreFound) {
  EXPECT_EQ(tested(GetParam().body), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    ValueTests, TestForms,
    ::testing::Values(
        Form{"PyTorchSafeSoftmax",
             "%r = Relu(%x) %s = Softmax(%r) %t = IsNaN(%s) %z = const splat 0.0 : f32[] %y = Where(%t, %z, %s)",
             "r:nan by t, s:nan by t"},
        Form{"NotEqualToItself",
             "%s = Relu(%x) %e = Equal(%s, %s) %n = Not(%e) %z = const splat 0.0 : f32[] "
             "%y = Where(%n, %z, %s)",
             "s:nan by e"},
        Form{"EqualThroughCopies",
             "%s = Relu(%x) %i = Identity(%s) %c = Cast(%i) {to = 1} %e = Equal(%s, %c) "
             "%z = const splat 0.0 : f32[] %y = Where(%e, %s, %z)",
             "s:nan by e, i:nan by e, c:nan by e"},
        Form{"OrderedWithItself", "%s = Relu(%x) %e = LessOrEqual(%s, %s) %y = Cast(%e) {to = 1}", "s:nan by e"},
        Form{"DifferenceWithItself",
             "%s = Relu(%x) %d = Sub(%s, %s) %z = const splat 0.0 : f32[] %e = Equal(%d, %z) "
             "%y = Where(%e, %s, %z)",
             "s:nan by d, s:inf by d"},
        Form{"QuotientWithItself", "%s = Relu(%x) %d = Div(%s, %s) %y = Add(%d, %x)", "s:nan by d, s:inf by d"},
        Form{"ProductWithZero", "%s = Relu(%x) %z = const splat 0.0 : f32[4] %y = Mul(%z, %s)",
             "s:nan by y, s:inf by y"},
        Form{"IsInf", "%s = Relu(%x) %t = IsInf(%s) %z = const splat 0.0 : f32[] %y = Where(%t, %z, %s)", "s:inf by t"},
        Form{"EqualToInfinity", "%s = Exp(%x) %i = const splat inf : f32[] %t = Equal(%i, %s) %y = Where(%t, %x, %s)",
             "s:inf by t"},
        Form{"BelowTheLargestNumber",
             "%s = Abs(%x) %i = const splat 3.4028234e38 : f32[] %t = LessOrEqual(%s, %i) %y = Where(%t, %s, %x)",
             "s:inf by t"},
        Form{"Finite", "%s = Exp(%x) %n = IsNaN(%s) %i = IsInf(%s) %o = Or(%n, %i) %y = Where(%o, %x, %s)",
             "s:nan by n, s:inf by i"},
        Form{"AnyAfterASum", "%s = Exp(%x) %r = ReduceSum(%s) {keepdims = 1} %n = IsNaN(%r) %y = Where(%n, %x, %s)",
             "s:nan by n, r:nan by n"},
        Form{"ThroughAWhere",
             "%b = Less(%x, %x) %s = Relu(%x) %w = Where(%b, %s, %x) %n = IsNaN(%w) "
             "%y = Where(%n, %x, %w)",
             "s:nan by n, w:nan by n"},
        Form{"TheResultOfAGuardIsNotTested",
             "%n = IsNaN(%x) %z = const splat 0.0 : f32[] %g = Where(%n, %z, %x) %y = Relu(%g)", ""},
        Form{"NotAfterRounding",
             "%s = Relu(%x) %i = Cast(%s) {to = 7} %f = Cast(%i) {to = 1} %n = IsNaN(%f) "
             "%y = Where(%n, %x, %f)",
             "f:nan by n"},
        Form{"AThresholdIsNoTest",
             "%s = Relu(%x) %h = const splat 0.5 : f32[] %t = Greater(%s, %h) %y = Where(%t, %s, %x)", ""},
        Form{"OtherValuesAreNoTest", "%s = Relu(%x) %h = Exp(%x) %t = Equal(%s, %h) %y = Where(%t, %s, %h)", ""},
        Form{"AMaskOfZerosAndOnes", "%s = Relu(%x) %m = const dense f32[4] [0.0, 1.0, 0.0, 1.0] %y = Mul(%m, %s)", ""}),
    [](const auto& form) { return std::string(form.param.name); });

TEST(ValueTests, HalfPrecisionHasALargestNumberOfItsOwn) {
  EXPECT_EQ(tested("%s = Abs(%x) %i = const splat 65504.0 : f16[] %t = LessOrEqual(%s, %i) %y = Where(%t, %s, %x)",
                   "(%x: f16[4]) -> (%y: f16[4])"),
            "s:inf by t");
}

TEST(ValueTests, ComparedIntegersAreNoTest) {
  EXPECT_EQ(tested("%a = Neg(%x) %e = Equal(%a, %a) %y = Where(%e, %a, %x)", "(%x: i32[4]) -> (%y: i32[4])"), "");
}

}  // namespace
}  // namespace collage::testing
