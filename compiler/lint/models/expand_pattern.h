// SPDX-License-Identifier: Apache-2.0
// A pattern as the list of its forms: trees of operators without optionals and alternatives, one per way to choose.
//
//     Relu?(Conv(x, w, b?))   =>   Relu(Conv(x, w, b)), Relu(Conv(x, w, none)), Conv(x, w, b), Conv(x, w, none)
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::lint {

struct Form {
  enum class Kind { Value, Absent, Op };
  Kind kind = Kind::Value;
  bool is_const = false;
  std::vector<int> captures;  ///< all captures of this value
  std::vector<const ir::OpDef*> ops;
  std::vector<Form> operands;  ///< without trailing operands that are left out
  bool takes_rest = false;
};

/// Returns nullopt if there are too many, or if the pattern has an unsupported part.
std::optional<std::vector<Form>> forms_of(const ir::Pattern& pattern);

/// Forms of a rule with one pattern; nullopt for other rules.
std::optional<std::vector<Form>> forms_of(const ir::Rule& rule);

/// Captures that the form binds.
std::vector<int> bound_captures(const Form& form);

}  // namespace collage::lint
