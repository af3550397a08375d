// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize_search/host_run.h"

#include "compiler/program/plan_runner.h"

namespace collage::quantize_search {
namespace {

/// All nodes in one partition of the host.
ir::Placement host_placement(const ir::Graph& graph) {
  ir::Partition partition;
  partition.name = "p0";
  partition.backend = partition.instance = "host";
  partition.nodes = graph.node_ids();
  for (ir::ValueId value : ir::boundary_inputs(graph, partition.nodes)) {
    partition.inputs.push_back({value, ir::kHostPlain});
  }
  for (ir::ValueId value : ir::boundary_outputs(graph, partition.nodes)) {
    partition.outputs.push_back({value, ir::kHostPlain});
  }
  return {{std::move(partition)}, {}};
}

}  // namespace

bool run_on_host(const ir::Graph& graph, const compilation::Compilation& compilation, const Samples& samples,
                 const TakeOutputs& take, support::Diagnostics& diags) {
  std::optional<program::PlanRunner> runner =
      program::load_runner(graph, host_placement(graph), compilation.targets(), compilation.cache(), diags);
  if (!runner) return false;
  const runner::WorkScope work(compilation.listener(), runner::Work::Running);
  for (int64_t i = 0; i < samples.count(); ++i) {
    work.report(static_cast<size_t>(i), static_cast<size_t>(samples.count()));
    const std::vector<runtime::Tensor> inputs = samples.inputs(i);
    runtime::Result<std::vector<runtime::Tensor>> outputs = runner->executor->run(inputs);
    if (!outputs) return diags.error_at(support::Code::RunFailed, graph.name, "{}", outputs.message());
    take(i, inputs, *outputs);
  }
  return true;
}

}  // namespace collage::quantize_search
