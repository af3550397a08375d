// SPDX-License-Identifier: Apache-2.0
// Patterns of the rule language after sema: trees over operators whose leaves are values. A name used twice must bind
// the same value, so patterns describe DAGs.
#pragma once

#include <vector>

#include "compiler/ir/op_def.h"
#include "compiler/support/span.h"

namespace collage::ir {

struct Pattern {
  enum class Kind {
    Value,        ///< any value: `x`, `w: const`, `_`
    Op,           ///< one operator of `ops`, operands as given
    Optional,     ///< `f?(e, …)`: choices[0] is `f(e, …)`, choices[1] is `e`
    Alternatives  ///< `A | B`: one of `choices`
  };
  Kind kind = Kind::Value;
  int capture = -1;               ///< index into Rule::captures, -1 unnamed. Op: the node; Value: the value.
                                  ///< Optional, Alternatives: whatever node or value was chosen.
  bool is_const = false;          ///< Value: must be a constant
  bool may_be_absent = false;     ///< Value: `b?`, an operand that the node may lack
  bool is_absent = false;         ///< Value: the operand must be left out (operands not named in the pattern)
  std::vector<const OpDef*> ops;  ///< Op: `Relu`, or several: `(Relu | Sigmoid)(x)`
  std::vector<Pattern> operands;  ///< Op
  bool takes_rest = false;        ///< Op: `..` after the operands: any further ones, of any kind
  std::vector<Pattern> choices;
  support::Span span;
};

}  // namespace collage::ir
