// SPDX-License-Identifier: Apache-2.0
// Registered (`-r`) versus active: which backends take part, and with which attributes.
//
//     nothing else said          => those that run on this machine
//     -r npu.rules               => and the models of chips of this file
//     -r rules/ --simulated      => and all models of chips
//     -r rules/ --place a=npu    => and this model, which an option names, or a node of the model: `on npu`
//     -t npu                     => this one alone, whatever it is
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/target/code_target.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/place/candidates/candidates.h"
#include "compiler/plan/targets.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

struct Activation {
  place::ActiveBackend active;    ///< with the attributes that `-t` sets
  std::string absent;             ///< why it takes no part, or empty
  bool is_unnamed_model = false;  ///< it takes none because it is a model of a chip that nobody named
};

/// Which of the registered backends take part.
struct BackendRequest {
  std::vector<std::string> targets{};  ///< `npu`, `npu,lanes=16`; empty: all, but models of chips only as follows
  std::vector<std::string> files{};    ///< rule files that were given, not a folder of them: their models take part
  std::vector<std::string> named{};    ///< backends or devices that options or the model name: their models take part
  bool allows_simulated = false;       ///< all models of chips do
};

/// Which code of rule files may run: they are data otherwise, and reading them is harmless.
struct CodePermission {
  bool plugins = false;        ///< `runtime plugin`
  bool cost_programs = false;  ///< `cost exec`
  bool outside = false;        ///< plug-ins outside the folders of their rule files
};

/// Returns all registered backends, or those that `request.targets` name, in the order of registration. Rules whose
/// generator `code` or the processor refuses do not match.
/// A backend that this build cannot run, or whose code may not run, is absent: a line in the summary, an error only if
/// `targets` names it. So is a model of a chip that nobody named. Plug-ins of the others are loaded.
std::optional<std::vector<Activation>> activate(const ir::RuleSet& rules, const BackendRequest& request,
                                                support::Diagnostics& diags, const codegen::CodeTarget& code = {},
                                                const CodePermission& permission = {});

/// Whether the plug-in of a backend lies outside the folder of its rule file, by its name or because a link leads
/// there. One that is found in a folder of COLLAGE_PLUGIN_PATH does not: the user has named that.
bool has_plugin_outside(const ir::Backend& backend);

/// `--allow`: `f16,i8` for all backends, `npu=f16` for one.
bool allow_rounding(const std::vector<std::string>& options, std::vector<Activation>* activations,
                    support::Diagnostics& diags);

/// What plans can run on: all registered backends, since a written placement may name one that is not active, with the
/// attributes of the activations.
plan::PlanTargets plan_targets(const ir::RuleSet& rules, const std::vector<Activation>& activations, int threads);

}  // namespace collage::request
