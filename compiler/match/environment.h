// SPDX-License-Identifier: Apache-2.0
// What rules may ask of the machine: `needs "onednn" >= "2.6"`, `needs npu`, `library_version`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/rule_set.h"

namespace collage::match {

/// The driver fills it. Where there is none (tests in rule files, which must not depend on the machine), every need is
/// met and every condition on a library's version holds.
struct Environment {
  std::map<std::string, std::string, std::less<>> libraries;  ///< linked, with their versions: `2.6.3 isa 1023`
  std::map<std::string, int, std::less<>> backends;           ///< active, with their versions
};

/// Below, equal or above zero as `a` is an older, the same or a newer version than `b`. Numbers with dots between; what
/// lacks a number has 0 there, and text behind a blank does not count. Nothing if one is no version.
std::optional<int> compare_versions(std::string_view a, std::string_view b);

/// Why the need is not met; empty if it is.
std::string unmet(const ir::Need& need, const Environment& environment);

}  // namespace collage::match
