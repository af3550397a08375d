// SPDX-License-Identifier: Apache-2.0
// Numbers of declarations in rule files: whole ones, and those with a unit, within what devices can have.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/rules/expr.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

inline constexpr int kMostInstances = 1024;  ///< of a device, and hosts of a cluster

/// A kind of number that devices, hosts and links state, and what it can be.
struct QuantityRow {
  std::string_view what;
  ir::Unit unit = ir::Unit::None;
  std::string_view example;
  double least = 0;  ///< below this it must be 0, if that is allowed
  double most = 0;
  std::string_view limits;  ///< both, in words
  bool allows_zero = false;
};

// No plan with costs near the largest ones is of use, and sums of them fit the search's 64 bits.
inline constexpr QuantityRow kMemory{"the memory", ir::Unit::Bytes, "8 MiB", 1, 0x1p62, "from 1 B to 2^62 B"};

/// Returns a whole number from `least` to `most`, or reports `code`.
std::optional<int> whole(const syntax::NumberAst& ast, int least, int most, std::string_view what, support::Code code,
                         support::Diagnostics& diags);

/// Returns a literal of the row's unit, within its limits.
std::optional<double> quantity(const syntax::NumberAst& ast, const QuantityRow& row, support::Diagnostics& diags);

/// Refuses more than one statement of a kind.
bool once(const std::vector<support::Span>& spans, std::string_view what, support::Diagnostics& diags);

template <typename T, typename F>
std::vector<support::Span> spans_of(const std::vector<T>& items, F span) {
  std::vector<support::Span> spans;
  for (const T& item : items) spans.push_back(span(item));
  return spans;
}

}  // namespace collage::sema
