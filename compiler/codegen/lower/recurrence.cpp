// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/lower/recurrence.h"

#include <algorithm>

#include "compiler/codegen/generators/recurrent_cell.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/narrow_float.h"
#include "runtime/core/storage.h"

namespace collage::codegen {
namespace {

std::optional<runtime::CellKind> kind_of(std::string_view op) {
  if (op == "LSTM") return runtime::CellKind::Lstm;
  if (op == "GRU") return runtime::CellKind::Gru;
  if (op == "RNN") return runtime::CellKind::Rnn;
  return std::nullopt;
}

ir::ValueId operand_or_none(const ir::Node& node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : ir::ValueId();
}

/// Sets `*data` to the operand's constant, or to null if it is absent. Returns false if it is computed.
bool take_constant_operand(const ir::Graph& graph, const ir::Node& node, size_t i, const runtime::Tensor** data) {
  const ir::ValueId value = operand_or_none(node, i);
  if (!value.is_valid()) return true;
  if (!graph.value(value).is_constant()) return false;
  *data = &graph.value(value).constant->data;
  return true;
}

bool knows_functions(const runtime::RecurrentSpec& spec) {
  return std::all_of(spec.functions.begin(), spec.functions.end(), [](const auto& functions) {
    return std::all_of(functions.begin(), functions.end(),
                       [](const runtime::CellFunction& function) { return has_cell_function(function.name); });
  });
}

/// Row of W, R or a half of B, for a direction of `gates * hidden` rows.
int64_t gate_row(const Recurrence& r, int64_t direction, int64_t gate, int64_t unit) {
  return (direction * r.gates + gate) * r.hidden + unit;
}

}  // namespace

std::optional<Recurrence> describe_recurrence(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  Recurrence r;
  const std::optional<runtime::CellKind> kind = kind_of(node.op->name);
  if (!kind) return std::nullopt;
  r.kind = *kind;
  if (runtime::resolve_recurrent(r.kind, node.attrs, &r.spec) || !knows_functions(r.spec)) return std::nullopt;
  r.x = node.inputs[0];
  const ir::TensorType& x = graph.value(r.x).type;
  r.is_narrow = runtime::is_narrow_float(x.dtype);
  if (x.dtype != ir::DType::F32 && !r.is_narrow) return std::nullopt;
  const bool fits = take_constant_operand(graph, node, 1, &r.w) && take_constant_operand(graph, node, 2, &r.r) &&
                    take_constant_operand(graph, node, 3, &r.bias) &&
                    (r.kind != runtime::CellKind::Lstm || take_constant_operand(graph, node, 7, &r.peepholes));
  if (!fits) return std::nullopt;
  r.coupled = ir::attrs_of(node).is_on("input_forget");
  r.reset_after_matmul = ir::attrs_of(node).is_on("linear_before_reset");
  r.steps = x.shape[r.spec.batch_first ? 1 : 0];
  r.batch = x.shape[r.spec.batch_first ? 0 : 1];
  r.input = x.shape[2];
  r.hidden = r.r->shape()[2];
  r.gates = runtime::gates_of(r.kind);
  r.h0 = operand_or_none(node, 5);
  if (r.has_cell()) r.c0 = operand_or_none(node, 6);
  const runtime::Tensor* lengths = nullptr;
  if (!take_constant_operand(graph, node, 4, &lengths)) {
    r.lengths = node.inputs[4];
    r.checks_lengths = true;
  }
  if (lengths != nullptr) {
    const auto each = lengths->as<int32_t>();
    const bool is_valid = std::all_of(each.begin(), each.end(), [&](int32_t l) { return l >= 0 && l <= r.steps; });
    if (!is_valid) return std::nullopt;
    const bool is_short = std::any_of(each.begin(), each.end(), [&](int32_t l) { return l < r.steps; });
    if (is_short) r.lengths = node.inputs[4];
  }
  return r;
}

runtime::Tensor widen_weights(const runtime::Tensor& narrow) {
  runtime::Tensor wide(runtime::DType::F32, narrow.shape());
  const runtime::Storage storage{*runtime::storage_type_of(narrow.dtype())};
  runtime::convert_storage(runtime::DType::F32, narrow.count(), narrow.data(), storage, wide.data(), {});
  return wide;
}

runtime::Tensor pack_units(const Recurrence& r, const HiddenBlocks& blocks, int64_t gates,
                           const std::function<float(int64_t, int64_t, int64_t)>& element) {
  runtime::Tensor packed(runtime::DType::F32, {r.directions(), blocks.count, gates, blocks.width});
  float* to = packed.as<float>().data();
  for (int64_t d = 0; d < r.directions(); ++d) {
    for (int64_t block = 0; block < blocks.count; ++block) {
      for (int64_t gate = 0; gate < gates; ++gate) {
        for (int64_t lane = 0; lane < blocks.width; ++lane, ++to) {
          const int64_t unit = block * blocks.width + lane;
          *to = unit < r.hidden ? element(d, gate, unit) : 0.0F;
        }
      }
    }
  }
  return packed;
}

runtime::Tensor pack_input_weights(const Recurrence& r, const HiddenBlocks& blocks) {
  const int64_t columns = r.directions() * r.gates * blocks.padded();
  runtime::Tensor packed(runtime::DType::F32, {r.input, columns});
  const float* w = r.w->as<float>().data();
  float* to = packed.as<float>().data();
  for (int64_t i = 0; i < r.input; ++i) {
    const runtime::Tensor row = pack_units(r, blocks, r.gates, [&](int64_t d, int64_t gate, int64_t unit) {
      return w[gate_row(r, d, gate, unit) * r.input + i];
    });
    to = std::copy_n(row.as<float>().data(), columns, to);
  }
  return packed;
}

// The last gate of a GRU multiplies R's part by the reset gate: it is added later.
runtime::Tensor pack_bias(const Recurrence& r, const HiddenBlocks& blocks) {
  const float* bias = r.bias->as<float>().data();
  const int64_t rows = r.gates * r.hidden;
  return pack_units(r, blocks, r.gates, [&](int64_t d, int64_t gate, int64_t unit) {
    const int64_t row = d * rows + gate_row(r, d, gate, unit);
    const bool only_w = r.kind == runtime::CellKind::Gru && r.reset_after_matmul && gate == 2;
    return bias[row] + (only_w ? 0.0F : bias[row + rows]);
  });
}

runtime::Tensor pack_state_weights(const Recurrence& r, const HiddenBlocks& blocks, GateRange gates) {
  runtime::Tensor packed(runtime::DType::F32, {r.directions(), blocks.count, r.hidden, gates.count, blocks.width});
  const float* from = r.r->as<float>().data();
  float* to = packed.as<float>().data();
  for (int64_t d = 0; d < r.directions(); ++d) {
    for (int64_t block = 0; block < blocks.count; ++block) {
      for (int64_t k = 0; k < r.hidden; ++k) {
        for (int64_t gate = gates.first; gate < gates.first + gates.count; ++gate) {
          for (int64_t lane = 0; lane < blocks.width; ++lane, ++to) {
            const int64_t unit = block * blocks.width + lane;
            *to = unit < r.hidden ? from[gate_row(r, d, gate, unit) * r.hidden + k] : 0.0F;
          }
        }
      }
    }
  }
  return packed;
}

}  // namespace collage::codegen
