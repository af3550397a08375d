// SPDX-License-Identifier: Apache-2.0
// The candidates of a command: with the placement files that the request names.
#include <fmt/format.h>

#include "compiler/driver/command.h"
#include "compiler/request/placement_file.h"
#include "compiler/search/placement_search.h"

namespace collage::driver {
std::optional<ir::Placement> read_written(const Command& command, const std::string& path) {
  return path.empty() ? command.compilation.model().placement
                      : request::read_placement_for(command.compilation.model(), path, "--placement", command.sources,
                                                    command.diags);
}

std::optional<compilation::Candidates> read_candidates(Command& command) {
  return command.clock.time("candidates", [&]() -> std::optional<compilation::Candidates> {
    const request::PlacementRequest& request = command.request.placement;
    std::optional<ir::Placement> written = read_written(command, request.follow);
    if (!written) return std::nullopt;
    if (!request.consider.empty()) {
      std::optional<ir::Placement> offered = request::read_placement_for(
          command.compilation.model(), request.consider, "--candidate-placement", command.sources, command.diags);
      if (!offered) return std::nullopt;
      command.offered = std::move(*offered);
    }
    return command.compilation.find_candidates(std::move(*written), &command.offered, command.diags);
  });
}

runtime::Result<search::FoundPlacement> follow_candidate_placement(Command& command, const place::Strategy& strategy) {
  // The placement is only offered: that a constraint forbids it is no error.
  support::Diagnostics quiet(command.sources);
  std::optional<compilation::Candidates> followed =
      command.compilation.find_candidates(command.offered, nullptr, quiet);
  if (followed) {
    runtime::Result<search::FoundPlacement> found =
        search::PlacementSearch(command.compilation.search_input(*followed), strategy).find();
    if (found) found->problem = std::make_shared<const place::Problem>(std::move(followed->built.problem));
    return found;
  }
  if (quiet.records().empty()) return runtime::Status::error("");
  const support::DiagnosticRecord& first = quiet.records().front();
  return runtime::Status::error(first.where.empty() ? first.message
                                                    : fmt::format("{}: {}", first.where, first.message));
}

}  // namespace collage::driver
