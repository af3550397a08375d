// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors, and optional values.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/stages/host_nodes.h"
#include "compiler/stages/slices.h"

namespace collage::stages {
namespace {

using import::NodeView;
using ir::Tensor;
using runtime::Result;
using runtime::Status;
using Tensors = std::vector<Tensor>;

StageResult one(StageValue value) {
  return std::vector<StageValue>{std::move(value)};
}

Result<Tensors> sequence_operand(const NodeView& node, size_t i, const Scope& scope) {
  if (!has_operand(node, i)) return Status::error(fmt::format("operand {} cannot be left out", i));
  Result<StageValue> value = scope.get(node.inputs[i]);
  if (!value) return value.status();
  if (value->kind != StageValue::Kind::Sequence) {
    return Status::error(fmt::format("operand {} (`{}`) is no sequence", i, node.inputs[i]));
  }
  return std::move(value->sequence);
}

/// A position in a sequence, from the end where it is negative; `absent` where it is left out.
Result<size_t> position(const NodeView& node, size_t i, const Scope& scope, size_t length, size_t last, size_t absent) {
  Result<int64_t> stated = int_operand(node, i, scope, static_cast<int64_t>(absent));
  if (!stated) return stated.status();
  const auto count = static_cast<int64_t>(length);
  const int64_t index = *stated < 0 ? *stated + count : *stated;
  if (index < 0 || index > static_cast<int64_t>(last)) {
    return Status::error(fmt::format("position {} of a sequence of {}", *stated, length));
  }
  return static_cast<size_t>(index);
}

/// Lengths of the parts into which an axis of `extent` is cut.
Result<std::vector<int64_t>> lengths_of_parts(const NodeView& node, const Scope& scope, int64_t extent) {
  std::vector<int64_t> lengths;
  if (!has_operand(node, 1)) {
    lengths.assign(static_cast<size_t>(extent), 1);
    return lengths;
  }
  Result<Tensor> split = tensor_operand(node, 1, scope);
  if (!split) return split.status();
  if (is_float(split->dtype())) return Status::error("lengths of parts are integers");
  int64_t left = extent;
  if (split->shape().empty()) {
    const int64_t length = runtime::element_as_int(split->view(), 0);
    if (length <= 0) return Status::error(fmt::format("parts of length {}", length));
    for (; left > 0; left -= length) lengths.push_back(std::min(left, length));
    return lengths;
  }
  for (int64_t i = 0; i < split->count(); ++i) {
    lengths.push_back(runtime::element_as_int(split->view(), i));
    if (lengths.back() < 0 || lengths.back() > left) return Status::error("the parts are longer than the axis");
    left -= lengths.back();
  }
  if (left != 0) return Status::error(fmt::format("the parts leave {} of {}", left, extent));
  return lengths;
}

}  // namespace

StageResult run_SequenceConstruct(const NodeView& node, const Scope& scope, GraphRunner&) {
  Tensors tensors;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    Result<Tensor> tensor = tensor_operand(node, i, scope);
    if (!tensor) return tensor.status();
    tensors.push_back(std::move(*tensor));
  }
  return one(sequence_of(std::move(tensors)));
}

StageResult run_SequenceEmpty(const NodeView&, const Scope&, GraphRunner&) {
  return one(sequence_of({}));
}

StageResult run_SequenceInsert(const NodeView& node, const Scope& scope, GraphRunner&) {
  Result<Tensors> tensors = sequence_operand(node, 0, scope);
  if (!tensors) return tensors.status();
  Result<Tensor> tensor = tensor_operand(node, 1, scope);
  if (!tensor) return tensor.status();
  const size_t length = tensors->size();
  Result<size_t> index = position(node, 2, scope, length, length, length);
  if (!index) return index.status();
  tensors->insert(tensors->begin() + static_cast<int64_t>(*index), std::move(*tensor));
  return one(sequence_of(std::move(*tensors)));
}

StageResult run_SequenceErase(const NodeView& node, const Scope& scope, GraphRunner&) {
  Result<Tensors> tensors = sequence_operand(node, 0, scope);
  if (!tensors) return tensors.status();
  if (tensors->empty()) return Status::error("the sequence is empty");
  const size_t last = tensors->size() - 1;
  Result<size_t> index = position(node, 1, scope, tensors->size(), last, last);
  if (!index) return index.status();
  tensors->erase(tensors->begin() + static_cast<int64_t>(*index));
  return one(sequence_of(std::move(*tensors)));
}

StageResult run_SequenceAt(const NodeView& node, const Scope& scope, GraphRunner&) {
  Result<Tensors> tensors = sequence_operand(node, 0, scope);
  if (!tensors) return tensors.status();
  if (tensors->empty()) return Status::error("the sequence is empty");
  Result<size_t> index = position(node, 1, scope, tensors->size(), tensors->size() - 1, 0);
  if (!index) return index.status();
  return one(value_of((*tensors)[*index]));
}

StageResult run_SequenceLength(const NodeView& node, const Scope& scope, GraphRunner&) {
  Result<Tensors> tensors = sequence_operand(node, 0, scope);
  if (!tensors) return tensors.status();
  return one(value_of(int_scalar(static_cast<int64_t>(tensors->size()))));
}

/// The body is run on each element of the first sequence, with the element beside it of other sequences, and with
/// tensors as they are.
StageResult run_SequenceMap(const NodeView& node, const Scope& scope, GraphRunner& runner) {
  auto body = node.bodies.find("body");
  if (body == node.bodies.end()) return Status::error("it has no `body`");
  Result<Tensors> first = sequence_operand(node, 0, scope);
  if (!first) return first.status();
  std::vector<Tensors> results(runner.file().output_names(body->second).size());
  for (size_t turn = 0; turn < first->size(); ++turn) {
    std::vector<StageValue> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Result<StageValue> operand = scope.get(node.inputs[i]);
      if (!operand) return operand.status();
      if (operand->is_tensor()) {
        inputs.push_back(std::move(*operand));
      } else if (turn < operand->sequence.size()) {
        inputs.push_back(value_of(operand->sequence[turn]));
      } else {
        return Status::error(
            fmt::format("operand {} is a sequence of {}, need {}", i, operand->sequence.size(), first->size()));
      }
    }
    StageResult outputs = runner.run(body->second, inputs, &scope, node.where);
    if (!outputs) return outputs.status();
    for (size_t i = 0; i < results.size(); ++i) {
      if (!(*outputs)[i].is_tensor()) return Status::error("results of its body must be tensors");
      results[i].push_back((*outputs)[i].tensor);
    }
  }
  std::vector<StageValue> values;
  for (Tensors& result : results) values.push_back(sequence_of(std::move(result)));
  return values;
}

StageResult run_SplitToSequence(const NodeView& node, const Scope& scope, GraphRunner&) {
  Result<Tensor> tensor = tensor_operand(node, 0, scope);
  if (!tensor) return tensor.status();
  Result<size_t> axis = axis_of(node.attrs.get_int("axis", 0), tensor->shape().size());
  if (!axis) return axis.status();
  Result<std::vector<int64_t>> lengths = lengths_of_parts(node, scope, tensor->shape()[*axis]);
  if (!lengths) return lengths.status();
  const bool drops_axis = !has_operand(node, 1) && node.attrs.get_int("keepdims", 1) == 0;
  Tensors parts;
  int64_t begin = 0;
  for (int64_t length : *lengths) {
    Tensor part = slice_of(*tensor, *axis, begin, length);
    parts.push_back(drops_axis ? without_axis(part, *axis) : std::move(part));
    begin += length;
  }
  return one(sequence_of(std::move(parts)));
}

StageResult run_ConcatFromSequence(const NodeView& node, const Scope& scope, GraphRunner&) {
  Result<Tensors> tensors = sequence_operand(node, 0, scope);
  if (!tensors) return tensors.status();
  if (tensors->empty()) return Status::error("the sequence is empty");
  const bool is_stacked = node.attrs.get_int("new_axis", 0) != 0;
  const size_t rank = tensors->front().shape().size() + (is_stacked ? 1 : 0);
  Result<size_t> axis = axis_of(node.attrs.get_int("axis", 0), rank);
  if (!axis) return axis.status();
  for (Tensor& tensor : *tensors) {
    if (is_stacked && *axis > tensor.shape().size()) return Status::error("the tensors have different shapes");
    if (is_stacked) tensor = with_axis(tensor, *axis);
  }
  Result<Tensor> whole = concat(*tensors, *axis);
  if (!whole) return whole.status();
  StageValue value = value_of(std::move(*whole));
  value.has_run_time_shape = true;
  return one(std::move(value));
}

StageResult run_Optional(const NodeView& node, const Scope& scope, GraphRunner&) {
  if (!has_operand(node, 0)) return one({.kind = StageValue::Kind::Absent});
  Result<StageValue> value = scope.get(node.inputs[0]);
  if (!value) return value.status();
  return one(std::move(*value));
}

StageResult run_OptionalHasElement(const NodeView& node, const Scope& scope, GraphRunner&) {
  if (!has_operand(node, 0)) return one(value_of(bool_scalar(false)));
  Result<StageValue> value = scope.get(node.inputs[0]);
  if (!value) return value.status();
  return one(value_of(bool_scalar(value->kind != StageValue::Kind::Absent)));
}

StageResult run_OptionalGetElement(const NodeView& node, const Scope& scope, GraphRunner&) {
  if (!has_operand(node, 0)) return Status::error("operand 0 cannot be left out");
  Result<StageValue> value = scope.get(node.inputs[0]);
  if (!value) return value.status();
  if (value->kind == StageValue::Kind::Absent) return Status::error("the optional value is none");
  return one(std::move(*value));
}

}  // namespace collage::stages
