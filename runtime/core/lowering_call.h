// SPDX-License-Identifier: Apache-2.0
// The request of a rule's `lower` to a runtime, for one match: plain data, part of a Plan.
//
//     rule mm { match y = MatMul(a, b)  lower "matmul"(a, b, round = "bf16", lanes) }
//     => {rule "mm", kind "sim", symbol "matmul", args a = slot 3, b = slot 4, round = "bf16", lanes = 16, results slot
//     5}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/attributes.h"
#include "runtime/core/storage.h"

namespace collage::runtime {

/// A value, or a number, string or list. A slot is a BufferId in a DeviceStep, an index into LibraryProgram::values in
/// a program.
struct LoweringArg {
  std::string name;
  int slot = -1;
  AttrValue value = int64_t{0};  ///< where `slot` is -1

  bool is_slot() const { return slot >= 0; }
};

struct LoweringCall {
  std::string rule;
  std::string kind;  ///< the word after `lower` in rule files: `sim`
  std::string symbol;
  std::vector<LoweringArg> args;
  std::vector<int> ops;      ///< indices of the step's or program's operators that it covers
  std::vector<int> results;  ///< slots
  /// F16 or BF16: floats are rounded to it before and after each operator. Operators without a float result are as they
  /// are.
  std::optional<StorageType> precision{};

  /// The argument's text; empty if there is no such argument or it is not a text.
  std::string text(std::string_view name) const {
    for (const LoweringArg& arg : args) {
      const auto* held = std::get_if<std::string>(&arg.value);
      if (arg.name == name && !arg.is_slot()) return held != nullptr ? *held : "";
    }
    return "";
  }
};

/// `sim "matmul"(a = b3, b = b4, round = "bf16") -> b5`; a slot is `prefix` and its number.
std::string to_string(const LoweringCall& call, std::string_view prefix);

}  // namespace collage::runtime
