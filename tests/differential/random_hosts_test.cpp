// SPDX-License-Identifier: Apache-2.0
// Random models (random_case.h) under random placements over three hosts, on compiled code: the results have the bits
// of the same partitions on one host, in sequence and with overlap.
//
// COLLAGE_RANDOM_ROUNDS multiplies the number of cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "compiler/codegen/jit.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/part_plan.h"
#include "compiler/sema/model/build_graph.h"
#include "runtime/core/host_space.h"
#include "runtime/core/random.h"
#include "runtime/exec/executor.h"
#include "tests/differential/random_case.h"
#include "tests/unit/compiler/plan/local_parts.h"

namespace collage {
namespace {

using runtime::Duration;
using runtime::Tensor;

constexpr int kHosts = 3;

int rounds() {
  const char* text = std::getenv("COLLAGE_RANDOM_ROUNDS");
  return text ? std::max(1, std::atoi(text)) : 1;
}

plan::PlanTargets targets_of(int hosts, bool is_concurrent) {
  plan::PlanTargets targets;
  targets.backends = {{"host", ir::RuntimeKind::HostJit}};
  targets.is_concurrent = is_concurrent;
  for (int number = 0; hosts > 1 && number < hosts; ++number) {
    plan::DeviceTarget& host = targets.hosts.emplace_back();
    host.spec = {runtime::host_space(number), std::string(runtime::kRemoteKind), {}, {}, true};
    host.host = number;
    for (int other = 0; other < hosts; ++other) {
      if (other != number)
        host.spec.links.push_back({runtime::host_space(other), 1e9, Duration::picoseconds(1000), true});
    }
  }
  return targets;
}

/// Runs of nodes in their order, so that no cycle can arise; each in the memory of a host.
ir::Placement place_randomly(const ir::Graph& graph, std::mt19937_64& random) {
  ir::Placement placement;
  std::vector<ir::NodeId> run;
  const auto close = [&] {
    ir::Partition& made = placement.partitions.emplace_back();
    made.name = "p" + std::to_string(placement.partitions.size() - 1);
    made.backend = "host";
    made.instance = runtime::host_space(static_cast<int>(random() % kHosts));
    made.cost = Duration::picoseconds(static_cast<int64_t>(1 + random() % 1000));
    made.nodes = std::move(run);
    run.clear();
    for (ir::ValueId value : ir::boundary_inputs(graph, made.nodes))
      made.inputs.push_back({value, {made.instance, "plain"}});
    for (ir::ValueId value : ir::boundary_outputs(graph, made.nodes))
      made.outputs.push_back({value, {made.instance, "plain"}});
  };
  for (ir::NodeId node : graph.node_ids()) {
    run.push_back(node);
    if (random() % 3 == 0) close();
  }
  if (!run.empty()) close();
  return placement;
}

/// From where a value is made to each host that reads it; sometimes through another host that has it.
void connect(const ir::Graph& graph, std::mt19937_64& random, ir::Placement* placement) {
  std::map<ir::ValueId, std::vector<std::string>> has;
  for (ir::ValueId input : graph.inputs()) has[input] = {"host"};
  for (const ir::Partition& partition : placement->partitions) {
    for (const ir::BoundaryValue& output : partition.outputs) has[output.value] = {partition.instance};
  }
  const auto want = [&](ir::ValueId value, const std::string& host) {
    std::vector<std::string>& hosts = has[value];
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) return;
    const std::string from = hosts[random() % hosts.size()];
    placement->conversions.push_back({value,
                                      {from, "plain"},
                                      {host, "plain"},
                                      Duration::picoseconds(static_cast<int64_t>(1 + random() % 100)),
                                      graph.value(value).name + "." + host,
                                      {}});
    hosts.push_back(host);
  };
  for (const ir::Partition& partition : placement->partitions) {
    for (const ir::BoundaryValue& input : partition.inputs) want(input.value, partition.instance);
  }
  for (ir::ValueId output : graph.outputs()) want(output, "host");
}

/// The same partitions, all at the first host.
ir::Placement on_one_host(const ir::Placement& placement) {
  ir::Placement moved{placement.partitions, {}};
  for (ir::Partition& partition : moved.partitions) {
    partition.instance = "host";
    for (auto* boundary : {&partition.inputs, &partition.outputs}) {
      for (ir::BoundaryValue& entry : *boundary) entry.format.space = "host";
    }
  }
  return moved;
}

TEST(RandomHosts, GiveTheBitsOfOneHost) {
  auto jit = codegen::Jit::create({});
  ASSERT_TRUE(jit) << jit.message();
  size_t conversions = 0;
  const uint64_t cases = 200 * static_cast<uint64_t>(rounds());
  for (uint64_t seed = 5'000'000; seed < 5'000'000 + cases && !HasFailure(); ++seed) {
    const testing::RandomCase random_case = testing::random_case(seed, 14);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + random_case.model);
    std::mt19937_64 random(seed);
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    const auto model = sema::load_model_text(sources, sources.add("random.ir", random_case.model), "", diags);
    ASSERT_TRUE(model) << diags.render();
    const ir::Graph& graph = model->graph;
    ir::Placement placement = place_randomly(graph, random);
    connect(graph, random, &placement);
    conversions += placement.conversions.size();
    std::vector<Tensor> inputs;
    for (ir::ValueId input : graph.inputs()) {
      const ir::TensorType& type = graph.value(input).type;
      inputs.push_back(runtime::random_tensor(type.dtype, type.shape, inputs.size()));
    }

    const auto one = plan::build_plan(graph, on_one_host(placement), targets_of(1, false), **jit, diags);
    ASSERT_TRUE(one) << diags.render();
    auto executor = runtime::Executor::load(one->plan, **jit, 1);
    ASSERT_TRUE(executor) << executor.message();
    const auto expected = (*executor)->run(inputs);
    ASSERT_TRUE(expected) << expected.message();

    const plan::PlanTargets targets = targets_of(kHosts, seed % 2 == 0);
    const auto whole = plan::build_plan(graph, placement, targets, **jit, diags);
    ASSERT_TRUE(whole) << diags.render();
    plan::test::LocalParts parts(plan::cut_by_host(*whole, targets), **jit, 1);
    ASSERT_EQ(parts.failure(), "");
    for (int run = 0; run < 3; ++run) {
      const auto got = parts.run(inputs);
      ASSERT_TRUE(got) << got.message();
      ASSERT_EQ(got->size(), expected->size());
      for (size_t i = 0; i < got->size(); ++i) EXPECT_TRUE(identical((*got)[i], (*expected)[i])) << "output " << i;
    }
  }
  EXPECT_GT(conversions, cases);
}

}  // namespace
}  // namespace collage
