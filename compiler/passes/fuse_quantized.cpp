// SPDX-License-Identifier: Apache-2.0
// Models in QDQ form, as exporters of quantised networks write them, compute in f32 on numbers that were integers, and
// round the results to integers again. This pass writes them as operators on integers:
//
//     %xf = DequantizeLinear(%x, %xs, %xz)   %wf = DequantizeLinear(%w, %ws, %wz)   %bf = DequantizeLinear(%b, %bs)
//     %c = Conv(%xf, %wf, %bf)   %r = Relu(%c)   %y = QuantizeLinear(%r, %ys, %yz)
//     =>  %y = QLinearConv(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz, %b)
//
//     %xf = DequantizeLinear(%x, %s, %z)   %p = MaxPool(%xf)   %y = QuantizeLinear(%p, %s, %z)   =>   %y = MaxPool(%x)
//
// Conv, MatMul and Gemm; a Gemm with a bias becomes a convolution of pictures of one element. An activation joins where
// the integers of %y stand for nothing that it cuts off. Sums are exact where f32 rounds them: a result can differ by
// one step. What sums of 32 bits cannot hold stays as it is. A bias that is not in units of %xs * %ws is brought to
// them.
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/operands.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Graph;
using ir::GraphRewriter;
using ir::Node;
using ir::NodeId;
using ir::Tensor;
using ir::ValueId;
using runtime::Shape;

constexpr double kMostSum = std::numeric_limits<int32_t>::max();
constexpr double kMostStep = 255;  ///< of a byte from its zero point

/// A conversion with constant scale and zero point.
struct Conversion {
  NodeId node;
  ValueId integers;  ///< of a DequantizeLinear; of a QuantizeLinear its result
  DType dtype = DType::I8;
  const Tensor* scale = nullptr;
  const Tensor* zero = nullptr;  ///< null: 0
  int64_t axis = 1;

  bool is_single() const { return scale->count() == 1; }
  /// One scale, which is a positive number.
  bool is_plain() const { return is_single() && std::isnormal(scale_at(0)) && scale_at(0) > 0; }
  double scale_at(size_t i) const { return scale->as<float>()[is_single() ? 0 : i]; }
  int64_t zero_at(size_t i) const {
    return zero == nullptr ? 0 : element_as_int(zero->view(), is_single() ? 0 : static_cast<int64_t>(i));
  }
};

std::optional<Conversion> conversion_at(const Graph& graph, NodeId id, std::string_view op) {
  if (!id.is_valid()) return std::nullopt;
  const Node& node = graph.node(id);
  if (node.op->name != op || node.pin) return std::nullopt;
  // Scales and results in f32, no blocks.
  const ValueId floats = op == "DequantizeLinear" ? node.outputs[0] : node.inputs[0];
  if (graph.value(node.inputs[1]).type.dtype != DType::F32 || graph.value(floats).type.dtype != DType::F32 ||
      ir::attrs_of(node).int_of("block_size") != 0 || node.attrs.has("precision")) {
    return std::nullopt;
  }
  Conversion found{id,
                   op == "DequantizeLinear" ? node.inputs[0] : node.outputs[0],
                   DType::U8,
                   constant_operand(graph, node, 1),
                   constant_operand(graph, node, 2),
                   ir::attrs_of(node).int_of("axis")};
  found.dtype = graph.value(found.integers).type.dtype;
  if (found.scale == nullptr || found.scale->count() == 0 || (has_operand(node, 2) && found.zero == nullptr)) {
    return std::nullopt;
  }
  return found;
}

std::optional<Conversion> dequantized(const Graph& graph, const Node& node, size_t i) {
  if (!has_operand(node, i)) return std::nullopt;
  return conversion_at(graph, graph.value(node.inputs[i]).producer, "DequantizeLinear");
}

bool is_byte(DType dtype) {
  return dtype == DType::I8 || dtype == DType::U8;
}

/// The node that makes a value for one reader only; invalid if there is none.
NodeId private_producer(const Graph& graph, ValueId id) {
  const ir::Value& value = graph.value(id);
  const bool is_private = value.producer.is_valid() && value.uses.size() == 1 && !value.is_output &&
                          !graph.node(value.producer).pin && graph.node(value.producer).outputs.size() == 1;
  return is_private ? value.producer : NodeId();
}

/// Whether the activation changes nothing that the integers of `y` can tell: what it cuts off, they clamp.
bool is_implied(const Graph& graph, const Node& activation, const Conversion& y) {
  const double scale = y.scale_at(0);
  const auto low = static_cast<double>((y.dtype == DType::I8 ? -128 : 0) - y.zero_at(0)) * scale;
  const auto high = static_cast<double>((y.dtype == DType::I8 ? 127 : 255) - y.zero_at(0)) * scale;
  if (activation.op->name == "Relu") return low >= 0;
  if (activation.op->name != "Clip") return false;
  const double bounds[] = {low, high};
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (!has_operand(activation, i)) continue;
    const Tensor* bound = constant_operand(graph, activation, i);
    if (bound == nullptr || bound->count() != 1 || bound->dtype() != DType::F32) return false;
    const double beyond = i == 1 ? bound->as<float>()[0] - bounds[0] : bounds[1] - bound->as<float>()[0];
    if (!(beyond <= scale / 2)) return false;
  }
  return true;
}

/// A product between conversions.
struct QuantizedProduct {
  NodeId product;
  Conversion x, w, y;
  std::optional<Tensor> bias;  ///< i32
  bool is_conv = false;        ///< it is one, or a Gemm that becomes one
};

/// Elements of a weight as [channels, rest]: how far they are from their zero points, summed over each channel.
std::vector<double> channel_sums(const Tensor& weight, const Conversion& w, size_t axis) {
  const Shape& shape = weight.shape();
  size_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
  const auto channels = static_cast<size_t>(shape[axis]);
  std::vector<double> sums(channels, 0.0);
  for (int64_t i = 0; i < weight.count(); ++i) {
    const size_t channel = static_cast<size_t>(i) / inner % channels;
    sums[channel] += std::abs(static_cast<double>(element_as_int(weight.view(), i) - w.zero_at(channel)));
  }
  return sums;
}

/// What a bias adds to each channel, from any of the forms in which it is written; nullopt if it is not constant.
std::optional<std::vector<double>> bias_numbers(const Graph& graph, const Node& node, size_t channels) {
  const std::optional<Conversion> from = dequantized(graph, node, 2);
  const ValueId source = from ? from->integers : node.inputs[2];
  if (!graph.value(source).is_constant()) return std::nullopt;
  const Tensor& data = graph.value(source).constant->data;
  const bool is_row =
      data.count() == static_cast<int64_t>(channels) && !data.shape().empty() && data.shape().back() == data.count();
  if (!is_row && data.count() != 1) return std::nullopt;
  const double beta = node.op->name == "Gemm" ? ir::attrs_of(node).float_of("beta") : 1;
  std::vector<double> numbers;
  for (size_t c = 0; c < channels; ++c) {
    const int64_t at = data.count() == 1 ? 0 : static_cast<int64_t>(c);
    const double number =
        from ? static_cast<double>(element_as_int(data.view(), at) - from->zero_at(c)) * from->scale_at(c)
             : element_as_double(data.view(), at);
    numbers.push_back(beta * number);
  }
  return numbers;
}

/// In units of x_scale * w_scale; nullopt where one is no number or does not fit.
std::optional<Tensor> integer_bias(const std::vector<double>& numbers, const Conversion& x, const Conversion& w) {
  Tensor bias(DType::I32, {static_cast<int64_t>(numbers.size())});
  for (size_t c = 0; c < numbers.size(); ++c) {
    const double units = std::nearbyint(numbers[c] / (x.scale_at(0) * w.scale_at(c)));
    if (!(std::abs(units) <= kMostSum)) return std::nullopt;
    bias.as<int32_t>()[c] = static_cast<int32_t>(units);
  }
  return bias;
}

class QuantizedFinder {
 public:
  explicit QuantizedFinder(const Graph& graph) : graph_(graph) {}

  /// The QuantizeLinear `id` with the product before it, if that can be computed in integers.
  std::optional<QuantizedProduct> product_before(NodeId id) const {
    std::optional<Conversion> y = conversion_at(graph_, id, "QuantizeLinear");
    if (!y || !y->is_plain() || !is_byte(y->dtype)) return std::nullopt;
    NodeId at = private_producer(graph_, graph_.node(id).inputs[0]);
    if (at.is_valid() && is_implied(graph_, graph_.node(at), *y)) {
      at = private_producer(graph_, graph_.node(at).inputs[0]);
    }
    if (!at.is_valid()) return std::nullopt;
    const Node& node = graph_.node(at);
    const bool is_conv = node.op->name == "Conv", is_gemm = node.op->name == "Gemm";
    if (!is_conv && !is_gemm && node.op->name != "MatMul") return std::nullopt;
    if (is_gemm && (ir::attrs_of(node).is_on("transA") || ir::attrs_of(node).float_of("alpha") != 1))
      return std::nullopt;
    const std::optional<Conversion> x = dequantized(graph_, node, 0), w = dequantized(graph_, node, 1);
    if (!x || !w || !x->is_plain() || !is_byte(x->dtype) || !is_byte(w->dtype)) return std::nullopt;
    QuantizedProduct found{at, *x, *w, *y, std::nullopt, is_conv || (is_gemm && has_operand(node, 2))};
    if (!read_weights(node, &found)) return std::nullopt;
    return found;
  }

 private:
  /// Channels of the weights, and whether scales, sums and bias allow integers.
  bool read_weights(const Node& node, QuantizedProduct* found) const {
    const ir::Value& value = graph_.value(found->w.integers);
    const Shape& shape = value.type.shape;
    if (!value.is_constant()) return fits_without_constants(shape, *found);
    const bool is_transposed = ir::attrs_of(node).is_on("transB");
    const size_t axis = node.op->name == "Conv" || is_transposed ? 0 : shape.size() - 1;
    if (shape.size() < 2 || runtime::element_count(shape) == 0) return false;
    if (node.op->name == "MatMul" && shape.size() != 2) return fits_without_constants(shape, *found);
    const int64_t scaled = found->w.axis < 0 ? found->w.axis + static_cast<int64_t>(shape.size()) : found->w.axis;
    if (!found->w.is_single() && scaled != static_cast<int64_t>(axis)) return false;
    const std::vector<double> sums = channel_sums(value.constant->data, found->w, axis);
    if (has_operand(node, 2)) {
      const std::optional<std::vector<double>> numbers = bias_numbers(graph_, node, sums.size());
      if (!numbers) return false;
      found->bias = integer_bias(*numbers, found->x, found->w);
      if (!found->bias) return false;
    }
    for (size_t c = 0; c < sums.size(); ++c) {
      const double bias = found->bias ? std::abs(static_cast<double>(found->bias->as<int32_t>()[c])) : 0;
      if (kMostStep * sums[c] + bias > kMostSum) return false;
    }
    return true;
  }

  /// Two matrices that are both computed, or stacks of them.
  bool fits_without_constants(const Shape& shape, const QuantizedProduct& found) const {
    return graph_.node(found.product).op->name == "MatMul" && found.w.is_single() && shape.size() >= 2 &&
           kMostStep * kMostStep * static_cast<double>(shape[shape.size() - 2]) <= kMostSum;
  }

  const Graph& graph_;
};

/// The DequantizeLinear before an operator that moves elements, or before the QuantizeLinear itself, where both
/// conversions are the same: the integers can be moved as they are.
struct QuantizedMovement {
  NodeId movement;  ///< invalid: nothing stands between the conversions
  ValueId integers;
};

bool is_same_scale(const Conversion& a, const Conversion& b) {
  return a.dtype == b.dtype && a.is_plain() && b.is_plain() && a.scale_at(0) == b.scale_at(0) &&
         a.zero_at(0) == b.zero_at(0);
}

/// MaxPool, which compares, takes integers that are computed with; the others take all dtypes.
bool moves_elements(std::string_view op, DType dtype) {
  static constexpr std::string_view kMovements[] = {"DepthToSpace", "Flatten", "MaxPool",   "Reshape",  "Slice",
                                                    "SpaceToDepth", "Squeeze", "Transpose", "Unsqueeze"};
  if (op == "MaxPool" && !runtime::is_arithmetic(dtype)) return false;
  return std::find(std::begin(kMovements), std::end(kMovements), op) != std::end(kMovements);
}

std::optional<QuantizedMovement> movement_before(const Graph& graph, NodeId id) {
  const std::optional<Conversion> y = conversion_at(graph, id, "QuantizeLinear");
  // Floats of 8 bits: a conversion back saturates infinities.
  if (!y || runtime::is_float(y->dtype)) return std::nullopt;
  const std::optional<Conversion> direct = dequantized(graph, graph.node(id), 0);
  if (direct && is_same_scale(*direct, *y)) return QuantizedMovement{{}, direct->integers};
  const NodeId at = private_producer(graph, graph.node(id).inputs[0]);
  if (!at.is_valid() || !moves_elements(graph.node(at).op->name, y->dtype)) return std::nullopt;
  const std::optional<Conversion> x = dequantized(graph, graph.node(at), 0);
  if (!x || !is_same_scale(*x, *y)) return std::nullopt;
  return QuantizedMovement{at, x->integers};
}

Tensor transposed_bytes(const Tensor& matrix) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result(matrix.dtype(), {columns, rows});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) result.data()[c * rows + r] = matrix.data()[r * columns + c];
  }
  return result;
}

class QuantizedWriter {
 public:
  explicit QuantizedWriter(const Graph& graph) : graph_(graph), rewriter_(graph) {}

  void copy(NodeId id) { rewriter_.copy(id); }

  void write(const QuantizedProduct& found) {
    const Node& node = graph_.node(found.product);
    const ValueId result = found.y.integers;
    const bool is_gemm = node.op->name == "Gemm";
    std::vector<ValueId> inputs = {rewriter_.copied(found.x.integers),
                                   copied_scale(found.x),
                                   copied_zero(found.x),
                                   weights(node, found),
                                   copied_scale(found.w),
                                   weight_zeros(found.w),
                                   copied_scale(found.y),
                                   copied_zero(found.y)};
    if (!found.is_conv) {
      rewriter_.add_result(result, *ir::find_op("QLinearMatMul"), std::move(inputs), {});
      return;
    }
    if (found.bias) inputs.push_back(constant(graph_.value(result).name + ".bias", *found.bias));
    const ir::OpDef& conv = *ir::find_op("QLinearConv");
    if (!is_gemm) {
      rewriter_.add_result(result, conv, std::move(inputs), node.attrs);
      return;
    }
    const std::string& base = graph_.value(result).name;
    Shape picture = graph_.value(found.x.integers).type.shape, made = graph_.value(result).type.shape;
    picture.insert(picture.end(), {1, 1});
    made.insert(made.end(), {1, 1});
    inputs[0] =
        rewriter_.add_node(*ir::find_op("Reshape"), {inputs[0], shape_constant(base + ".picture.shape", picture)}, {},
                           base + ".picture", {found.x.dtype, picture});
    const ValueId rows = rewriter_.add_node(conv, std::move(inputs), {}, base + ".rows", {found.y.dtype, made});
    rewriter_.add_result(result, *ir::find_op("Reshape"),
                         {rows, shape_constant(base + ".shape", graph_.value(result).type.shape)}, {});
  }

  /// `result`: of the QuantizeLinear.
  void write(const QuantizedMovement& found, ValueId result) {
    const ir::Value& value = graph_.value(result);
    if (!found.movement.is_valid()) {
      // An output must be the result of a node of its own name.
      const ValueId integers = rewriter_.copied(found.integers);
      if (!value.is_output) return rewriter_.replace(result, integers);
      rewriter_.add_result(result, *ir::find_op("Identity"), {integers}, {});
      return;
    }
    const Node& node = graph_.node(found.movement);
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) inputs.push_back(rewriter_.copied(input));
    inputs[0] = rewriter_.copied(found.integers);
    rewriter_.add_result(result, *node.op, std::move(inputs), node.attrs);
  }

  Graph finish() { return rewriter_.finish(); }

 private:
  ValueId constant(const std::string& base, Tensor data) {
    return rewriter_.add_constant(base, ir::make_constant(std::move(data)));
  }
  ValueId shape_constant(const std::string& base, const Shape& shape) {
    Tensor data(DType::I64, {static_cast<int64_t>(shape.size())});
    std::copy(shape.begin(), shape.end(), data.as<int64_t>().begin());
    return constant(base, std::move(data));
  }

  ValueId copied_scale(const Conversion& conversion) {
    return rewriter_.copied(graph_.node(conversion.node).inputs[1]);
  }
  ValueId copied_zero(const Conversion& conversion) {
    const Node& node = graph_.node(conversion.node);
    if (has_operand(node, 2)) return rewriter_.copied(node.inputs[2]);
    return constant(graph_.value(conversion.integers).name + ".zero", Tensor(conversion.dtype, {}));
  }
  /// As many as scales.
  ValueId weight_zeros(const Conversion& w) {
    if (has_operand(graph_.node(w.node), 2)) return copied_zero(w);
    return constant(graph_.value(w.integers).name + ".zero", Tensor(w.dtype, w.scale->shape()));
  }

  ValueId weights(const Node& node, const QuantizedProduct& found) {
    const ir::Value& value = graph_.value(found.w.integers);
    if (node.op->name != "Gemm") return rewriter_.copied(found.w.integers);
    const bool is_transposed = ir::attrs_of(node).is_on("transB");
    const Tensor& data = value.constant->data;
    // A convolution wants channels first, a product last.
    Tensor wanted = is_transposed == found.is_conv ? data : transposed_bytes(data);
    if (found.is_conv) wanted = wanted.reshaped({wanted.shape()[0], wanted.shape()[1], 1, 1});
    return constant(value.name, std::move(wanted));
  }

  const Graph& graph_;
  GraphRewriter rewriter_;
};

}  // namespace

bool fuse_quantized(Graph& graph, PassContext&) {
  const QuantizedFinder finder(graph);
  std::vector<std::optional<QuantizedProduct>> products(graph.node_count());    // by the QuantizeLinear
  std::vector<std::optional<QuantizedMovement>> movements(graph.node_count());  // likewise
  std::vector<bool> is_left_out(graph.node_count(), false);
  bool has_changed = false;
  for (NodeId id : graph.node_ids()) {
    if (graph.node(id).op->name != "QuantizeLinear") continue;
    products[id.slot()] = finder.product_before(id);
    if (products[id.slot()]) {
      is_left_out[products[id.slot()]->product.slot()] = true;
      const NodeId before = graph.value(graph.node(id).inputs[0]).producer;  // the product or its activation
      is_left_out[before.slot()] = true;
    } else if ((movements[id.slot()] = movement_before(graph, id)) && movements[id.slot()]->movement.is_valid()) {
      is_left_out[movements[id.slot()]->movement.slot()] = true;
    }
    has_changed = has_changed || products[id.slot()] || movements[id.slot()];
  }
  if (!has_changed) return false;
  QuantizedWriter writer(graph);
  for (NodeId id : graph.node_ids()) {
    if (is_left_out[id.slot()]) continue;
    if (products[id.slot()]) {
      writer.write(*products[id.slot()]);
    } else if (movements[id.slot()]) {
      writer.write(*movements[id.slot()], graph.node(id).outputs[0]);
    } else {
      writer.copy(id);
    }
  }
  graph = writer.finish();
  return true;
}

}  // namespace collage::passes
