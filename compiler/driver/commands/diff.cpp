// SPDX-License-Identifier: Apache-2.0
// `--diff-placements`: what differs between two placement files for one model.
#include "compiler/driver/commands/command.h"
#include "compiler/driver/compilation/report_of.h"
#include "compiler/driver/html_report/write_report.h"
#include "compiler/driver/report/json_text.h"
#include "compiler/driver/report/placement_diff.h"

namespace collage::driver {
namespace {

/// The placement that follows the file at `path`; nodes that it does not name are searched.
std::optional<NamedPlacement> follow(Command& command, const std::string& path) {
  std::optional<ir::Placement> written = read_written(command, path);
  if (!written) return std::nullopt;
  std::optional<Candidates> candidates =
      command.compilation.find_candidates(std::move(*written), nullptr, command.diags);
  if (!candidates) return std::nullopt;
  std::string why;
  std::optional<FoundPlacement> plan = find_placement(command.compilation.search_input(*candidates), {}, &why);
  if (plan) return NamedPlacement{path, std::move(*plan)};
  return command.diags.error_at(support::Code::NoPlan, path, "no placement was found: {}", why);
}

/// `--report`: both placements. Other backends are told of as though no file fixed anything. False after an error.
bool write_page(Command& command, NamedPlacement a, NamedPlacement b) {
  if (command.request.report.empty()) return true;
  Compilation& compilation = command.compilation;
  const std::optional<Candidates> candidates = compilation.find_candidates({}, nullptr, command.diags);
  if (!candidates) return false;
  const ir::Graph& graph = compilation.graph();
  Report report = report_of(compilation, *candidates, a.plan.placement, &a.plan, command.sources);
  ReportInput input{.compilation = compilation,
                    .candidates = *candidates,
                    .sources = command.sources,
                    .summary = model_object(graph),
                    .placements = {},
                    .findings = command.findings,
                    .difference = placement_diff_object(graph, a, b)};
  for (NamedPlacement* one : {&a, &b}) {
    one->plan.chosen.clear();  // candidates of another problem
    Report of_one = report_of_other(compilation, report, one->name, one->plan);
    input.placements.push_back({one->name, std::move(one->plan), std::move(of_one)});
  }
  return write_report(command.request.report, report_data(input), command.diags);
}

}  // namespace

void diff_placements(Command& command) {
  const std::vector<std::string>& files = command.request.placement.diff;
  command.clock.time("compare plans", [&] {
    std::optional<NamedPlacement> a = follow(command, files[0]);
    if (!a) return;
    std::optional<NamedPlacement> b = follow(command, files[1]);
    if (!b || !command.print_or_write(print_placement_diff(command.compilation.graph(), *a, *b))) return;
    write_page(command, std::move(*a), std::move(*b));
  });
}

}  // namespace collage::driver
