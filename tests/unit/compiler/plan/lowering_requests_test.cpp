// SPDX-License-Identifier: Apache-2.0
// Rules' lowerings in plans: partitions covered by matches, arguments, encoded constants, rounding, inline calls.
#include "compiler/plan/lowering_requests.h"

#include <gtest/gtest.h>

#include "compiler/plan/check.h"
#include "compiler/plan/find_matches.h"
#include "compiler/plan/print_plan.h"
#include "runtime/encodings/encodings.h"
#include "runtime/libraries/library.h"
#include "tests/unit/compiler/match/fixture.h"
#include "tests/unit/compiler/plan/test_model.h"

namespace collage::plan::test {
namespace {

/// A model and rules from text; the test says what its partitions are.
struct RuleCase : collage::testing::Case {
  FakeJit jit;
  BackendAttrs attrs;

  void partition(const std::string& backend, const std::string& instance, const std::vector<std::string>& nodes,
                 const std::vector<std::string>& rule_names) {
    ir::Partition made;
    made.name = "p" + std::to_string(placement.partitions.size());
    made.backend = backend;
    made.instance = instance;
    for (const std::string& rule : rule_names) made.matches.push_back({rule});
    for (const std::string& node : nodes) made.nodes.push_back(graph.find_node(node));
    std::string space = instance;
    for (ir::ValueId value : ir::boundary_inputs(graph, made.nodes)) {
      made.inputs.push_back({value, {space, "plain"}});
      if (space != "host") placement.conversions.push_back({value, ir::kHostPlain, {space, "plain"}, {}, "c", {}});
    }
    for (ir::ValueId value : ir::boundary_outputs(graph, made.nodes)) {
      made.outputs.push_back({value, {space, "plain"}});
      if (space != "host") placement.conversions.push_back({value, {space, "plain"}, ir::kHostPlain, {}, "d", {}});
    }
    placement.partitions.push_back(std::move(made));
  }

  std::optional<BuiltPlan> build() {
    PlanTargets targets = make_targets(rules, attrs);
    ir::Placement matched = placement;
    EXPECT_EQ(find_matches(graph, targets, &matched), std::nullopt);
    return build_plan(graph, matched, targets, jit, diags);
  }

  std::vector<std::string> requests(const BuiltPlan& built, size_t partition = 0) const {
    std::vector<std::string> lines;
    for (const LoweringRequest& request : built.lowerings.at(partition))
      lines.push_back(request.rule + ": " + to_string(graph, request));
    return lines;
  }

  std::unique_ptr<runtime::Executor> load(const BuiltPlan& built) {
    auto executor = runtime::Executor::load(built.plan, jit, 1);
    EXPECT_TRUE(executor) << (executor ? "" : executor.message());
    return executor ? std::move(*executor) : nullptr;
  }
};

const std::string kDevice = "device npu { link host bandwidth 1 GB/s } runtime sim attr lanes: int = 8 in {8, 16} ";

TEST(LoweringRequests, ArgumentsHaveValues) {
  RuleCase c;
  c.model("(%x: f32[1, 4, 6, 6]) -> (%y: f32[1, 4, 6, 6])",
          "%w = const random seed 1 : f32[4, 4, 3, 3]\n%c = Conv(%x, %w) {pads = [1, 1, 1, 1]}\n%y = Relu(%c)");
  c.add_rules("backend npu { " + kDevice +
              "rule conv_act for act in {Relu, Sigmoid} { match y = act(c = Conv(x, w: const, b?: const)) cost 1 us "
              "lower \"conv\"(x, w, b, act, c, pads = c.pads, tile = 4 * lanes, half = lanes / 16, t = dtype(x)) } }");
  c.partition("npu", "npu[0]", {"c", "y"}, {"conv_act.Relu"});
  auto built = c.build();
  ASSERT_TRUE(built) << c.diags.render();
  EXPECT_EQ(c.requests(*built),
            (collage::testing::Sets{"conv_act.Relu: sim \"conv\"(x = %x, w = %w, act = \"Relu\", c = %c, pads = [1, 1, "
                                    "1, 1], tile = 32, half = 0.5, t = \"f32\") -> %y"}));
  c.attrs["npu"].set("lanes", int64_t{16});
  auto wide = c.build();
  ASSERT_TRUE(wide);
  auto executor = c.load(*wide);
  ASSERT_NE(executor, nullptr);
  ASSERT_TRUE(executor->run({counting({1, 4, 6, 6}, 0, 0.1f)}));
  ASSERT_EQ(executor->device_log().size(), 1U);
  EXPECT_NE(executor->device_log()[0].find("npu[0] conv_act.Relu: sim \"conv\"(x = b"), std::string::npos);
  EXPECT_NE(executor->device_log()[0].find("tile = 64, half = 1, t = \"f32\")"), std::string::npos);
}

TEST(LoweringRequests, KnobsAndKernelsAreThoseThatWereChosen) {
  RuleCase c;
  c.model("(%x: f32[4]) -> (%y: f32[4])", "%y = Relu(%x)");
  c.add_rules("backend npu { " + kDevice +
              "rule r { match Relu(v) knob tile in {4, 2} cost tile * 1 us"
              " kernel slow { cost 1 s lower \"slow\"(v) }"
              " kernel fast { lower \"fast\"(v, tile, twice = 2 * tile, shape = shape(v)) } } }");
  c.partition("npu", "npu[0]", {"y"}, {"r:fast{tile=2}"});
  auto built = c.build();
  ASSERT_TRUE(built) << c.diags.render();
  EXPECT_EQ(c.requests(*built),
            (collage::testing::Sets{"r:fast{tile=2}: sim \"fast\"(v = %x, tile = 2, twice = 4, shape = [4]) -> %y"}));
}

TEST(LoweringRequests, CoverIsByNamedDisjointMatches) {
  RuleCase c;
  c.model("(%x: f32[4]) -> (%z: f32[4])", "%a = Relu(%x)\n%b = Relu(%a)\n%z = Relu(%b)");
  c.add_rules("backend npu { " + kDevice +
              "rule one { match Relu(x) cost 1 s } rule two { match Relu(Relu(x)) cost 1 s } }");
  auto names = [&](const std::vector<std::string>& rules) {
    c.placement.partitions.clear();
    c.partition("npu", "npu[0]", {"a", "b", "z"}, rules);
    collage::testing::Sets sets;
    PlanTargets targets = make_targets(c.rules, {});
    auto found = PartitionMatcher(c.graph).find(*targets.find_backend("npu"), c.placement.partitions[0]);
    for (const ir::ChosenMatch& match : found.value_or(std::vector<ir::ChosenMatch>()))
      sets.push_back(c.names(match.nodes));
    return sets;
  };
  EXPECT_EQ(names({"one", "two"}), (collage::testing::Sets{"a", "b z"}));
  EXPECT_EQ(names({"two", "one"}), (collage::testing::Sets{"a b", "z"}));
  EXPECT_EQ(names({"one", "one", "one"}), (collage::testing::Sets{"a", "b", "z"}));
  EXPECT_EQ(names({"two"}), collage::testing::Sets{});
  EXPECT_EQ(names({"one", "other"}), collage::testing::Sets{});
}

TEST(LoweringRequests, PartitionsWithoutRulesAskForNothing) {
  RuleCase c;
  c.model("(%x: f32[4]) -> (%y: f32[4])", "%y = Relu(%x)");
  c.add_rules("backend npu { " + kDevice + "rule one { match Relu(x) cost 1 s } }");
  c.partition("npu", "npu[0]", {"y"}, {});
  auto built = c.build();
  ASSERT_TRUE(built);
  EXPECT_TRUE(built->lowerings[0].empty());
  EXPECT_TRUE(c.load(*built)->run({counting({4}, 0, 1)}));
}

TEST(Encoding, DeviceHoldsEncodedBytes) {
  RuleCase c;
  c.model("(%x: f32[1, 2, 4, 4]) -> (%y: f32[1, 8, 4, 4])",
          "%w = const random seed 1 : f32[8, 2, 1, 1]\n%y = Conv(%x, %w)");
  c.add_rules("backend npu { " + kDevice +
              "rule conv { match Conv(x, w: const) cost 1 s lower \"conv\"(x, encode(w, \"OHWI\", \"bf16\")) } }");
  c.partition("npu", "npu[0]", {"y"}, {"conv"});
  auto built = c.build();
  ASSERT_TRUE(built) << c.diags.render();
  const runtime::Plan& plan = built->plan;
  ASSERT_EQ(plan.constants.size(), 1U);
  const runtime::Buffer& buffer = plan.buffers[static_cast<size_t>(plan.constants[0].buffer)];
  EXPECT_EQ(buffer.tensor.encoding, "OHWI+bf16");
  EXPECT_EQ(buffer.tensor.encoded_bytes, 32U);  // 16 weights of 2 bytes
  EXPECT_EQ(plan.spaces[1].constant_bytes, 64U);
  const ir::Constant& weights = *c.graph.value(c.graph.find_value("w")).constant;
  auto expected = runtime::encode_constant(weights.data, "OHWI+bf16");
  ASSERT_TRUE(expected);
  EXPECT_TRUE(std::equal(expected->begin(), expected->end(), plan.constants[0].data.data()));
  EXPECT_NE(print_plan(plan).find(" as OHWI+bf16, 32 bytes"), std::string::npos);

  auto executor = c.load(*built);
  ASSERT_NE(executor, nullptr);
  Tensor x = counting({1, 2, 4, 4}, -1, 0.1f);
  auto got = executor->run({x});
  ASSERT_TRUE(got) << got.message();
  Tensor rounded = weights.data.clone();
  for (float& value : rounded.as<float>()) value = runtime::round_to_bf16(value);
  EXPECT_FLOAT_EQ((*got)[0].as<float>()[0],
                  x.as<float>()[0] * rounded.as<float>()[0] + x.as<float>()[16] * rounded.as<float>()[1]);
  auto report = check_plan(c.graph, *built, *executor, {x});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->passed());
  EXPECT_GT(report->rows[0].max_difference, 0);
}

TEST(Encoding, WhatDoesNotFitIsNoMatch) {
  RuleCase c;
  c.model("(%a: f32[4, 4]) -> (%y: f32[4, 4])", "%w = const random seed 1 : f32[4, 4]\n%y = MatMul(%a, %w)");
  c.add_rules("backend npu { " + kDevice +
              "rule mm { match MatMul(a, w) cost 1 s lower \"mm\"(a, encode(w, \"OHWI\")) } }");
  c.partition("npu", "npu[0]", {"y"}, {"mm"});
  ir::Placement matched = c.placement;
  EXPECT_EQ(find_matches(c.graph, make_targets(c.rules, c.attrs), &matched), "p0");
}

TEST(Rounding, SimulatedDeviceComputesInBf16) {
  RuleCase c;
  c.model("(%a: f32[2, 2], %b: f32[2, 2]) -> (%y: f32[2, 2])", "%m = MatMul(%a, %b)\n%y = Relu(%m)");
  c.add_rules("backend npu { " + kDevice +
              "rule mm { match Relu(MatMul(a, b)) cost 1 s lower \"matmul\"(a, b, round = \"bf16\") } }");
  c.partition("npu", "npu[0]", {"m", "y"}, {"mm"});
  auto built = c.build();
  ASSERT_TRUE(built) << c.diags.render();
  auto executor = c.load(*built);
  ASSERT_NE(executor, nullptr);
  Tensor a(DType::F32, {2, 2}), b(DType::F32, {2, 2});
  // 1 + 2^-9 is 1 in bf16; the product, 257/256 exactly, is not rounded: it is the call's own.
  a.as<float>()[0] = 1 + 0x1p-9f;
  a.as<float>()[1] = 0x1p-8f;
  b.as<float>()[0] = 1;
  b.as<float>()[2] = 1;
  auto got = executor->run({a, b});
  ASSERT_TRUE(got) << got.message();
  EXPECT_EQ((*got)[0].as<float>()[0], 1 + 0x1p-8f);
}

TEST(Rounding, UnknownPrecisionIsAFailedRun) {
  RuleCase c;
  c.model("(%x: f32[4]) -> (%y: f32[4])", "%y = Relu(%x)");
  c.add_rules("backend npu { " + kDevice + "rule one { match Relu(x) cost 1 s lower \"r\"(x, round = \"f8\") } }");
  c.partition("npu", "npu[0]", {"y"}, {"one"});
  auto built = c.build();
  ASSERT_TRUE(built);
  auto got = c.load(*built)->run({counting({4}, 0, 1)});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.message(), "partition `p0` on npu[0]: `npu[0]` cannot round to `f8`");
}

TEST(Inline, LibraryCallsStandBetweenGeneratedCode) {
  if (!runtime::has_library("onednn")) GTEST_SKIP() << "this build has no oneDNN";
  RuleCase c;
  c.model("(%x: f32[8, 8]) -> (%y: f32[8, 8])",
          "%w = const random seed 1 : f32[8, 8]\n%r = Relu(%x)\n%m = MatMul(%r, %w)\n%t = Tanh(%m)\n%y = Add(%t, %r)");
  c.add_rules(
      "backend near { runtime host_jit rule mm { match MatMul(a, b) cost 1 s lower inline \"onednn\"(a, b) } "
      "rule act { match (Relu | Tanh | Add)(..) cost 1 s } partition { join any } }");
  c.partition("near", "host", {"r", "m", "t", "y"}, {"act", "mm", "act", "act"});
  auto built = c.build();
  ASSERT_TRUE(built) << c.diags.render();
  auto steps = steps_of<runtime::HostStep>(built->plan);
  ASSERT_EQ(steps.size(), 1U);
  ASSERT_EQ(steps[0]->calls.size(), 4U);
  const auto* call = std::get_if<runtime::LibraryCall>(&steps[0]->calls[1]);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->library, "onednn");
  EXPECT_EQ(call->program.ops.size(), 1U);
  auto executor = c.load(*built);
  ASSERT_NE(executor, nullptr);
  auto report = check_plan(c.graph, *built, *executor, {counting({8, 8}, -3, 0.1f)});
  ASSERT_TRUE(report) << report.message();
  EXPECT_TRUE(report->passed()) << print(*report);
}

TEST(Inline, RefusedCallsBecomeGeneratedCode) {
  RuleCase c;
  c.model("(%x: f32[8]) -> (%y: f32[8])", "%y = Relu(%x)");
  c.add_rules("backend near { runtime host_jit rule act { match Relu(x) cost 1 s lower inline \"no_such\"(x) } }");
  c.partition("near", "host", {"y"}, {"act"});
  auto built = c.build();
  ASSERT_TRUE(built);
  EXPECT_TRUE(built->fallbacks.empty());
  EXPECT_NE(c.diags.render().find("`no_such` cannot run `act` of partition `p0`: this build has no library `no_such`"),
            std::string::npos);
  EXPECT_TRUE(c.load(*built)->run({counting({8}, 0, 1)}));
}

}  // namespace
}  // namespace collage::plan::test
