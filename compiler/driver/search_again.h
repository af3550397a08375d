// SPDX-License-Identifier: Apache-2.0
// What the compiler does about a lost device: it searches for a placement without it, and builds that. Matches,
// measured costs and compiled code are kept, and the partitions that need no lost device are among the candidates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/command.h"
#include "runtime/exec/recovery.h"

namespace collage::driver {

class SearchAgain : public runtime::Replanner {
 public:
  /// All of it outlives the replanner. Where no placement is found, the plan of `program` is moved as it is.
  SearchAgain(Command& command, const ir::Placement& placement, const program::Program& program,
              runtime::LoadOptions options);
  runtime::Result<std::shared_ptr<const runtime::Program>> replan(const std::vector<std::string>& lost) override;

 private:
  std::optional<ir::Placement> search(const std::vector<std::string>& lost, bool keeps_places);

  Command& command_;
  const ir::Placement& placement_;
  runtime::LoadOptions options_;
  runtime::PlanMover mover_;
};

}  // namespace collage::driver
