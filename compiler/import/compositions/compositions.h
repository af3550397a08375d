// SPDX-License-Identifier: Apache-2.0
// Operators of the file that become several of the graph. `compositions.def` lists them, one row each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/compositions/composition.h"

namespace collage::import {

/// One row of `compositions.def`.
struct ComposedOp {
  std::string_view domain;
  std::string_view op;
  int first_opset;
  size_t least_operands;
  void (*write)(Composition&);
};

/// Finds the row for an operator of the standard in this opset, or of another domain. Returns null if there is none.
const ComposedOp* find_composition(std::string_view domain, std::string_view op, int opset);

/// Names of the operators of a domain, for suggestions.
std::vector<std::string> composed_ops(std::string_view domain);

/// Writes the node. Returns false after an error.
bool compose(const ComposedOp& row, PendingNode node, Emitter& emitter);

#define COMPOSITION(domain, op, first, least, function) void function(Composition& c);
namespace compositions {
#include "compiler/import/compositions/compositions.def"
}  // namespace compositions
#undef COMPOSITION
#undef MICROSOFT

}  // namespace collage::import
