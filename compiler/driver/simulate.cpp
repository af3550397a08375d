// SPDX-License-Identifier: Apache-2.0
// `simulate`: the placement as always, and its plan on the clock of the event model alone.
#include "compiler/driver/command.h"
#include "compiler/plan/build_plan.h"
#include "compiler/report/simulate/print_simulation.h"
#include "compiler/request/written_partitions.h"
#include "compiler/search/memory_text.h"
#include "runtime/runner/trace.h"

namespace collage::driver {
namespace {

using support::Code;

/// A placement, and what the report says of the search for it.
struct Simulated {
  ir::Placement placement;
  report::SimulatedSearch search;
};

std::optional<Simulated> place_for_simulation(const Command& command, const compilation::Candidates& candidates) {
  const compilation::Compilation& compilation = command.compilation;
  const ir::Placement& written = compilation.model().placement;
  if (request::is_fully_placed(compilation.graph(), written))
    return Simulated{request::complete_costs(written, candidates.built), {}};
  std::optional<search::FoundPlacement> found =
      compilation.find_placement(candidates, compilation.strategy(), command.diags,
                                 /*log=*/nullptr, /*compiles=*/false);
  if (!found) return std::nullopt;
  if (!found->exceeded.empty()) {
    command.diags.warning_at(Code::LimitExceeded, "simulate", "{}", search::excess_text(found->exceeded));
  }
  report::SimulatedSearch search{compilation.settings().strategy, found->seconds, human(found->predicted), 0,
                                 found->optimal};
  search.gap = place::gap(found->predicted, found->bound).value_or(0);
  return Simulated{std::move(found->placement), std::move(search)};
}

/// Writes `--trace`. Returns what `trace` adds to the report, nullopt after an error.
std::optional<std::string> timeline(const Command& command, const runtime::Plan& plan) {
  const runner::TraceRequest& request = command.request.trace;
  if (!request.is_asked()) return "";
  const runner::Trace trace = runner::predicted_trace(plan);
  if (!runner::write_trace(request, trace, command.diags)) return std::nullopt;
  return request.prints ? runner::print(trace) : "";
}

}  // namespace

void simulate(Command& command) {
  const compilation::Compilation& compilation = command.compilation;
  if (place::is_measured(compilation.strategy())) {
    command.diags.error_at(Code::BadOption, "simulate", "`{}` times plans, and nothing runs here",
                           compilation.settings().strategy);
    return;
  }
  std::optional<compilation::Candidates> candidates = read_candidates(command);
  if (!candidates) return;
  auto simulated = command.clock.time("search", [&] { return place_for_simulation(command, *candidates); });
  if (!simulated || !save_placement(command, simulated->placement)) return;
  // Requests in flight share queues, so that the steps of each have to overlap.
  const bool is_stream = compilation.settings().objective->is_stream || command.request.in_flight > 0;
  std::optional<plan::PlanTargets> overlapped;
  if (is_stream && !compilation.targets().is_concurrent) {
    overlapped = compilation.targets();
    overlapped->is_concurrent = true;
  }
  const plan::PlanTargets& targets = overlapped ? *overlapped : compilation.targets();
  auto plan = command.clock.time(
      "plan", [&] { return plan::outline_plan(compilation.graph(), simulated->placement, targets); });
  if (!plan) {
    command.diags.error_at(Code::NoPlacement, "simulate",
                           "the placement has no plan: a value is where nothing puts it, "
                           "or a device has no room");
    return;
  }
  const report::SimulateOptions options{targets.devices.size(), is_stream, command.request.in_flight};
  const report::Simulation simulation = simulate(*plan, options);
  const ir::Graph& graph = compilation.graph();
  const auto steps = timeline(command, *plan);
  if (!steps) return;
  command.answer(report::simulation_text(graph, simulation, simulated->search) + *steps,
                 [&] { return report::simulation_json(graph, simulation, simulated->search); });
}

}  // namespace collage::driver
