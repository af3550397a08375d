// SPDX-License-Identifier: Apache-2.0
// The whole compiler on random models and random rule files (random_case.h), seed by seed:
//
//   the optimal cost equals brute force's, and the independent evaluators agree with it;
//   every node is covered once and the quotient has no cycle (the evaluators refuse anything else);
//   the printed placement reads back as itself;
//   plans of `eager` and `tvm` hold and are never better;
//   what runs on simulated devices and host gives the reference's numbers, coalesced or not.
//
// COLLAGE_RANDOM_ROUNDS multiplies the number of cases.
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/codegen/jit.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/placement/print.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/place/build/coalesce.h"
#include "compiler/place/build/to_placement.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/solve.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/check.h"
#include "compiler/sema/model/build_graph.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"
#include "runtime/core/random.h"
#include "runtime/exec/executor.h"
#include "tests/differential/brute_force.h"
#include "tests/differential/random_case.h"
#include "tests/differential/reference_jit.h"

namespace collage {
namespace {

using runtime::Tensor;

int rounds() {
  const char* text = std::getenv("COLLAGE_RANDOM_ROUNDS");
  return text ? std::max(1, std::atoi(text)) : 1;
}

struct Counts {
  int offloaded = 0;   ///< cases with a partition off the host
  int multi_exit = 0;  ///< cases with a chosen partition of several results
  int conversions = 0;
  int worse_than_optimal = 0;  ///< plans of other strategies
};

class RandomModels : public ::testing::Test {
 protected:
  void check(uint64_t seed, int max_nodes, codegen::Jit& jit) {
    testing::RandomCase random = testing::random_case(seed, max_nodes);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + random.model + random.rules);
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    auto model = sema::load_model_text(sources, sources.add("random.ir", random.model), "", diags);
    ASSERT_TRUE(model) << diags.render();
    support::FileId rules_file = sources.add("random.rules", random.rules);
    auto ast = syntax::parse_rules(sources, rules_file, diags);
    ir::RuleSet rules;
    ASSERT_TRUE(ast && sema::build_rules(*ast, sources, rules_file, rules, diags)) << diags.render();
    place::ActiveBackends active;
    for (const ir::Backend& backend : rules.backends) active.push_back({&backend, {}});
    auto built = place::build_problem(model->graph, rules, active, diags);
    ASSERT_TRUE(built) << diags.render();

    auto solution = place::search_optimal(built->problem);
    ASSERT_TRUE(solution);
    ASSERT_TRUE(solution->optimal) << solution->cost.count() << " bound " << solution->bound.count() << " states "
                                   << solution->states;
    EXPECT_EQ(solution->cost, place::brute_force_cost(built->problem));
    expect_verdict(place::evaluate(built->problem, *solution), solution->cost);

    ir::Placement placement = place::to_placement(*built, *solution, model->graph);
    expect_verdict(place::evaluate(model->graph, placement), solution->cost);
    expect_round_trip(model->graph, placement);
    expect_reference_results(model->graph, placement, rules, jit);
    count(placement);
    if (seed % 8 == 0) check_strategies(model->graph, *built, *solution, rules, jit);
    place::coalesce(model->graph, placement, [&](const ir::Partition& partition) {
      const ir::Backend* backend = rules.find(partition.backend);
      return backend != nullptr && backend->policy.coalesce;
    });
    expect_verdict(place::evaluate(model->graph, placement), solution->cost);
    expect_reference_results(model->graph, placement, rules, jit);
  }

  /// The other strategies' plans hold, compute the same, and are never better.
  void check_strategies(const ir::Graph& graph, const place::BuiltProblem& built, const place::Solution& best,
                        const ir::RuleSet& rules, codegen::Jit& jit) {
    using Kind = place::Strategy::Kind;
    for (const place::Strategy& strategy : {place::Strategy{Kind::Eager, {}}, place::Strategy{Kind::Tvm, {}}}) {
      SCOPED_TRACE(to_string(strategy));
      auto found = place::solve(built.problem, strategy);
      ASSERT_TRUE(found || strategy.kind == Kind::Tvm);
      if (!found) {
        EXPECT_NE(found.message(), "");
        continue;
      }
      EXPECT_GE(found->cost, best.cost);
      counts_.worse_than_optimal += found->cost > best.cost;
      ir::Placement placement = place::to_placement(built, *found, graph);
      expect_verdict(place::evaluate(graph, placement), found->cost);
      expect_reference_results(graph, placement, rules, jit);
    }
  }

  static void expect_verdict(const place::Verdict& verdict, place::Cost cost) {
    ASSERT_TRUE(std::holds_alternative<place::Cost>(verdict)) << std::get<std::string>(verdict);
    EXPECT_EQ(std::get<place::Cost>(verdict), cost);
  }

  static void expect_round_trip(const ir::Graph& graph, const ir::Placement& placement) {
    std::string printed = ir::print(graph, placement);
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    auto again = sema::load_model_text(sources, sources.add("printed.ir", printed), "", diags);
    ASSERT_TRUE(again) << diags.render();
    EXPECT_EQ(ir::print(again->graph, again->placement), printed);
  }

  static void expect_reference_results(const ir::Graph& graph, const ir::Placement& placement, const ir::RuleSet& rules,
                                       codegen::Jit& jit) {
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    auto plan = plan::build_plan(graph, placement, plan::make_targets(rules, {}), jit, diags);
    ASSERT_TRUE(plan) << diags.render();
    auto executor = runtime::Executor::load(plan->plan, jit, 1);
    ASSERT_TRUE(executor) << executor.message();
    std::vector<Tensor> inputs;
    for (ir::ValueId input : graph.inputs()) {
      const ir::TensorType& type = graph.value(input).type;
      inputs.push_back(runtime::random_tensor(type.dtype, type.shape, inputs.size()));
    }
    auto outputs = (*executor)->run(inputs);
    ASSERT_TRUE(outputs) << outputs.message();
    auto expected = ir::evaluate_graph(graph, inputs);
    ASSERT_TRUE(expected) << expected.message();
    for (size_t i = 0; i < outputs->size(); ++i) {
      plan::CheckRow row = plan::compare((*outputs)[i], (*expected)[i], 2e-5);
      EXPECT_TRUE(row.passed) << "output " << i << " differs by " << row.max_difference << " of " << row.max_magnitude;
    }
  }

  void count(const ir::Placement& placement) {
    bool offloaded = false, multi_exit = false;
    for (const ir::Partition& partition : placement.partitions) {
      offloaded |= partition.instance != "host";
      multi_exit |= partition.outputs.size() > 1 && partition.nodes.size() > 1;
    }
    counts_.offloaded += offloaded;
    counts_.multi_exit += multi_exit;
    counts_.conversions += static_cast<int>(placement.conversions.size());
  }

  Counts counts_;
};

TEST_F(RandomModels, UpToNineNodes) {
  testing::ReferenceJit jit;
  int cases = 10'000 * rounds();
  for (int seed = 0; seed < cases && !HasFatalFailure() && !HasNonfatalFailure(); ++seed)
    check(static_cast<uint64_t>(seed), 9, jit);
  EXPECT_GT(counts_.offloaded, cases / 4);
  EXPECT_GT(counts_.multi_exit, cases / 100);
  EXPECT_GT(counts_.conversions, cases / 2);
  EXPECT_GT(counts_.worse_than_optimal, cases / 100);
}

TEST_F(RandomModels, UpToFourteenNodes) {
  testing::ReferenceJit jit;
  for (uint64_t seed = 1'000'000; seed < 1'000'300 && !HasFatalFailure() && !HasNonfatalFailure(); ++seed)
    check(seed, 14, jit);
}

TEST_F(RandomModels, OnCompiledHostCode) {
  auto jit = codegen::Jit::create({});
  ASSERT_TRUE(jit) << jit.message();
  for (uint64_t seed = 2'000'000; seed < 2'000'200 && !HasFatalFailure() && !HasNonfatalFailure(); ++seed)
    check(seed, 9, **jit);
}

}  // namespace
}  // namespace collage
