// SPDX-License-Identifier: Apache-2.0
// Expressions as text in a canonical form: equal text means equal meaning. Identifies terms and compares the formulas
// of two rules.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::lint {

/// Values of attributes of the backend; an attribute without a value remains a name.
using Settings = std::map<std::string, runtime::AttrValue, std::less<>>;

/// One name per capture: two rules are compared by giving both the same names.
using CaptureNames = std::vector<std::string>;

CaptureNames names_of(const ir::Rule& rule);

/// `dim(x, 1) % 8 == 0` => `((dim(x,1)%8)==0)`
std::string text_of(const ir::Expr& expr, const CaptureNames& names, const Settings& settings = {});

/// The value of an expression that is the same for every match: literals, settings, and arithmetic on them; nothing
/// where it has none, or a double does not hold it exactly.
std::optional<double> constant_of(const ir::Expr& expr, const Settings& settings);

/// Returns whether the expression asks for a version, or for the machine. If nothing is known about the machine, every
/// such condition holds.
bool asks_outside(const ir::Expr& expr);

/// Collects the captures in the expression, except those that only `present()` uses.
void collect_captures(const ir::Expr& expr, std::vector<int>* captures);

}  // namespace collage::lint
