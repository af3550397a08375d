// SPDX-License-Identifier: Apache-2.0
// What rules may ask of the machine: `needs "onednn" >= "2.6"`, `needs npu`, `library_version`, `keeps_finite(y)`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/core/attributes.h"

namespace collage::match {

/// The driver fills it. Where there is none (tests in rule files, which must not depend on the machine), every need is
/// met and every condition on a library holds.
struct Environment {
  std::map<std::string, std::string, std::less<>> libraries;  ///< linked, with their versions: `2.6.3 isa 1023`
  std::map<std::string, int, std::less<>> backends;           ///< active, with their versions
  /// Why generated code does not use a generator that a rule names, or ""; empty: it uses all of them.
  std::function<std::string(std::string_view generator)> generator_refusal{};
  /// Whether an operator of a library makes NaN of finite numbers; empty: none does.
  std::function<bool(std::string_view library, std::string_view op, const runtime::AttrMap& attrs)> makes_nan{};
  bool keeps_special_values = false;  ///< --numerics=strict: what a `numerics` statement says to lose them is denied
};

/// Returns a number below, equal to or above zero if `a` is an older, the same or a newer version than `b`. A version
/// is numbers separated by dots; missing numbers are 0, and text after a blank is ignored. Returns nullopt if one is no
/// version.
std::optional<int> compare_versions(std::string_view a, std::string_view b);

/// Why the need is not met; empty if it is.
std::string unmet(const ir::Need& need, const Environment& environment);

}  // namespace collage::match
