// SPDX-License-Identifier: Apache-2.0
// Which passes and rewrites run, and in which order: the phases of all active backends put together.
//
//     backend a { phase pre { strip after fold_constants  never eliminate_dead } … }
//     backend b { … }      // no phase: asks for its rewrites, too
//     =>  fold_constants, a.strip, fold_batch_norm, and the rewrites of b
//
// A backend asks for all passes of passes.def unless its phase is `only` what it lists.
// A pass runs once, however many backends ask for it. The order respects every `after`; otherwise listed steps come
// first, by backend and place in its list, then the passes of passes.def in their order, then the rewrites of backends
// without a phase. `never` removes a pass that no phase lists.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/passes/pass_manager.h"
#include "runtime/support/diagnostic.h"

namespace collage::passes {

struct PhaseStep {
  std::string name;            ///< `fold_constants`, `npu.strip`
  const Pass* pass = nullptr;  ///< or a rewrite:
  const ir::Backend* backend = nullptr;
  const ir::Rewrite* rewrite = nullptr;
  std::vector<std::string> asked_by;  ///< backends; empty: it runs by default
};

struct Schedule {
  std::vector<PhaseStep> steps;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< pass, and the backend that says `never`
};

/// Checks the phases of each backend alone: unknown passes, cycles. Warns about rewrites that never run.
bool check_phases(const ir::RuleSet& rules, support::Diagnostics& diags);

/// Composes `phase pre` of the active backends, in the order of their registration. Expects checked phases. Returns
/// nullopt, after errors that name both sides, if they contradict each other.
std::optional<Schedule> compose_pre_phase(const std::vector<const ir::Backend*>& active, support::Diagnostics& diags);

/// Composes `phase post` of one backend.
std::optional<Schedule> compose_post_phase(const ir::Backend& backend, support::Diagnostics& diags);

/// A table for `--emit=passes`.
std::string to_string(const Schedule& schedule);

}  // namespace collage::passes
