// SPDX-License-Identifier: Apache-2.0
// Looks for a model that a rule takes and that its kernel, by its `semantics`, computes otherwise: models of the rule's
// tests, generated ones, and both with other attributes. That none is found proves nothing.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/rules/rule_set.h"

namespace collage::lint {

struct MeaningMisfit {
  ir::Graph model;
  std::string message;  ///< what differs, or why the kernel cannot compute it
};

/// Expects a kernel with semantics. `backend` gives attributes and denials; it need not hold the rule.
std::optional<MeaningMisfit> find_meaning_misfit(const ir::Backend& backend, const ir::Rule& rule,
                                                 const ir::Kernel& kernel);

}  // namespace collage::lint
