// SPDX-License-Identifier: Apache-2.0
// Which passes and rewrites run, and in which order: the phases of all active backends put together.
//
//     backend a { phase pre { fold_constants, strip } … }
//     backend b { … }      // no phase: asks for its rewrites, too
//     =>  fold_constants, a.strip, the other passes of passes.def in their order, then the rewrites of b
//
// A step runs once, however many backends list it. Listed steps come first, by backend and place in its list.
#pragma once

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

/// In the order in which they run.
using Schedule = std::vector<PhaseStep>;

/// Checks the names in the phases of each backend. Warns about rewrites that never run.
bool check_phases(const ir::RuleSet& rules, support::Diagnostics& diags);

/// Composes `phase pre` of the active backends, in the order of their registration. Expects checked phases.
Schedule compose_pre_phase(const std::vector<const ir::Backend*>& active);

/// Composes `phase post` of one backend. Expects checked phases.
Schedule compose_post_phase(const ir::Backend& backend);

/// A table for `--emit=passes`.
std::string to_string(const Schedule& schedule);

}  // namespace collage::passes
