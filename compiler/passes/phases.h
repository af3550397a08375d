// SPDX-License-Identifier: Apache-2.0
// Which passes and rewrites run, and in which order: the phases of all active backends put together.
//
//     backend a { phase pre { strip after fold_constants  never eliminate_dead } … }
//     backend b { … }                           // no phase: asks for all vetted passes, and for its rewrites behind
//     them
//     =>  fold_constants, a.strip, fold_batch_norm, and the rewrites of b
//
// A pass runs once, however many ask for it. `after` comes first; then what is listed, by backend and place in its
// list; then the vetted passes in the order of passes.def; then rewrites of backends without a phase. `never` takes a
// pass out that nobody lists.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/support/diagnostic.h"

namespace collage::passes {

struct PhaseStep {
  std::string name;            ///< `fold_constants`, `npu.strip`
  const Pass* pass = nullptr;  ///< or a rewrite:
  const ir::Backend* backend = nullptr;
  const ir::Rewrite* rewrite = nullptr;
  std::vector<std::string> asked_by;  ///< backends; empty: it runs where nothing else is said
};

struct Schedule {
  std::vector<PhaseStep> steps;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< pass, and the backend that says `never`
};

/// What is wrong with the phases of each backend alone: names of no pass, circles. Warns of rewrites that never run.
bool check_phases(const ir::RuleSet& rules, support::Diagnostics& diags);

/// `phase pre` of the active backends, in the order of their registration. Expects phases that were checked. Nothing,
/// and errors that name both sides, where they contradict each other.
std::optional<Schedule> compose_pre_phase(const std::vector<const ir::Backend*>& active, support::Diagnostics& diags);

/// `phase post` of one backend.
std::optional<Schedule> compose_post_phase(const ir::Backend& backend, support::Diagnostics& diags);

/// A table for `--print-passes`.
std::string to_string(const Schedule& schedule);

}  // namespace collage::passes
