// SPDX-License-Identifier: Apache-2.0
#include "compiler/export/decompose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/element.h"
#include "runtime/support/check.h"

namespace collage::exporter {
namespace {

using ir::DType;
using ir::TensorType;
using ir::ValueId;

/// Builds the nodes that replace one node.
class Replacement {
 public:
  Replacement(const ir::Graph& from, ir::NodeId id, ir::GraphRewriter& rewriter)
      : from_(from), id_(id), node_(from.node(id)), rewriter_(rewriter) {}

  ir::AttrView attrs() const { return ir::attrs_of(node_); }
  const TensorType& input_type(size_t i) const { return from_.value(node_.inputs[i]).type; }
  const TensorType& result_type() const { return from_.value(node_.outputs[0]).type; }
  ValueId constant(ir::Tensor data) { return rewriter_.add_constant(base(), ir::make_constant(std::move(data))); }
  ValueId input(size_t i) { return rewriter_.copied(node_.inputs[i]); }

  /// Adds an operator whose result has operand 0's type, or `shape`.
  ValueId add(std::string_view op, std::vector<ValueId> inputs) {
    return add(op, std::move(inputs), input_type(0).shape);
  }
  ValueId add(std::string_view op, std::vector<ValueId> inputs, ir::Shape shape, ir::AttrMap attrs = {}) {
    return rewriter_.add_node(*ir::find_op(op), std::move(inputs), std::move(attrs), base(),
                              {input_type(0).dtype, std::move(shape)});
  }
  ValueId reshape(ValueId x, const ir::Shape& shape) {
    ir::Tensor dims(DType::I64, {static_cast<int64_t>(shape.size())});
    std::copy(shape.begin(), shape.end(), dims.as<int64_t>().begin());
    return add("Reshape", {x, rewriter_.add_constant(base(), ir::make_constant(dims))}, shape);
  }
  /// Adds a constant with all elements equal, in operand 0's element type.
  ValueId splat(double value, const ir::Shape& shape = {}) {
    ir::Tensor tensor(input_type(0).dtype, shape);
    for (int64_t i = 0; i < tensor.count(); ++i) runtime::set_element(tensor.view(), i, value);
    return rewriter_.add_constant(base(), ir::make_constant(tensor));
  }
  /// Adds the last operator: its result is the node's.
  void finish(std::string_view op, std::vector<ValueId> inputs) {
    rewriter_.copy_as(id_, *ir::find_op(op), std::move(inputs), {});
  }

 private:
  std::string base() const { return from_.node_name(id_) + ".part"; }

  const ir::Graph& from_;
  ir::NodeId id_;
  const ir::Node& node_;
  ir::GraphRewriter& rewriter_;
};

void gelu(Replacement& r) {
  ValueId x = r.input(0);
  ValueId bent;
  if (r.attrs().string_of("approximate") == "tanh") {
    ValueId cube = r.add("Pow", {x, r.splat(3)});
    ValueId sum = r.add("Add", {x, r.add("Mul", {cube, r.splat(0.044715)})});
    bent = r.add("Tanh", {r.add("Mul", {sum, r.splat(std::sqrt(2 / std::numbers::pi))})});
  } else {
    bent = r.add("Erf", {r.add("Mul", {x, r.splat(1 / std::numbers::sqrt2)})});
  }
  r.finish("Mul", {r.add("Mul", {x, r.splat(0.5)}), r.add("Add", {bent, r.splat(1)})});
}

/// The pixels are the grid of the identity, which the operator itself makes.
void affine_grid(Replacement& r) {
  const ir::Shape& theta = r.input_type(0).shape;
  const ir::Shape& shape = r.result_type().shape;
  const int64_t rank = theta[1], places = runtime::element_count(shape) / std::max<int64_t>(1, shape[0] * rank);
  ir::Tensor identity(r.input_type(0).dtype, {1, rank, rank + 1});
  ir::Shape one = shape;
  one[0] = 1;
  ir::Tensor size(DType::I64, {rank + 2});
  std::copy(one.begin(), one.end() - 1, size.as<int64_t>().begin() + 1);
  size.as<int64_t>()[0] = 1;
  ir::Tensor pixels(identity.dtype(), {places, rank + 1});
  runtime::with_element_type(identity.dtype(), [&]<typename T>(runtime::Type<T>) {
    for (int64_t d = 0; d < rank; ++d) identity.as<T>()[static_cast<size_t>(d * (rank + 2))] = T(1);
    auto grid = ir::evaluate_node(*ir::find_op("AffineGrid"), {identity, size}, r.attrs().written(),
                                  {ir::TensorType{identity.dtype(), one}});
    COLLAGE_CHECK(grid, "no grid of the identity");
    for (int64_t p = 0; p < places; ++p) {
      T* to = pixels.as<T>().data() + p * (rank + 1);
      std::copy_n((*grid)[0].as<T>().data() + p * rank, rank, to);
      to[rank] = T(1);
    }
  });
  ir::AttrMap swap;
  swap.set("perm", runtime::Ints{0, 2, 1});
  ValueId columns = r.add("Transpose", {r.input(0)}, {theta[0], rank + 1, rank}, std::move(swap));
  ValueId rows = r.add("MatMul", {r.constant(pixels), columns}, {theta[0], places, rank});
  r.finish("Identity", {r.reshape(rows, shape)});
}

void mish(Replacement& r) {
  ValueId x = r.input(0);
  r.finish("Mul", {x, r.add("Tanh", {r.add("Softplus", {x})})});
}

/// x: [N, C, …] is normalised over each of G groups of C / G channels. Scale and bias have one element per channel
/// since opset 21, one per group before.
void group_normalization(Replacement& r) {
  const ir::Shape& shape = r.input_type(0).shape;
  int64_t groups = r.attrs().int_of("num_groups");
  int64_t parameters = runtime::element_count(r.input_type(1).shape);
  int64_t in_group = runtime::element_count(shape) / std::max<int64_t>(1, shape[0] * groups);
  ir::AttrMap attrs;
  if (const runtime::AttrValue* epsilon = r.attrs().written().find("epsilon")) attrs.set("epsilon", *epsilon);
  ir::Shape grouped = {shape[0], groups, in_group};
  ValueId ones = r.splat(1, {groups});
  ValueId zeros = r.splat(0, {groups});
  ValueId normal =
      r.add("InstanceNormalization", {r.reshape(r.input(0), grouped), ones, zeros}, grouped, std::move(attrs));
  // [parameters, 1, 1] broadcasts to [N, C, …], and to [N, G, C / G, …] where it counts groups.
  bool per_channel = parameters == shape[1];
  ir::Shape wide = shape;
  if (!per_channel) {
    wide = {shape[0], groups, shape[1] / groups};
    wide.insert(wide.end(), shape.begin() + 2, shape.end());
  }
  ir::Shape column(wide.size() - 1, 1);
  column[0] = parameters;
  ValueId scaled = r.add("Mul", {r.reshape(normal, wide), r.reshape(r.input(1), column)}, wide);
  ValueId bias = r.reshape(r.input(2), column);
  if (per_channel) return r.finish("Add", {scaled, bias});
  ValueId sum = r.add("Add", {scaled, bias}, wide);
  r.finish("Identity", {r.reshape(sum, shape)});
}

struct Row {
  std::string_view op;
  void (*replace)(Replacement&);
};

constexpr std::array kRows = {
    Row{"AffineGrid", affine_grid},
    Row{"Gelu", gelu},
    Row{"GroupNormalization", group_normalization},
    Row{"Mish", mish},
};

const Row* row_of(const ir::Node& node) {
  const auto* row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.op == node.op->name; });
  return row == kRows.end() ? nullptr : row;
}

}  // namespace

bool has_newer_ops(const ir::Graph& graph) {
  std::vector<ir::NodeId> ids = graph.node_ids();
  return std::any_of(ids.begin(), ids.end(), [&](ir::NodeId id) { return row_of(graph.node(id)) != nullptr; });
}

ir::Graph decompose_newer_ops(const ir::Graph& graph) {
  ir::GraphRewriter rewriter(graph);
  for (ir::NodeId id : graph.node_ids()) {
    const Row* row = row_of(graph.node(id));
    if (row == nullptr) {
      rewriter.copy(id);
      continue;
    }
    Replacement replacement(graph, id, rewriter);
    row->replace(replacement);
  }
  return rewriter.finish();
}

}  // namespace collage::exporter
