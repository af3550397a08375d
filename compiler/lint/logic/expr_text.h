// SPDX-License-Identifier: Apache-2.0
// Expressions as text in one canonical form: equal text, equal meaning. Used to tell terms apart and to compare the
// formulas of two rules.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rule_set.h"

namespace collage::lint {

/// Values that stand for attributes of the backend; one that is not there stays a name.
using Settings = std::map<std::string, runtime::AttrValue, std::less<>>;

/// Names of captures, one each: two rules are compared by giving both the same names.
using CaptureNames = std::vector<std::string>;

CaptureNames names_of(const ir::Rule& rule);

/// `dim(x, 1) % 8 == 0` => `((dim(x,1)%8)==0)`
std::string text_of(const ir::Expr& expr, const CaptureNames& names, const Settings& settings = {});

/// The number that the expression is whatever the match: literals, settings, and arithmetic on them.
std::optional<double> constant_of(const ir::Expr& expr, const Settings& settings);

/// Does it ask for a version? Where nothing is known of the machine, every condition on one holds.
bool asks_machine(const ir::Expr& expr);

/// Captures in it; those that only `present()` asks about do not count.
void collect_captures(const ir::Expr& expr, std::vector<int>* captures);

}  // namespace collage::lint
