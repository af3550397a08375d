// SPDX-License-Identifier: Apache-2.0
// `--diff-placements`: what differs between two placement files for one model.
#include "compiler/driver/commands/command.h"
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

}  // namespace

void diff_placements(Command& command) {
  const std::vector<std::string>& files = command.request.placement.diff;
  command.clock.time("compare plans", [&] {
    std::optional<NamedPlacement> a = follow(command, files[0]);
    if (!a) return;
    std::optional<NamedPlacement> b = follow(command, files[1]);
    if (b) command.print_or_write(print_placement_diff(command.compilation.graph(), *a, *b));
  });
}

}  // namespace collage::driver
