// SPDX-License-Identifier: Apache-2.0
// Patterns of the rule language after sema: trees over operators whose leaves are values. A name used twice must bind
// the same value, so patterns describe DAGs. Names of `def`s and classes are resolved.
#pragma once

#include <vector>

#include "compiler/ir/ops/op_def.h"
#include "runtime/support/span.h"

namespace collage::ir {

struct Pattern {
  enum class Kind {
    Value,         ///< any value: `x`, `w: const`, `_`
    Op,            ///< one operator of `ops`, operands as given
    Optional,      ///< `f?(e, …)`: choices[0] is `f(e, …)`, choices[1] is `e`
    Alternatives,  ///< `A | B`: one of `choices`
    Repeat,  ///< `f{1, 3}(e, …)`: at_least … at_most operators of `ops`, each the first operand of the next; the
             ///< innermost reads `e`, operands[0]. Its other operands are those of each.
    Via      ///< `via f{1, 3}(e)`: at_least … at_most operators of `ops`, each read by the next; operands[0] is `e`
  };
  Kind kind = Kind::Value;
  int capture = -1;               ///< index into Rule::captures, -1 unnamed. Op: the node; Value: the value.
                                  ///< Others: the node or value that was chosen.
  bool is_const = false;          ///< Value: must be a constant
  bool may_be_absent = false;     ///< Value: `b?`, an operand that the node may lack
  bool is_absent = false;         ///< Value: the operand must be left out (operands not named in the pattern)
  std::vector<const OpDef*> ops;  ///< Op: `Relu`, or several: `(Relu | Sigmoid)(x)`; Repeat, Via
  std::vector<Pattern> operands;  ///< Op, Repeat, Via
  bool takes_rest = false;        ///< Op, Repeat: `..` after the operands: any further ones, of any kind
  bool last_is_each = false;      ///< Op: `each P`: one or more operands, all as operands.back()
  int rest = -1;                  ///< Op: the capture of `rest = ..` and `rest = each P`
  std::vector<int> results;       ///< Op: `(a, _) = Split(x)`: captures, -1 unnamed; it has no others. Empty: any.
  std::vector<Pattern> choices;
  int at_least = 0;
  int at_most = 0;
  support::Span span;
};

/// Captures that every derivation of the pattern binds, ascending.
std::vector<int> certain_captures(const Pattern& pattern);

/// Returns the largest number of operators between the pattern's root and a place that binds the capture (0: the root
/// itself); -1 if no place binds it.
int depth_of_capture(const Pattern& pattern, int capture);

}  // namespace collage::ir
