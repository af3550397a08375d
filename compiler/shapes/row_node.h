// SPDX-License-Identifier: Apache-2.0
// A node as the rules of row_rules.cpp see it: in two graphs that differ by the size of one dimension.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/ops/attributes.h"
#include "compiler/shapes/row_independence.h"
#include "runtime/support/ids.h"

namespace collage::shapes {

/// What is known of a value (row_independence.h).
struct RowState {
  enum class Kind { Same, Rows, Sized };
  Kind kind = Kind::Same;
  int axis = -1;         ///< Rows
  bool repeats = false;  ///< Rows: those beyond the smaller size repeat the ones of the last that is kept

  bool is_same() const { return kind == Kind::Same; }
  bool has_rows() const { return kind == Kind::Rows; }
};

class RowNode {
 public:
  /// Rules write the results into `states`, which has the operands.
  RowNode(const ir::Graph& exact, const ir::Graph& bucket, ir::NodeId id, const RowSizes& sizes,
          support::Table<ir::ValueId, RowState>* states)
      : exact_(exact), bucket_(bucket), id_(id), sizes_(sizes), states_(*states) {}

  const ir::Node& node() const { return bucket_.node(id_); }
  ir::AttrView attrs() const { return ir::attrs_of(node()); }
  size_t operands() const { return node().inputs.size(); }
  bool has(size_t i) const { return i < operands() && node().inputs[i].is_valid(); }
  bool has_result(size_t i) const { return i < node().outputs.size() && node().outputs[i].is_valid(); }

  /// The state of an operand; an operand that is left out has an empty state.
  RowState state(size_t i) const { return has(i) ? states_[node().inputs[i]] : RowState(); }
  bool has_rows(size_t i) const { return state(i).has_rows(); }
  int axis(size_t i) const { return state(i).axis; }
  bool repeats(size_t i) const { return state(i).repeats; }
  /// No operand but these has rows.
  bool only(std::initializer_list<size_t> operands) const;

  ir::DType dtype(size_t i) const { return bucket_.value(node().inputs[i]).type.dtype; }
  const ir::Shape& shape(size_t i) const { return bucket_.value(node().inputs[i]).type.shape; }
  const ir::Shape& exact_shape(size_t i) const { return exact_.value(node().inputs[i]).type.shape; }
  const ir::Shape& result_shape(size_t i) const { return bucket_.value(node().outputs[i]).type.shape; }
  const ir::Shape& exact_result_shape(size_t i) const { return exact_.value(node().outputs[i]).type.shape; }
  int rank(size_t i) const { return static_cast<int>(shape(i).size()); }
  int result_rank(size_t i) const { return static_cast<int>(result_shape(i).size()); }

  /// A constant operand as whole numbers in the larger and in the smaller graph; nullopt where it is none.
  std::optional<std::vector<int64_t>> ints(size_t i) const { return ints_in(bucket_, i); }
  std::optional<std::vector<int64_t>> exact_ints(size_t i) const { return ints_in(exact_, i); }
  /// The elements of a constant operand; null where it is none.
  const ir::Tensor* constant(size_t i) const;

  /// The attribute `axis`, from 0 on.
  int axis_attr(int rank) const;

  /// The result has as many rows along `axis` as operand `from` has along its own. False where it has not.
  bool give_rows(size_t result, int axis, size_t from, bool repeats);
  /// All results have them, along the same axis.
  bool give_all(int axis, size_t from, bool repeats);
  /// The result has rows along the only axis in which its shapes differ. False where there is none such.
  bool give_differing(size_t result, bool repeats);
  /// The result, of any rank, has the elements of operand 0 in their order.
  bool give_reshaped(size_t result);
  void give(size_t result, RowState state) { states_[node().outputs[result]] = state; }

 private:
  std::optional<std::vector<int64_t>> ints_in(const ir::Graph& graph, size_t i) const;

  const ir::Graph& exact_;
  const ir::Graph& bucket_;
  ir::NodeId id_;
  RowSizes sizes_;
  support::Table<ir::ValueId, RowState>& states_;
};

/// The only axis in which two shapes differ, the first being the smaller there; -1 where there is none such.
int differing_axis(const ir::Shape& exact, const ir::Shape& bucket);

/// Sets the states of the results by the rule of the node's operator. False where rows are not kept apart.
bool keeps_rows(RowNode& node);

}  // namespace collage::shapes
