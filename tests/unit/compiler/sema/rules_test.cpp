// SPDX-License-Identifier: Apache-2.0
// What sema makes of rule files.
#include <fstream>
#include <sstream>

#include "compiler/ir/rules/functions.h"
#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

using ir::Expr;
using ir::ExprType;
using ir::Pattern;
using ir::Unit;

class RulesSema : public RulesFixture {};

TEST_F(RulesSema, DevicesInSi) {
  auto rules = build(
      "rules 1 backend npu version 3 { device npu count 2 { memory 8 MiB link host bandwidth 4 GB/s latency 8 us "
      "duplex "
      "link npu bandwidth 12 GB/s queue compute, copy } runtime sim conflicts with dsp, gpu format NHWC max partitions "
      "8 }");
  ASSERT_TRUE(rules) << diags.render();
  const ir::Backend& npu = rules->backends.at(0);
  EXPECT_EQ(npu.version, 3);
  EXPECT_EQ(npu.instances(), (std::vector<std::string>{"npu[0]", "npu[1]"}));
  const ir::DeviceDecl& device = npu.devices.at(0);
  EXPECT_EQ(device.memory_bytes, 8.0 * 1024 * 1024);
  EXPECT_EQ(device.links.at(0).bytes_per_second, 4e9);
  EXPECT_EQ(device.links.at(0).latency, ir::Duration::picoseconds(8'000'000));
  EXPECT_TRUE(device.links.at(0).duplex);
  EXPECT_FALSE(device.links.at(1).duplex);
  EXPECT_EQ(device.queues.size(), 2u);
  EXPECT_EQ(npu.conflicts, (std::vector<std::string>{"dsp", "gpu"}));
  EXPECT_EQ(npu.default_layout, "NHWC");
  EXPECT_EQ(npu.max_partitions, 8);
}

TEST_F(RulesSema, AttributesHaveValuesAndUnits) {
  auto rules = build(
      "rules 1 backend a { attr n: int = 8 in {8, 16} attr f: float = 2.5 attr s: string = fast attr b: bool = true "
      "attr t: time = 2 ms attr r: rate = 2 GB/s runtime host_jit partition { cost n * f * t + bytes / r } }");
  ASSERT_TRUE(rules) << diags.render();
  const ir::Backend& a = rules->backends.at(0);
  EXPECT_EQ(std::get<int64_t>(a.find_attr("n")->fallback), 8);
  EXPECT_EQ(a.find_attr("n")->allowed.size(), 2u);
  EXPECT_EQ(std::get<double>(a.find_attr("f")->fallback), 2.5);
  EXPECT_EQ(std::get<std::string>(a.find_attr("s")->fallback), "fast");
  EXPECT_EQ(std::get<int64_t>(a.find_attr("b")->fallback), 1);
  EXPECT_EQ(std::get<double>(a.find_attr("t")->fallback), 2e-3);
  EXPECT_EQ(a.find_attr("t")->unit, Unit::Time);
  EXPECT_EQ(a.find_attr("r")->unit, Unit::Rate);
  EXPECT_EQ(a.policy.cost->unit, Unit::Time);
}

TEST_F(RulesSema, OptionalIsTheOperatorOrItsFirstOperand) {
  auto rule = build_rule("match y = Relu?(c = Conv(x, w: const, b?: const)) cost 1 us");
  ASSERT_TRUE(rule) << diags.render();
  EXPECT_EQ(rule->root.kind, Pattern::Kind::Optional);
  ASSERT_EQ(rule->root.choices.size(), 2u);
  const Pattern& relu = rule->root.choices[0];
  const Pattern& conv = rule->root.choices[1];
  EXPECT_EQ(relu.ops.at(0)->name, "Relu");
  EXPECT_EQ(conv.ops.at(0)->name, "Conv");
  EXPECT_EQ(relu.operands.at(0).capture, conv.capture);
  EXPECT_EQ(rule->captures[static_cast<size_t>(rule->root.capture)].name, "y");
  EXPECT_EQ(rule->captures[static_cast<size_t>(rule->root.capture)].type, ExprType::Node);
}

TEST_F(RulesSema, CapturesThatMayBeAbsent) {
  auto rule = build_rule("match y = Add?(Conv(x, w, b?), r) cost 1 us");
  ASSERT_TRUE(rule) << diags.render();
  auto absent = [&](const char* name) {
    return rule->captures.at(static_cast<size_t>(rule->find_capture(name))).may_be_absent;
  };
  EXPECT_FALSE(absent("y"));
  EXPECT_FALSE(absent("x"));
  EXPECT_FALSE(absent("w"));
  EXPECT_TRUE(absent("b"));
  EXPECT_TRUE(absent("r"));
  rule = build_rule("match y = (Add(a, b) | Relu(a)) cost 1 us");
  ASSERT_TRUE(rule) << diags.render();
  EXPECT_FALSE(absent("a"));
  EXPECT_TRUE(absent("b"));
}

TEST_F(RulesSema, OperandsThatAreNotNamedMustBeAbsent) {
  auto rule = build_rule("match y = Conv(x, w) cost 1 us");
  ASSERT_TRUE(rule) << diags.render();
  ASSERT_EQ(rule->root.operands.size(), 3u);
  EXPECT_TRUE(rule->root.operands[2].is_absent);
  rule = build_rule("match y = Conv(x, ..) cost 1 us");
  ASSERT_TRUE(rule) << diags.render();
  EXPECT_EQ(rule->root.operands.size(), 1u);
  EXPECT_TRUE(rule->root.takes_rest);
  rule = build_rule("match y = Clip(x, none, hi) cost 1 us");
  ASSERT_TRUE(rule) << diags.render();
  EXPECT_TRUE(rule->root.operands.at(1).is_absent);
}

TEST_F(RulesSema, ANameUsedTwiceIsOneCapture) {
  auto rule = build_rule("match y = Mul(x, Sigmoid(x)) cost 1 us");
  ASSERT_TRUE(rule) << diags.render();
  EXPECT_EQ(rule->root.operands.at(0).capture, rule->root.operands.at(1).operands.at(0).capture);
}

TEST_F(RulesSema, FamiliesExpand) {
  auto rules = build(
      "rules 1 backend a { runtime host_jit rule r for act in {Relu, Tanh} { match y = act(x) where act != \"Tanh\" "
      "else \"{act}\" cost 1 us lower \"f\"(x, act) } }");
  ASSERT_TRUE(rules) << diags.render();
  const auto& members = rules->backends.at(0).rules;
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[1].name, "r.Tanh");
  EXPECT_EQ(members[1].family, "r");
  EXPECT_EQ(members[1].root.ops.at(0)->name, "Tanh");
  EXPECT_EQ(members[1].lowering.args.at(1).value->text, "Tanh");
}

TEST_F(RulesSema, UnitsCombine) {
  auto unit_of = [&](const std::string& cost) {
    auto rule = build_rule("match y = Relu(x) where " + cost + " == " + cost + " cost 1 us");
    return rule ? rule->clauses.at(0).condition.args.at(0).unit : Unit::None;
  };
  EXPECT_EQ(unit_of("bytes(x) / 4 GB/s"), Unit::Time);
  EXPECT_EQ(unit_of("4 GB/s * 1 s"), Unit::Bytes);
  EXPECT_EQ(unit_of("1 KiB / 1 s"), Unit::Rate);
  EXPECT_EQ(unit_of("1 s / 1 ms"), Unit::None);
  EXPECT_EQ(unit_of("max(1 s, 2 us, 3 ps)"), Unit::Time);
  EXPECT_EQ(unit_of("-3 * 2 MB"), Unit::Bytes);
  EXPECT_FALSE(diags.has_errors()) << diags.render();
}

TEST_F(RulesSema, ClausesKeepTheirTextAndTemplate) {
  auto rule =
      build_rule("match y = Relu(x) where dim(x, 1)  %\n lanes == 0 else \"{dim(x, 1)} of \\{{lanes}\" cost 1 us");
  ASSERT_TRUE(rule) << diags.render();
  const ir::Clause& clause = rule->clauses.at(0);
  EXPECT_EQ(clause.source, "dim(x, 1) % lanes == 0");
  ASSERT_EQ(clause.reason.size(), 3u);
  EXPECT_TRUE(is_call(std::get<Expr>(clause.reason[0]), ir::FunctionId::dim));
  EXPECT_EQ(std::get<std::string>(clause.reason[1]), " of {");
  EXPECT_EQ(std::get<Expr>(clause.reason[2]).kind, Expr::Kind::BackendAttr);
}

TEST_F(RulesSema, TestsKnowTheirConstants) {
  auto rule = build_rule(
      "match y = Conv(x, w: const) cost 1 us "
      "test ok \"%c = Conv(%x, %w)\" with x: f32[1, 8, 4, 4], w: f32[4, 8, 1, 1], k: const i64[] -> {%c}");
  ASSERT_TRUE(rule) << diags.render();
  const ir::RuleTest& test = rule->tests.at(0);
  EXPECT_EQ(test.constants, (std::vector<std::string>{"w", "k"}));
  EXPECT_EQ(test.inputs.at(1).second.shape, (runtime::Shape{4, 8, 1, 1}));
  EXPECT_EQ(test.nodes, (std::vector<std::string>{"c"}));
}

TEST_F(RulesSema, FilesKnowEachOther) {
  auto first = build("rules 1 backend a { device d { link e bandwidth 1 GB/s } runtime sim }");
  EXPECT_FALSE(first);
  support::FileId one =
      sources.add("one.rules", "rules 1 backend a { device d { link e bandwidth 1 GB/s } runtime sim }");
  support::FileId two =
      sources.add("two.rules", "rules 1 backend b { device e { link host bandwidth 1 GB/s } runtime sim }");
  support::Diagnostics found(sources);
  ir::RuleSet rules;
  for (support::FileId file : {one, two}) {
    auto ast = syntax::parse_rules(sources, file, found);
    ASSERT_TRUE(ast && sema::build_rules(*ast, sources, file, rules, found));
  }
  EXPECT_TRUE(sema::check_rule_set(rules, found)) << found.render();
  EXPECT_EQ(rules.find("b")->file, "two.rules");
}

TEST_F(RulesSema, FunctionRowsAreSorted) {
  std::vector<std::string> names = ir::function_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_TRUE(ir::find_function("max")->variadic);
  EXPECT_EQ(ir::find_function("nothing"), nullptr);
}

TEST_F(RulesSema, EveryFunctionAndQuantityIsOnThePageOfTheLanguage) {
  std::ifstream file(std::string(COLLAGE_SOURCE_DIR) + "/grammar/rules.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string text = page.str();
  for (const std::string& name : ir::function_names()) {
    for (const ir::FunctionDef* form : ir::function_forms(name)) {
      EXPECT_NE(text.find("\n    " + std::string(form->doc) + "\n"), std::string::npos) << form->doc;
    }
  }
  for (const ir::QuantityDef& quantity : ir::all_quantities()) {
    EXPECT_NE(text.find("| `" + std::string(quantity.name) + "` | " + std::string(quantity.doc) + " |"),
              std::string::npos)
        << quantity.name;
  }
}

TEST_F(RulesSema, FunctionsAreFoundByTheirIds) {
  for (const std::string& name : ir::function_names()) {
    for (const ir::FunctionDef* form : ir::function_forms(name)) EXPECT_EQ(&ir::function_def(form->id), form);
  }
}

}  // namespace
}  // namespace collage
