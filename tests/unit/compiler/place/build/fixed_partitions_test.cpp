// SPDX-License-Identifier: Apache-2.0
// Partitions of the input: each is the only candidate for its nodes, covered by the rules that it names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/place/build/to_placement.h"
#include "compiler/place/candidates/host_cost.h"
#include "tests/unit/compiler/place/build/problem_fixture.h"

namespace collage::testing {
namespace {

using runtime::Duration;

const ir::NodeId kFirst(0);
const ir::NodeId kSecond(1);

TEST(Fixed, IsTheOnlyCandidateForItsNodes) {
  Case setup;
  setup.model(kThousand, kTwo).add_rules(kNpu);
  setup.placement.partitions.push_back(partition("npu", "npu[0]", {kFirst, kSecond}));
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_EQ(lines(setup, *built), (Sets{"npu npu[0] {a, y} 4us rules relu, relu reads %x: npu[0] writes %y: npu[0]"}));
  EXPECT_EQ(built->origin(0).fixed, place::PartitionId(0));
  setup.placement.partitions[0].cost = Duration::picoseconds(5);
  EXPECT_EQ(setup.problem()->problem.candidates[0].cost.time(), Duration::picoseconds(5));
}

TEST(Fixed, TheHostRunsAnything) {
  Case setup;
  setup.model(kThousand, "%a = Abs(%x)\n%y = Sin(%a)");
  setup.placement.partitions.push_back(partition("host", "host", {kFirst, kSecond}));
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  ASSERT_EQ(built->problem.candidates.size(), 1u);
  EXPECT_EQ(built->problem.candidates[0].cost.time(), place::host_cost(setup.graph, {kFirst, kSecond}, {}));
}

std::string error_of(Case& setup) {
  EXPECT_FALSE(setup.problem());
  return setup.diags.render();
}

TEST(Fixed, UnsupportedNodesGiveTheReason) {
  Case setup;
  setup.model("(%x: f32[7]) -> (%y: f32[7])", kTwo).add_rules(kNpu);
  setup.placement.partitions.push_back(partition("npu", "npu[0]", {kFirst, kSecond}));
  std::string text = error_of(setup);
  EXPECT_NE(text.find("no rules that cover exactly"), std::string::npos) << text;
  EXPECT_NE(text.find("`%a`: rule `relu`: 7 elements"), std::string::npos) << text;
}

TEST(Fixed, UnknownBackendInstanceAndRule) {
  Case backend;
  backend.model(kThousand, kTwo).add_rules(kNpu);
  backend.placement.partitions.push_back(partition("npv", "npu[0]", {kFirst}));
  EXPECT_NE(error_of(backend).find("did you mean `npu`?"), std::string::npos);
  Case instance;
  instance.model(kThousand, kTwo).add_rules(kNpu);
  instance.placement.partitions.push_back(partition("npu", "npu[2]", {kFirst}));
  EXPECT_NE(error_of(instance).find("no instance `npu[2]`"), std::string::npos);
  Case rule;
  rule.model(kThousand, kTwo).add_rules(kNpu);
  rule.placement.partitions.push_back(partition("npu", "npu[0]", {kFirst}));
  rule.placement.partitions[0].matches = {{"gelu"}};
  EXPECT_NE(error_of(rule).find("`npu` has no rule `gelu`"), std::string::npos);
}

TEST(Fixed, WrittenFormatsMustBeThoseOfTheRules) {
  Case setup;
  setup.model(kThousand, kTwo).add_rules(kNpu);
  ir::Partition made = partition("npu", "npu[0]", {kFirst});
  made.inputs.push_back({setup.graph.find_value("x"), {"host", "plain"}});
  setup.placement.partitions.push_back(made);
  std::string text = error_of(setup);
  EXPECT_NE(text.find("has `%x` as `host`, its rules have `npu[0]`"), std::string::npos) << text;
}

TEST(Fixed, LimitsHoldUnlessPartitionsCoalesce) {
  for (bool coalesce : {false, true}) {
    Case setup;
    setup.model(kThousand, kTwo).add_rules(kNpu);
    setup.rules.backends[0].policy.max_depth = 1;
    setup.rules.backends[0].policy.coalesce = coalesce;
    setup.placement.partitions.push_back(partition("npu", "npu[0]", {kFirst, kSecond}));
    EXPECT_EQ(setup.problem().has_value(), coalesce);
  }
}

TEST(Fixed, CircleThroughNodesWithoutAPartition) {
  Case setup;
  setup.model(kThousand, "%a = Relu(%x)\n%b = Abs(%a)\n%y = Add(%a, %b)");
  setup.placement.partitions.push_back(partition("host", "host", {kFirst, ir::NodeId(2)}));
  EXPECT_NE(error_of(setup).find("waits for itself"), std::string::npos);
}

TEST(Fixed, CoverOfOneSetByRulesThatOverlap) {
  Case setup;
  setup.model(kThousand, "%a = Relu(%x)\n%b = Abs(%a)\n%y = Neg(%b)")
      .add_rules(
          "backend lib {\n  runtime host_jit\n"
          "  rule f { match Abs(Relu(v)) cost 1 us lower \"f\" }\n"
          "  rule g { match Neg(Abs(v)) cost 1 us lower \"g\" }\n"
          "  rule h { match Relu(v) cost 5 us lower \"h\" }\n  partition { join any }\n}\n");
  setup.placement.partitions.push_back(partition("lib", "host", {kFirst, kSecond, ir::NodeId(2)}));
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_EQ(built->origin(0).rules, (Sets{"h", "g"}));
}

/// A chain of 60 operators, `one` for each and `two` for two in a row.
Case& chain(Case& setup, const std::vector<std::string>& rules) {
  std::string body;
  for (int i = 0; i < 60; ++i) {
    std::string from = i == 0 ? "x" : "a" + std::to_string(i - 1);
    std::string to = i == 59 ? "y" : "a" + std::to_string(i);
    body += "%" + to + " = LeakyRelu(%" + from + ") {alpha = 0." + std::to_string(1 + i * 7 % 9) + "}\n";
  }
  setup.model("(%x: f32[8]) -> (%y: f32[8])", body)
      .add_rules(
          "backend lib {\n  runtime host_jit\n  rule one { match y = LeakyRelu(v) cost y.alpha * 1 us lower \"one\" }\n"
          "  rule two { match y = LeakyRelu(LeakyRelu(v)) cost y.alpha * 1 us lower \"two\" }\n"
          "  partition { join none coalesce yes }\n}\n");
  setup.placement.partitions.push_back(partition(std::string("lib"), "host", setup.graph.node_ids()));
  for (const std::string& rule : rules) setup.placement.partitions[0].matches.push_back({rule});
  return setup;
}

std::vector<std::string> ones_and_twos(size_t ones, size_t twos) {
  std::vector<std::string> rules(ones, "one");
  rules.insert(rules.end(), twos, "two");
  return rules;
}

TEST(Fixed, RulesInWrittenOrderNeedNoLongSearch) {
  Case fits;
  auto built = chain(fits, ones_and_twos(20, 20)).problem();
  ASSERT_TRUE(built) << fits.diags.render();
  EXPECT_TRUE(fits.diags.records().empty()) << fits.diags.render();
  std::vector<std::string> rules;
  std::vector<ir::NodeId> covered;
  for (const ir::ChosenMatch& match : place::chosen_matches(*built, 0)) {
    rules.push_back(match.name);
    covered.insert(covered.end(), match.nodes.begin(), match.nodes.end());
  }
  EXPECT_EQ(rules, ones_and_twos(20, 20));
  EXPECT_EQ(covered, fits.graph.node_ids());
}

TEST(Fixed, TooManyCoversAreReported) {
  Case none;
  EXPECT_FALSE(chain(none, ones_and_twos(21, 20)).problem());
  ASSERT_EQ(none.diags.records().size(), 1u) << none.diags.render();
  EXPECT_EQ(none.diags.records()[0].code, support::Code::TooManyCovers);
  EXPECT_NE(none.diags.records()[0].message.find("stopped after 50000 steps; none were found"), std::string::npos)
      << none.diags.render();
}

/// So many `Relu` in a row, in any number of matches, and an operator that the rules do not have.
TEST(Fixed, TheHostRunsWhatItsRulesWereNotFoundToCover) {
  std::string body = "%a0 = Relu(%x)\n";
  for (int i = 1; i < 40; ++i) body += fmt::format("%a{} = Relu(%a{})\n", i, i - 1);
  Case setup;
  setup.model("(%x: f32[8]) -> (%y: f32[8])", body + "%y = Abs(%a39)\n")
      .add_rules(
          "backend host {\n  runtime host_jit\n  rule one { match Relu(v) cost 1 us lower \"one\" }\n"
          "  rule two { match Relu(Relu(v)) cost 1 us lower \"two\" }\n  partition { join none }\n}\n");
  const std::vector<ir::NodeId> all = setup.graph.node_ids();
  setup.placement.partitions.push_back(partition(std::string("host"), "host", all));
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_TRUE(setup.diags.records().empty()) << setup.diags.render();
  ASSERT_EQ(built->problem.candidates.size(), 1u);
  EXPECT_EQ(built->problem.candidates[0].cost.time(), place::host_cost(setup.graph, all, {}));
  EXPECT_FALSE(built->origin(0).backend.is_valid());
}

TEST(Fixed, ACoverOfRulesWithOneCostNeedsNoLongSearch) {
  Case setup;
  std::vector<std::string> rules = ones_and_twos(20, 20);
  chain(setup, rules);
  for (ir::Rule& rule : setup.rules.backends[0].rules) rule.kernels[0].cost.reset();
  auto built = setup.problem();
  ASSERT_TRUE(built) << setup.diags.render();
  EXPECT_TRUE(setup.diags.records().empty()) << setup.diags.render();
  EXPECT_EQ(built->origin(0).rules, rules);
}

}  // namespace
}  // namespace collage::testing
