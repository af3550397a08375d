// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/search_again.h"

#include <algorithm>

namespace collage::driver {
namespace {

/// The partitions that need no lost device. Conversions are found anew.
ir::Placement kept_of(const ir::Placement& placement, const std::vector<std::string>& lost) {
  ir::Placement kept{placement.partitions, {}};
  std::erase_if(kept.partitions, [&](const ir::Partition& partition) {
    return std::any_of(lost.begin(), lost.end(),
                       [&](const std::string& device) { return ir::runs_on(partition.instance, device); });
  });
  return kept;
}

}  // namespace

SearchAgain::SearchAgain(Command& command, const ir::Placement& placement, const program::Program& program,
                         runtime::LoadOptions options)
    : command_(command),
      placement_(placement),
      options_(std::move(options)),
      mover_(program.built.plan, program.jit, command.compilation.settings().threads, options_) {}

/// What is lost counts for more than what the user wants placed there: without `keeps_places` that is left out.
std::optional<ir::Placement> SearchAgain::search(const std::vector<std::string>& lost, bool keeps_places) {
  // That it is not possible is no error of the user's.
  support::Diagnostics quiet(command_.sources);
  compilation::Compilation& compilation = command_.compilation;
  if (!compilation.leave_out(lost, keeps_places, quiet)) return std::nullopt;
  const std::optional<ir::Placement> written = read_written(command_, command_.request.placement.follow);
  if (!written) return std::nullopt;
  const ir::Placement offered = kept_of(placement_, lost);
  const std::optional<compilation::Candidates> candidates =
      compilation.find_candidates(kept_of(*written, lost), &offered, quiet);
  if (!candidates) return std::nullopt;
  place::Strategy strategy = compilation.strategy();
  if (place::is_measured(strategy)) strategy = place::Strategy{};
  std::optional<search::FoundPlacement> found = compilation.find_placement(*candidates, strategy, quiet);
  if (!found) return std::nullopt;
  return std::move(found->placement);
}

runtime::Result<std::shared_ptr<const runtime::Program>> SearchAgain::replan(const std::vector<std::string>& lost) {
  std::optional<ir::Placement> placement = search(lost, true);
  if (!placement) placement = search(lost, false);
  if (!placement) return mover_.replan(lost);
  support::Diagnostics quiet(command_.sources);
  program::ProgramOptions options;
  options.cache = command_.compilation.cache();
  std::optional<program::Program> program =
      program::build_program(command_.compilation.graph(), *placement, command_.compilation.targets(), options, quiet);
  if (!program) return mover_.replan(lost);
  return runtime::Program::load(std::move(program->built.plan), std::move(program->jit),
                                command_.compilation.settings().threads, options_);
}

}  // namespace collage::driver
