// SPDX-License-Identifier: Apache-2.0
// Scan: a loop over the slices of its last operands.
//
//     states, slices 0, 1, … of each scanned operand  =>  body  =>  states, one slice of each scanned result
//
// Before opset 9 all of that is done for each element of a batch, which is the first axis.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/stages/host_nodes.h"
#include "compiler/stages/slices.h"

namespace collage::stages {
namespace {

using import::GraphRef;
using import::NodeView;
using ir::Tensor;
using runtime::Result;
using runtime::Status;
using Tensors = std::vector<Tensor>;

struct ScanShape {
  size_t states = 0;
  size_t scanned = 0;
  size_t rows = 0;  ///< scanned results
  runtime::Ints input_axes, input_directions, output_axes, output_directions;
};

int64_t at(const runtime::Ints& list, size_t i) {
  return i < list.size() ? list[i] : 0;
}

class ScanRun {
 public:
  ScanRun(const NodeView& node, GraphRef body, const Scope& scope, GraphRunner& runner)
      : node_(node), body_(body), scope_(scope), runner_(runner) {}

  StageResult run() {
    const bool has_batch = runner_.file().opset() > 0 && runner_.file().opset() < 9;
    Tensors operands;
    // A list of lengths comes first where there is a batch.
    for (size_t i = has_batch ? 1 : 0; i < node_.inputs.size(); ++i) {
      Result<Tensor> operand = tensor_operand(node_, i, scope_);
      if (!operand) return operand.status();
      operands.push_back(std::move(*operand));
    }
    if (has_batch && has_operand(node_, 0)) return Status::error("lengths of sequences are not supported");
    if (Status status = read_shape(operands.size(), has_batch); !status) return status;
    Result<Tensors> results = has_batch ? run_batch(operands) : run_one(operands);
    if (!results) return results.status();
    std::vector<StageValue> values;
    for (Tensor& result : *results) values.push_back(value_of(std::move(result)));
    return values;
  }

 private:
  Status read_shape(size_t operands, bool has_batch) {
    const int64_t scanned = node_.attrs.get_int("num_scan_inputs", 0);
    if (scanned < 1 || static_cast<size_t>(scanned) > operands) {
      return Status::error(fmt::format("it scans {} of {} operands", scanned, operands));
    }
    shape_.scanned = static_cast<size_t>(scanned);
    shape_.states = operands - shape_.scanned;
    const size_t outputs = runner_.file().output_names(body_).size();
    if (outputs < shape_.states || runner_.file().input_names(body_).size() != operands) {
      return Status::error(
          fmt::format("its body does not fit {} states and {} scanned operands", shape_.states, scanned));
    }
    shape_.rows = outputs - shape_.states;
    shape_.input_axes = node_.attrs.get_ints("scan_input_axes");
    shape_.input_directions = node_.attrs.get_ints(has_batch ? "directions" : "scan_input_directions");
    shape_.output_axes = node_.attrs.get_ints("scan_output_axes");
    shape_.output_directions = node_.attrs.get_ints("scan_output_directions");
    return Status::ok();
  }

  Result<Tensors> run_batch(const Tensors& operands) {
    const int64_t batch = operands.front().shape().empty() ? 0 : operands.front().shape()[0];
    std::vector<Tensors> parts(shape_.states + shape_.rows);
    for (int64_t b = 0; b < batch; ++b) {
      Tensors one;
      for (const Tensor& operand : operands) {
        if (operand.shape().empty() || operand.shape()[0] != batch) {
          return Status::error("its operands have batches of different sizes");
        }
        one.push_back(without_axis(slice_of(operand, 0, b, 1), 0));
      }
      Result<Tensors> results = run_one(one);
      if (!results) return results;
      for (size_t i = 0; i < parts.size(); ++i) parts[i].push_back(with_axis((*results)[i], 0));
    }
    Tensors joined;
    for (const Tensors& part : parts) {
      Result<Tensor> whole = concat(part, 0);
      if (!whole) return whole.status();
      joined.push_back(std::move(*whole));
    }
    return joined;
  }

  /// States first, then the scanned results.
  Result<Tensors> run_one(const Tensors& operands) {
    std::vector<size_t> axes;
    int64_t turns = 0;
    for (size_t i = 0; i < shape_.scanned; ++i) {
      const Tensor& scanned = operands[shape_.states + i];
      Result<size_t> axis = axis_of(at(shape_.input_axes, i), scanned.shape().size());
      if (!axis) return axis.status();
      axes.push_back(*axis);
      const int64_t length = scanned.shape()[*axis];
      if (i > 0 && length != turns) return Status::error(fmt::format("it scans lengths of {} and {}", turns, length));
      turns = length;
    }
    std::vector<StageValue> states;
    for (size_t i = 0; i < shape_.states; ++i) states.push_back(value_of(operands[i]));
    std::vector<Tensors> rows(shape_.rows);
    for (int64_t turn = 0; turn < turns; ++turn) {
      std::vector<StageValue> inputs = states;
      for (size_t i = 0; i < shape_.scanned; ++i) {
        const int64_t index = at(shape_.input_directions, i) != 0 ? turns - 1 - turn : turn;
        inputs.push_back(value_of(without_axis(slice_of(operands[shape_.states + i], axes[i], index, 1), axes[i])));
      }
      StageResult outputs = runner_.run(body_, inputs, &scope_, node_.where);
      if (!outputs) return outputs.status();
      for (size_t i = 0; i < outputs->size(); ++i) {
        const StageValue& output = (*outputs)[i];
        if (!output.is_tensor()) return Status::error("results of its body must be tensors");
        if (i < shape_.states) {
          states[i] = value_of(output.tensor);
        } else {
          rows[i - shape_.states].push_back(output.tensor);
        }
      }
    }
    Tensors results;
    for (const StageValue& state : states) results.push_back(state.tensor);
    const ResultTypes types = turns == 0 ? types_without_turns(operands, axes) : ResultTypes();
    for (size_t i = 0; i < rows.size(); ++i) {
      Result<Tensor> whole =
          turns == 0 ? no_rows(types[shape_.states + i], at(shape_.output_axes, i)) : stack(std::move(rows[i]), i);
      if (!whole && is_wanted(node_, shape_.states + i)) return whole.status();
      results.push_back(whole ? std::move(*whole) : Tensor());
    }
    return results;
  }

  /// What the results of a turn would be, by output of the body.
  ResultTypes types_without_turns(const Tensors& operands, const std::vector<size_t>& axes) {
    ResultTypes inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      ir::TensorType type{operands[i].dtype(), operands[i].shape()};
      if (i >= shape_.states) type.shape.erase(type.shape.begin() + static_cast<int64_t>(axes[i - shape_.states]));
      inputs.push_back(std::move(type));
    }
    return runner_.result_types(body_, inputs, &scope_);
  }

  Result<Tensor> stack(Tensors rows, size_t i) const {
    Result<size_t> axis = axis_of(at(shape_.output_axes, i), rows.front().shape().size() + 1);
    if (!axis) return axis.status();
    if (at(shape_.output_directions, i) != 0) std::reverse(rows.begin(), rows.end());
    for (Tensor& row : rows) {
      if (*axis > row.shape().size()) return Status::error("results of its turns have different shapes");
      row = with_axis(row, *axis);
    }
    return concat(rows, *axis);
  }

  const NodeView& node_;
  GraphRef body_;
  const Scope& scope_;
  GraphRunner& runner_;
  ScanShape shape_;
};

}  // namespace

StageResult run_Scan(const NodeView& node, const Scope& scope, GraphRunner& runner) {
  auto body = node.bodies.find("body");
  if (body == node.bodies.end()) return Status::error("it has no `body`");
  return ScanRun(node, body->second, scope, runner).run();
}

}  // namespace collage::stages
