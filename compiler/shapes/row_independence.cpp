// SPDX-License-Identifier: Apache-2.0
#include "compiler/shapes/row_independence.h"

#include <fmt/format.h>

#include <cstring>

#include "compiler/ir/ops/op_def.h"
#include "compiler/shapes/row_node.h"

namespace collage::shapes {
namespace {

/// The first elements of `bucket` along the axis are those of `exact`.
bool begins_with(const ir::Tensor& bucket, const ir::Tensor& exact, size_t axis) {
  const ir::Shape& shape = exact.shape();
  size_t outer = 1, slice = size_of(exact.dtype());
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(shape[d]);
  for (size_t d = axis + 1; d < shape.size(); ++d) slice *= static_cast<size_t>(shape[d]);
  const size_t rows = static_cast<size_t>(shape[axis]) * slice;
  const size_t of_bucket = static_cast<size_t>(bucket.shape()[axis]) * slice;
  for (size_t i = 0; i < outer; ++i) {
    if (std::memcmp(bucket.data() + i * of_bucket, exact.data() + i * rows, rows) != 0) return false;
  }
  return true;
}

/// Slices beyond the first `kept` repeat those of the last `step` before them.
bool goes_on(const ir::Tensor& tensor, size_t axis, size_t kept, size_t step) {
  const ir::Shape& shape = tensor.shape();
  size_t outer = 1, slice = size_of(tensor.dtype());
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(shape[d]);
  for (size_t d = axis + 1; d < shape.size(); ++d) slice *= static_cast<size_t>(shape[d]);
  const auto rows = static_cast<size_t>(shape[axis]);
  for (size_t i = 0; i < outer; ++i) {
    const std::byte* first = tensor.data() + i * rows * slice;
    for (size_t row = kept; row < rows; ++row) {
      if (std::memcmp(first + row * slice, first + (row - step) * slice, slice) != 0) return false;
    }
  }
  return true;
}

bool are_equal(const ir::Tensor& a, const ir::Tensor& b) {
  return (a.data() == b.data() && a.shape() == b.shape() && a.dtype() == b.dtype()) || identical(a, b);
}

RowState state_of(const ir::Tensor& exact, const ir::Tensor& bucket, const RowSizes& sizes) {
  if (are_equal(exact, bucket)) return {};
  const int axis = differing_axis(exact.shape(), bucket.shape());
  if (axis < 0 || exact.dtype() != bucket.dtype()) return {RowState::Kind::Sized};
  const auto at = static_cast<size_t>(axis);
  if (!begins_with(bucket, exact, at)) return {RowState::Kind::Sized};
  const int64_t rows = exact.shape()[at], step = rows / sizes.exact;
  const bool is_multiple = rows % sizes.exact == 0 && bucket.shape()[at] == step * sizes.bucket;
  const bool repeats = is_multiple && goes_on(bucket, at, static_cast<size_t>(rows), static_cast<size_t>(step));
  return {RowState::Kind::Rows, axis, repeats};
}

class Prover {
 public:
  Prover(const ir::Graph& exact, const ir::Graph& bucket, const RowSizes& sizes)
      : exact_(exact), bucket_(bucket), sizes_(sizes), states_(bucket.value_count()) {}

  RowProof prove(const std::vector<int>& axes) {
    RowProof proof;
    proof.obstacle = compare_graphs();
    if (proof.holds()) proof.obstacle = begin(axes, &proof);
    for (ir::NodeId id : bucket_.node_ids()) {
      if (proof.holds()) proof.obstacle = pass(id);
    }
    if (proof.holds()) proof.obstacle = end(&proof);
    return proof;
  }

 private:
  std::string compare_graphs() const {
    static const std::string kOther = "the model has other nodes for another size";
    if (exact_.node_count() != bucket_.node_count() || exact_.value_count() != bucket_.value_count() ||
        exact_.inputs() != bucket_.inputs() || exact_.outputs() != bucket_.outputs()) {
      return kOther;
    }
    for (ir::ValueId id : bucket_.value_ids()) {
      const ir::Value &a = exact_.value(id), &b = bucket_.value(id);
      if (a.is_constant() != b.is_constant() || a.type.dtype != b.type.dtype || a.is_input != b.is_input) return kOther;
    }
    for (ir::NodeId id : bucket_.node_ids()) {
      const ir::Node &a = exact_.node(id), &b = bucket_.node(id);
      if (a.op != b.op || a.inputs != b.inputs || a.outputs != b.outputs) return kOther;
      if (!(a.attrs == b.attrs)) return about(id, "has attributes that follow from its size");
    }
    return "";
  }

  /// The states of inputs and constants.
  std::string begin(const std::vector<int>& axes, RowProof* proof) {
    for (size_t i = 0; i < bucket_.inputs().size(); ++i) {
      const ir::ValueId id = bucket_.inputs()[i];
      const ir::Value& value = bucket_.value(id);
      const int axis = i < axes.size() ? axes[i] : -1;
      const int differing = differing_axis(exact_.value(id).type.shape, value.type.shape);
      const bool is_same = exact_.value(id).type == value.type;
      if (is_same ? axis >= 0 : (differing < 0 || differing != axis)) return "input `" + value.name + "` has it twice";
      proof->inputs.push_back({axis, 1});
      if (axis >= 0) states_[id] = {RowState::Kind::Rows, axis, true};
    }
    for (ir::ValueId id : bucket_.value_ids()) {
      const ir::Value& value = bucket_.value(id);
      if (value.is_constant()) {
        states_[id] = state_of(exact_.value(id).constant->data, value.constant->data, sizes_);
      }
    }
    return "";
  }

  /// The states of a node's results.
  std::string pass(ir::NodeId id) {
    const ir::Node& node = bucket_.node(id);
    RowNode view(exact_, bucket_, id, sizes_, &states_);
    bool is_same = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) is_same = is_same && view.state(i).is_same();
    if (is_same) return "";  // and so are the results
    const ir::Rows& rows = node.op->rows;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool decides_shape = i < 32 && (rows.shape_operands >> i & 1U) != 0;
      const RowState state = view.state(i);
      if (state.kind == RowState::Kind::Sized && !decides_shape) return about(id, "computes with its size");
      // A shape that has rows of its own, as [2, 2, 2] is of [2, 2], is one that follows from the size.
      if (state.has_rows() && decides_shape) return about(id, "has as many dimensions as its size");
    }
    if (rows.rule == ir::RowRule::None) return about(id, "is not known to keep it apart");
    return keeps_rows(view) ? "" : about(id, rows.otherwise);
  }

  std::string end(RowProof* proof) const {
    for (ir::ValueId id : bucket_.outputs()) {
      const RowState& state = states_[id];
      const ir::Value& value = bucket_.value(id);
      if (state.kind == RowState::Kind::Sized) return "output `" + value.name + "` follows from its size";
      RowPort port;
      if (state.has_rows()) {
        const auto axis = static_cast<size_t>(state.axis);
        const int64_t rows = exact_.value(id).type.shape[axis];
        port = {state.axis, rows / sizes_.exact};
        if (port.factor * sizes_.exact != rows || port.factor * sizes_.bucket != value.type.shape[axis]) {
          return "output `" + value.name + "` is no multiple of its size";
        }
      }
      proof->outputs.push_back(port);
    }
    return "";
  }

  std::string about(ir::NodeId id, std::string_view what) const {
    return fmt::format("node `{}` ({}) {}", bucket_.node_name(id), bucket_.node(id).op->name, what);
  }

  const ir::Graph& exact_;
  const ir::Graph& bucket_;
  RowSizes sizes_;
  support::Table<ir::ValueId, RowState> states_;
};

}  // namespace

RowProof prove_rows(const ir::Graph& exact, const ir::Graph& bucket, const RowSizes& sizes,
                    const std::vector<int>& axes) {
  return Prover(exact, bucket, sizes).prove(axes);
}

}  // namespace collage::shapes
