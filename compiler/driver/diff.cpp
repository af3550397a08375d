// SPDX-License-Identifier: Apache-2.0
// `diff`: what differs between two placement files for one model.
#include "compiler/compilation/report_of.h"
#include "compiler/driver/command.h"
#include "compiler/page/write_report.h"
#include "compiler/report/json_text.h"
#include "compiler/report/placement_diff.h"
#include "compiler/search/placement_search.h"

namespace collage::driver {
namespace {

struct Followed {
  report::NamedPlacement named;
  page::GivenPlaces given;
};

/// The placement that follows the file at `path`; nodes that it does not name are searched.
std::optional<Followed> follow(Command& command, const std::string& path) {
  std::optional<ir::Placement> written = read_written(command, path);
  if (!written) return std::nullopt;
  std::optional<compilation::Candidates> candidates =
      command.compilation.find_candidates(std::move(*written), nullptr, command.diags);
  if (!candidates) return std::nullopt;
  runtime::Result<search::FoundPlacement> found =
      search::PlacementSearch(command.compilation.search_input(*candidates)).find();
  if (found) return Followed{{path, std::move(*found)}, page::given_places(path, candidates->written)};
  return command.diags.error_at(support::Code::NoPlacement, path, "no placement was found: {}", found.message());
}

/// `--report`: both placements. Other backends are told of as though no file fixed anything. False after an error.
bool write_page(Command& command, Followed a, Followed b) {
  if (command.request.report.empty()) return true;
  compilation::Compilation& compilation = command.compilation;
  const std::optional<compilation::Candidates> candidates = compilation.find_candidates({}, nullptr, command.diags);
  if (!candidates) return false;
  const ir::Graph& graph = compilation.graph();
  const search::FoundPlacement& first = a.named.found;
  report::Report report = compilation::report_of(compilation, *candidates, first.placement, &first, command.sources);
  page::ReportInput input{.compilation = compilation,
                          .candidates = *candidates,
                          .sources = command.sources,
                          .summary = report::model_object(graph),
                          .placements = {},
                          .findings = command.findings,
                          .difference = report::placement_diff_object(graph, a.named, b.named)};
  for (Followed* one : {&a, &b}) {
    report::NamedPlacement& named = one->named;
    named.found.chosen.clear();  // candidates of another problem
    report::Report of_one = compilation::report_of_other(compilation, report, named.name, named.found);
    input.placements.push_back({named.name, std::move(named.found), std::move(of_one), std::move(one->given)});
  }
  return page::write_report(command.request.report, page::report_data(input), command.diags);
}

}  // namespace

void diff_placements(Command& command) {
  const std::vector<std::string>& files = command.request.placement.diff;
  command.clock.time("compare plans", [&] {
    std::optional<Followed> a = follow(command, files[0]);
    if (!a) return;
    std::optional<Followed> b = follow(command, files[1]);
    if (!b) return;
    const std::string text = report::print_placement_diff(command.compilation.graph(), a->named, b->named);
    if (!command.print_or_write(text)) return;
    write_page(command, std::move(*a), std::move(*b));
  });
}

}  // namespace collage::driver
