// SPDX-License-Identifier: Apache-2.0
// Resize, and Pad that repeats elements: linear and separable, so that each dimension is a table of taps,
//
//   y[o] = sum over t of weight[o][t] x[index[o][t]]
//
// and the tables come from the reference kernel, which runs on the unit vectors of one dimension at a time, so that
// every mode is computed as it defines. A task is one row of the result; lanes lie along it.
//
// A table has equally many taps for every o. If o needs fewer, its last tap is read again and its weight is halved,
// which is exact: [(7, 1)] => [(7, 1/2), (7, 1/2)]. A tap of weight 0 would turn an infinite element that the operator
// does not read into NaN.
#include <algorithm>
#include <cstring>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/kernel.h"

namespace collage::codegen {
namespace {

using ir::Shape;
using runtime::Tensor;

/// Most elements of a probe, from x to: limits the time for tables.
constexpr int64_t kMostProbe = int64_t{1} << 24;
/// Most products of taps over all dimensions but the last.
constexpr size_t kMostProducts = 16;
constexpr int64_t kGrainElements = 8192;

struct Table {
  size_t taps = 1;
  bool is_identity = true;
  bool has_weights = false;    ///< some weight is not 1
  std::vector<int64_t> index;  ///< [out][tap]
  std::vector<float> weight;
};

// The operand with its extent along dimension d and 1 along all others. Extent 1 makes the constant operands' values
// for the other dimensions irrelevant; pads there are removed.
std::optional<Tensor> probe(const ir::Graph& graph, const ir::Node& node, size_t d, const Tensor& x) {
  const Shape& to = graph.value(node.outputs[0]).type.shape;
  Shape shape(to.size(), 1);
  shape[d] = to[d];
  Tensor y(runtime::DType::F32, shape);
  std::vector<Tensor> operands = {x};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    Tensor operand;
    if (node.inputs[i].is_valid()) operand = graph.value(node.inputs[i]).constant->data;
    if (i == 1 && node.op->name == "Pad") {
      Tensor pads(operand.dtype(), operand.shape());
      std::memset(pads.data(), 0, pads.bytes());
      size_t size = runtime::size_of(operand.dtype());
      for (size_t at : {d, to.size() + d}) std::memcpy(pads.data() + at * size, operand.data() + at * size, size);
      operand = pads;
    }
    operands.push_back(operand);
  }
  std::vector<runtime::TensorView> inputs;
  for (const Tensor& t : operands) inputs.push_back(t.is_empty_handle() ? runtime::TensorView{} : t.view());
  std::vector<runtime::TensorView> outputs = {y.view()};
  if (!runtime::find_reference_kernel(node.op->name)({inputs, outputs, node.attrs})) return std::nullopt;
  return y;
}

std::optional<Table> table_of(const ir::Graph& graph, const ir::Node& node, size_t d) {
  const Shape& from_shape = graph.value(node.inputs[0]).type.shape;
  int64_t from = from_shape[d];
  int64_t to = graph.value(node.outputs[0]).type.shape[d];
  if (from * to > kMostProbe) return std::nullopt;
  Shape shape(from_shape.size(), 1);
  shape[d] = from;
  std::vector<std::vector<std::pair<int64_t, float>>> taps(static_cast<size_t>(to));
  for (int64_t j = -1; j < from; ++j) {
    Tensor x(runtime::DType::F32, shape);
    std::fill(x.as<float>().begin(), x.as<float>().end(), 0.0F);
    if (j >= 0) x.as<float>()[static_cast<size_t>(j)] = 1;
    std::optional<Tensor> y = probe(graph, node, d, x);
    if (!y) return std::nullopt;
    for (size_t o = 0; o < taps.size(); ++o) {
      float w = y->as<float>()[o];
      if (w == 0) continue;
      if (j < 0) return std::nullopt;  // not linear: a constant border
      taps[o].emplace_back(j, w);
    }
  }
  Table table;
  table.is_identity = from == to;
  for (size_t o = 0; o < taps.size(); ++o) {
    if (taps[o].empty()) return std::nullopt;  // a border of 0, whatever the elements are
    table.taps = std::max(table.taps, taps[o].size());
    for (const auto& [index, weight] : taps[o]) table.has_weights = table.has_weights || weight != 1;
    bool same = taps[o].size() == 1 && taps[o][0].first == static_cast<int64_t>(o) && taps[o][0].second == 1;
    table.is_identity = table.is_identity && same;
  }
  table.has_weights = table.has_weights || table.taps > 1;
  for (auto& list : taps) {
    while (list.size() < table.taps) {
      list.back().second /= 2;
      list.push_back(list.back());
    }
    for (const auto& [index, weight] : list) {
      table.index.push_back(index);
      table.weight.push_back(weight);
    }
  }
  return table;
}

// Returns one table per dimension; nullopt if the operator is not linear and separable.
std::optional<std::vector<Table>> tables_of(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const ir::TensorType& x = graph.value(node.inputs[0]).type;
  if (x.dtype != ir::DType::F32 || x.shape.empty()) return std::nullopt;
  if (node.op->name == "Pad" && (ir::attrs_of(node).string_of("mode") == "constant" || node.inputs.size() > 3)) {
    return std::nullopt;
  }
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].is_valid() && !graph.value(node.inputs[i]).is_constant()) return std::nullopt;
  }
  std::vector<Table> tables;
  size_t products = 1;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    std::optional<Table> table = table_of(graph, node, d);
    if (!table) return std::nullopt;
    if (d + 1 < x.shape.size()) products *= table->taps;
    tables.push_back(std::move(*table));
  }
  if (products > kMostProducts) return std::nullopt;
  return tables;
}

class ResizeEmitter {
 public:
  ResizeEmitter(const LoweringContext& context, ir::NodeId id, std::vector<Table> tables)
      : context_(context),
        node_(context.graph.node(id)),
        builder_(context),
        nest_(builder_.nest()),
        tables_(std::move(tables)) {}

  KernelSketch run() {
    const Shape& from = context_.graph.value(node_.inputs[0]).type.shape;
    const Shape& to = context_.graph.value(node_.outputs[0]).type.shape;
    strides_ = runtime::row_major_strides(from);
    x_ = builder_.value_buffer(node_.inputs[0], false);
    y_ = builder_.value_buffer(node_.outputs[0], true);
    size_t last = to.size() - 1;
    int64_t rows = 1;
    for (size_t d = 0; d < last; ++d) rows *= to[d];
    Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    std::vector<Term> terms = {{int_const(0), nullptr}};
    Expr rest = task;
    for (size_t d = last; d-- > 0;) {
      if (to[d] == 1 && tables_[d].is_identity) continue;
      Expr i = d == 0 ? rest : nest_.let("i", rem(rest, to[d]));
      if (d > 0) rest = nest_.let("rest", div(rest, to[d]));
      terms = extended(terms, d, i);
    }
    for (Term& term : terms) term.offset = nest_.let("at", term.offset);
    emit_row(terms, to[last], nest_.let("to", mul(task, to[last])));
    nest_.end_for();
    return builder_.finish(rows, kGrainElements / std::max<int64_t>(1, to[last]));
  }

 private:
  /// A source row and its weight; null: 1.
  struct Term {
    Expr offset;
    Expr weight;
  };

  std::vector<Term> extended(const std::vector<Term>& terms, size_t d, const Expr& i) {
    const Table& table = tables_[d];
    if (table.is_identity) {
      std::vector<Term> moved;
      for (const Term& t : terms) moved.push_back({add(mul(i, strides_[d]), t.offset), t.weight});
      return moved;
    }
    auto width = static_cast<int64_t>(table.taps);
    Tensor indices(runtime::DType::I32, {static_cast<int64_t>(table.index.size())});
    std::copy(table.index.begin(), table.index.end(), indices.as<int32_t>().begin());
    int index = builder_.constant_buffer(std::move(indices), "rows" + std::to_string(d));
    int weight = -1;
    if (table.has_weights) weight = weights(table.weight, "weights" + std::to_string(d));
    std::vector<Term> more;
    for (int64_t t = 0; t < width; ++t) {
      Expr at = add(mul(i, width), t);
      Expr offset = nest_.let("row", mul(load_int(index, at, 4), strides_[d]));
      Expr w = weight < 0 ? nullptr : nest_.let("w", load(weight, at, 1));
      for (const Term& term : terms) {
        Expr product = w && term.weight ? binary(Op::FMul, w, term.weight) : w ? w : term.weight;
        more.push_back({add(term.offset, offset), product ? nest_.let("w", product) : nullptr});
      }
    }
    return more;
  }

  int weights(const std::vector<float>& values, const std::string& name) {
    Tensor data(runtime::DType::F32, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), data.as<float>().begin());
    return builder_.constant_buffer(std::move(data), name);
  }

  void emit_row(const std::vector<Term>& terms, int64_t length, const Expr& to) {
    const Table& table = tables_.back();
    auto width = static_cast<size_t>(table.taps);
    int64_t lanes = nest_.lanes();
    // One table of lanes per tap, padded to whole vectors.
    auto padded = static_cast<size_t>(round_up(length, lanes));
    std::vector<int> index;
    std::vector<int> weight;
    for (size_t t = 0; t < width && !table.is_identity; ++t) {
      Tensor indices(runtime::DType::I32, {static_cast<int64_t>(padded)});
      std::vector<float> w(padded, 0);
      auto entries = indices.as<int32_t>();
      std::fill(entries.begin(), entries.end(), 0);
      for (size_t o = 0; o < static_cast<size_t>(length); ++o) {
        entries[o] = static_cast<int32_t>(table.index[o * width + t]);
        w[o] = table.weight[o * width + t];
      }
      index.push_back(builder_.constant_buffer(std::move(indices), "columns" + std::to_string(t)));
      if (table.has_weights) weight.push_back(weights(w, "lanes" + std::to_string(t)));
    }
    auto vector = [&](const Expr& i, const Expr& mask) {
      Expr sum;
      auto accumulate = [&](const Expr& value, const Expr& w) {
        if (!sum) {
          sum = w ? binary(Op::FMul, value, w) : value;
        } else {
          sum = w ? fma(value, w, sum) : binary(Op::FAdd, sum, value);
        }
      };
      for (const Term& term : terms) {
        Expr row_weight = term.weight ? splat(term.weight, nest_.lanes()) : nullptr;
        if (table.is_identity) {
          accumulate(load(x_, add(term.offset, i), nest_.lanes(), mask), row_weight);
          continue;
        }
        for (size_t t = 0; t < width; ++t) {
          Expr value = gather(x_, term.offset, load(index[t], i, nest_.lanes()), mask);
          Expr w = weight.empty() ? nullptr : load(weight[t], i, nest_.lanes());
          if (w && row_weight) w = binary(Op::FMul, w, row_weight);
          accumulate(value, w ? w : row_weight);
        }
      }
      nest_.store(y_, add(to, i), sum, mask);
    };
    int64_t whole = length / lanes * lanes;
    if (whole > 0) {
      Expr i = nest_.begin_for("i", int_const(0), int_const(whole), lanes);
      vector(i, nullptr);
      nest_.end_for();
    }
    if (whole < length) vector(int_const(whole), nest_.let("mask", nest_.lanes_below(int_const(length - whole))));
  }

  const LoweringContext& context_;
  const ir::Node& node_;
  KernelBuilder builder_;
  Nest& nest_;
  std::vector<Table> tables_;
  std::vector<int64_t> strides_;
  int x_ = -1;
  int y_ = -1;
};

}  // namespace

bool accepts_resampling(const ir::Graph& graph, ir::NodeId id) {
  return tables_of(graph, id).has_value();
}

std::vector<KernelSketch> lower_resampling(const LoweringContext& context, const Group& group) {
  std::vector<KernelSketch> kernels;
  kernels.push_back(ResizeEmitter(context, group.anchor, *tables_of(context.graph, group.anchor)).run());
  return kernels;
}

const Lowering& resize_lowering() {
  static constexpr Lowering row{accepts_resampling, [](const ir::Graph&, ir::NodeId) { return size_t{0}; },
                                lower_resampling};
  return row;
}

}  // namespace collage::codegen
