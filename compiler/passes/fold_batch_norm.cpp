// SPDX-License-Identifier: Apache-2.0
// Merges what multiplies and shifts channels by constants (BatchNormalization, Mul, Div, Add, Sub) into the Conv,
// ConvTranspose, Gemm or MatMul before it, if that result has no other reader, or into the Conv after it. With
// s = scale / sqrt(var + epsilon), per output channel:
//
//     %c = Conv(%x, %w, %b)   %y = BatchNormalization(%c, %scale, %bias, %mean, %var)
//     =>  %y = Conv(%x, %w * s, (%b - %mean) * s + %bias)
//
//     %m = MatMul(%x, %w: const)   %y = Mul(%m, %s: const)   =>   %y = MatMul(%x, %w * %s)     no shift: it has no bias
//
//     %n = BatchNormalization(%x, ..)   %y = Conv(%n, %w, %b)     per input channel
//     =>  %y = Conv(%x, %w * s, %b + sum of %w * (%bias - %mean * s))     where it pads nothing, or nothing is shifted
//
// Exact up to rounding: computes the new weights in double and rounds once.
#include <algorithm>
#include <cmath>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/operands.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/ops/attributes.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::DType;
using ir::Node;
using ir::NodeId;
using ir::Tensor;
using ir::ValueId;

/// What BatchNormalization does to a channel: y = x * factor + offset.
struct Affine {
  std::vector<double> factor;
  std::vector<double> offset;
};

std::optional<Affine> affine_of_norm(const ir::Graph& graph, const Node& norm) {
  const Tensor* scale = constant_f32_operand(graph, norm, 1);
  const Tensor* bias = constant_f32_operand(graph, norm, 2);
  const Tensor* mean = constant_f32_operand(graph, norm, 3);
  const Tensor* variance = constant_f32_operand(graph, norm, 4);
  if (scale == nullptr || bias == nullptr || mean == nullptr || variance == nullptr) return std::nullopt;
  double epsilon = ir::attrs_of(norm).float_of("epsilon");
  Affine affine;
  for (size_t i = 0; i < scale->as<float>().size(); ++i) {
    double factor = scale->as<float>()[i] / std::sqrt(static_cast<double>(variance->as<float>()[i]) + epsilon);
    affine.factor.push_back(factor);
    affine.offset.push_back(bias->as<float>()[i] - mean->as<float>()[i] * factor);
  }
  return affine;
}

/// One element for each extent of dimension `axis` of `shape`, from a constant that is broadcast to it.
std::optional<std::vector<double>> per_channel(const Tensor& constant, const ir::Shape& shape, size_t axis) {
  const ir::Shape& from = constant.shape();
  if (from.size() > shape.size()) return std::nullopt;
  const auto channels = static_cast<size_t>(shape[axis]);
  const size_t front = shape.size() - from.size();
  const bool has_axis = axis >= front && from[axis - front] != 1;
  if (constant.count() != (has_axis ? shape[axis] : 1)) return std::nullopt;
  std::vector<double> elements;
  for (size_t c = 0; c < channels; ++c) elements.push_back(constant.as<float>()[has_axis ? c : 0]);
  return elements;
}

/// The affine map that a node applies to operand `x` with a constant of the shape of its channels along `axis`; the
/// result has the shape of `x`.
std::optional<Affine> affine_of(const ir::Graph& graph, const Node& node, ValueId x, size_t axis) {
  if (node.op->name == "BatchNormalization") return axis == 1 ? affine_of_norm(graph, node) : std::nullopt;
  const ir::Shape& shape = graph.value(x).type.shape;
  if (graph.value(node.outputs[0]).type.shape != shape || axis >= shape.size()) return std::nullopt;
  const bool x_is_first = node.inputs[0] == x;
  const Tensor* constant = constant_f32_operand(graph, node, x_is_first ? 1 : 0);
  if (constant == nullptr) return std::nullopt;
  const std::optional<std::vector<double>> numbers = per_channel(*constant, shape, axis);
  if (!numbers || (node.op->name == "Div" && !x_is_first)) return std::nullopt;
  Affine affine{std::vector<double>(numbers->size(), 1), std::vector<double>(numbers->size(), 0)};
  for (size_t c = 0; c < numbers->size(); ++c) {
    const double number = (*numbers)[c];
    if (node.op->name == "Mul") affine.factor[c] = number;
    if (node.op->name == "Div") affine.factor[c] = 1 / number;
    if (node.op->name == "Add") affine.offset[c] = number;
    if (node.op->name == "Sub") affine.offset[c] = x_is_first ? -number : number;
    if (node.op->name == "Sub" && !x_is_first) affine.factor[c] = -1;
  }
  return affine;
}

bool is_affine(const Node& node) {
  const std::string_view op = node.op->name;
  const bool is_kind = op == "Add" || op == "Sub" || op == "Mul" || op == "Div" || op == "BatchNormalization";
  return is_kind && !node.pin && node.outputs.size() == 1 && !ir::attrs_of(node).is_on("training_mode");
}

bool is_finite(const Affine& affine) {
  const auto finite = [](double number) { return std::isfinite(number); };
  return std::all_of(affine.factor.begin(), affine.factor.end(), finite) &&
         std::all_of(affine.offset.begin(), affine.offset.end(), finite);
}

bool shifts(const Affine& affine) {
  return std::any_of(affine.offset.begin(), affine.offset.end(), [](double offset) { return offset != 0; });
}

bool scales(const Affine& affine) {
  return std::any_of(affine.factor.begin(), affine.factor.end(), [](double factor) { return factor != 1; });
}

/// A weight as [groups, rows, channels, inner]: its elements at (g, r, c, i) belong to output channel g * channels + c.
struct WeightLayout {
  size_t groups = 1;
  size_t rows = 1;
  size_t channels = 1;
  size_t inner = 1;
};

WeightLayout weight_layout(const Node& node, const ir::Shape& shape) {
  auto dim = [&shape](size_t d) { return static_cast<size_t>(shape[d]); };
  if (node.op->name == "Gemm") {
    const bool is_transposed = ir::attrs_of(node).is_on("transB");
    return is_transposed ? WeightLayout{1, 1, dim(0), dim(1)} : WeightLayout{1, dim(0), dim(1), 1};
  }
  size_t window = 1;
  for (size_t d = 2; d < shape.size(); ++d) window *= dim(d);
  if (node.op->name == "MatMul") return {1, dim(0), dim(1), 1};
  if (node.op->name == "Conv") return {1, 1, dim(0), dim(1) * window};
  // ConvTranspose: [C, M / group, k…].
  const auto groups = static_cast<size_t>(ir::attrs_of(node).int_of("group"));
  return {groups, dim(0) / groups, dim(1), window};
}

/// `weight` with every output channel multiplied by its factor.
Tensor scale_channels(const Tensor& weight, const WeightLayout& layout, const std::vector<double>& factors) {
  Tensor scaled(DType::F32, weight.shape());
  const float* from = weight.as<float>().data();
  float* to = scaled.as<float>().data();
  for (size_t g = 0; g < layout.groups; ++g) {
    for (size_t r = 0; r < layout.rows; ++r) {
      for (size_t c = 0; c < layout.channels; ++c) {
        const double factor = factors[g * layout.channels + c];
        for (size_t i = 0; i < layout.inner; ++i) *to++ = static_cast<float>(*from++ * factor);
      }
    }
  }
  return scaled;
}

struct Merged {
  Tensor weight;
  std::optional<Tensor> bias;  ///< none: MatMul
};

/// Whether f32 holds the products.
bool is_finite(const Merged& merged) {
  const auto finite = [](const Tensor& data) {
    const auto elements = data.as<float>();
    return std::all_of(elements.begin(), elements.end(), [](float element) { return std::isfinite(element); });
  };
  return finite(merged.weight) && (!merged.bias || finite(*merged.bias));
}

std::optional<Merged> merge(const ir::Graph& graph, const Node& node, const Affine& affine) {
  size_t channels = affine.factor.size();
  const Tensor* weight = constant_f32_operand(graph, node, 1);
  if (weight == nullptr) return std::nullopt;
  if (node.op->name == "MatMul") {
    if (weight->shape().size() != 2 || shifts(affine)) return std::nullopt;
    return Merged{scale_channels(*weight, weight_layout(node, weight->shape()), affine.factor), std::nullopt};
  }
  // alpha * x * W: the factor goes into W. beta * C: the bias becomes a new one, with beta 1.
  double beta = node.op->name == "Gemm" ? ir::attrs_of(node).float_of("beta") : 1.0;
  std::vector<double> old_bias(channels, 0.0);
  if (has_operand(node, 2)) {
    const Tensor* bias = constant_f32_operand(graph, node, 2);
    if (bias == nullptr) return std::nullopt;
    auto elements = bias->as<float>();
    bool is_row = !bias->shape().empty() && static_cast<size_t>(bias->shape().back()) == elements.size();
    bool fits = elements.size() == 1 || (is_row && elements.size() == channels);
    if (!fits) return std::nullopt;
    for (size_t c = 0; c < channels; ++c) old_bias[c] = beta == 0 ? 0 : beta * elements[elements.size() == 1 ? 0 : c];
  }
  // Weights that nothing scales stay the constant that they are.
  const bool is_scaled = scales(affine);
  Merged merged{is_scaled ? scale_channels(*weight, weight_layout(node, weight->shape()), affine.factor) : *weight,
                Tensor(DType::F32, {static_cast<int64_t>(channels)})};
  for (size_t c = 0; c < channels; ++c) {
    merged.bias->as<float>()[c] = static_cast<float>(old_bias[c] * affine.factor[c] + affine.offset[c]);
  }
  if (!has_operand(node, 2) && !shifts(affine)) merged.bias.reset();
  return merged;
}

/// The operand of `node` that a Conv, ConvTranspose, Gemm or MatMul makes for it alone; invalid if there is none.
ValueId merged_operand(const ir::Graph& graph, const Node& node) {
  if (!is_affine(node)) return {};
  for (size_t i = 0; i < (node.op->name == "BatchNormalization" ? 1 : 2); ++i) {
    const ir::Value& value = graph.value(node.inputs[i]);
    if (!value.producer.is_valid() || value.uses.size() != 1 || value.is_output) continue;
    const Node& producer = graph.node(value.producer);
    const std::string_view op = producer.op->name;
    const bool is_kind = op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul";
    if (is_kind && !producer.pin) return node.inputs[i];
  }
  return {};
}

/// Channels of a result: dimension 1 of pictures, the columns of products.
size_t channel_axis(const ir::Graph& graph, const Node& node, ValueId result) {
  const bool is_product = node.op->name == "Gemm" || node.op->name == "MatMul";
  return is_product ? graph.value(result).type.shape.size() - 1 : 1;
}

/// A node changes channels of what another makes; it goes away.
struct MergeAfter {
  NodeId into;
  ValueId operand;  ///< the result of `into`
  Merged merged;
};

std::optional<MergeAfter> merge_after(const ir::Graph& graph, const Node& node) {
  const ValueId operand = merged_operand(graph, node);
  if (!operand.is_valid()) return std::nullopt;
  const NodeId into = graph.value(operand).producer;
  const Node& target = graph.node(into);
  std::optional<Affine> affine = affine_of(graph, node, operand, channel_axis(graph, target, operand));
  if (!affine || !is_finite(*affine)) return std::nullopt;
  std::optional<Merged> merged = merge(graph, target, *affine);
  if (!merged || !is_finite(*merged)) return std::nullopt;
  return MergeAfter{into, operand, std::move(*merged)};
}

/// The convolution `conv` takes over what changes the channels of its operand: y = conv(x * factor + offset).
struct MergeBefore {
  ValueId x;
  Merged merged;
};

std::optional<MergeBefore> merge_before(const ir::Graph& graph, const Node& conv) {
  if (conv.op->name != "Conv" || conv.pin) return std::nullopt;
  const ir::Value& value = graph.value(conv.inputs[0]);
  if (!value.producer.is_valid() || value.uses.size() != 1 || value.is_output) return std::nullopt;
  const Node& node = graph.node(value.producer);
  const Tensor* weight = constant_f32_operand(graph, conv, 1);
  const Tensor* bias = constant_f32_operand(graph, conv, 2);
  if (!is_affine(node) || weight == nullptr || (has_operand(conv, 2) && bias == nullptr)) return std::nullopt;
  for (size_t i = 0; i < (node.op->name == "BatchNormalization" ? 1 : 2); ++i) {
    std::optional<Affine> affine = affine_of(graph, node, node.inputs[i], 1);
    if (!affine || !is_finite(*affine)) continue;
    const runtime::Ints pads = ir::attrs_of(conv).ints_of("pads");
    const std::string auto_pad = ir::attrs_of(conv).string_of("auto_pad");
    const bool has_pads = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; }) ||
                          (auto_pad != "NOTSET" && auto_pad != "VALID");
    if (shifts(*affine) && has_pads) continue;
    const auto channels = static_cast<size_t>(weight->shape()[0]), per_group = static_cast<size_t>(weight->shape()[1]);
    if (weight->count() == 0) continue;
    const size_t window = static_cast<size_t>(weight->count()) / channels / per_group;
    const size_t in_group = channels / static_cast<size_t>(ir::attrs_of(conv).int_of("group"));
    Merged merged{Tensor(DType::F32, weight->shape()), Tensor(DType::F32, {weight->shape()[0]})};
    const float* from = weight->as<float>().data();
    float* to = merged.weight.as<float>().data();
    for (size_t m = 0; m < channels; ++m) {
      double sum = bias != nullptr ? bias->as<float>()[m] : 0;
      for (size_t c = 0; c < per_group; ++c) {
        const size_t channel = m / in_group * per_group + c;
        for (size_t k = 0; k < window; ++k) {
          sum += *from * affine->offset[channel];
          *to++ = static_cast<float>(*from++ * affine->factor[channel]);
        }
      }
      merged.bias->as<float>()[m] = static_cast<float>(sum);
    }
    if (bias == nullptr && !shifts(*affine)) merged.bias.reset();
    if (!is_finite(merged)) continue;
    return MergeBefore{node.inputs[i], std::move(merged)};
  }
  return std::nullopt;
}

/// The node with other weights and bias.
void write_merged(ir::GraphRewriter& rewriter, const ir::Graph& graph, NodeId id, ValueId x, const Merged& merged) {
  const Node& node = graph.node(id);
  const std::string& weight_name = graph.value(node.inputs[1]).name;
  const std::string& bias_base = has_operand(node, 2) ? graph.value(node.inputs[2]).name : weight_name + ".bias";
  const Tensor* old_weight = constant_f32_operand(graph, node, 1);
  const bool keeps_weight = old_weight->data() == merged.weight.data();
  std::vector<ValueId> inputs = {rewriter.copied(x)};
  inputs.push_back(keeps_weight ? rewriter.copied(node.inputs[1])
                                : rewriter.add_constant(weight_name + ".bn", ir::make_constant(merged.weight)));
  if (merged.bias) inputs.push_back(rewriter.add_constant(bias_base + ".bn", ir::make_constant(*merged.bias)));
  ir::AttrMap attrs = node.attrs;
  if (attrs.has("beta")) attrs.set("beta", 1.0);
  rewriter.copy_as(id, *node.op, std::move(inputs), std::move(attrs));
}

/// One node into another, wherever that is possible; chains need several rounds.
bool fold_once(ir::Graph& graph) {
  std::vector<std::optional<MergeBefore>> before(graph.node_count());  // by the Conv
  std::vector<const MergeAfter*> takes(graph.node_count(), nullptr);   // by the Conv, ConvTranspose, Gemm, MatMul
  std::vector<std::optional<MergeAfter>> after(graph.node_count());    // by the node that goes away
  std::vector<bool> is_touched(graph.node_count(), false);
  bool changed = false;
  for (NodeId id : graph.node_ids()) {
    std::optional<MergeAfter> found = merge_after(graph, graph.node(id));
    if (!found || is_touched[found->into.slot()]) continue;
    is_touched[id.slot()] = is_touched[found->into.slot()] = changed = true;
    after[id.slot()] = std::move(found);
    takes[after[id.slot()]->into.slot()] = &*after[id.slot()];
  }
  std::vector<bool> is_left_out(graph.node_count(), false);
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (is_touched[id.slot()] || node.op->name != "Conv") continue;
    const NodeId producer = graph.value(node.inputs[0]).producer;
    if (!producer.is_valid() || is_touched[producer.slot()]) continue;
    before[id.slot()] = merge_before(graph, node);
    if (!before[id.slot()]) continue;
    is_left_out[producer.slot()] = is_touched[id.slot()] = is_touched[producer.slot()] = changed = true;
  }
  if (!changed) return false;

  ir::GraphRewriter rewriter(graph);
  for (NodeId id : graph.node_ids()) {
    if (after[id.slot()]) rewriter.rename(after[id.slot()]->operand, graph.value(graph.first_output(id)).name);
  }
  for (NodeId id : graph.node_ids()) {
    if (is_left_out[id.slot()]) continue;
    if (after[id.slot()]) {
      rewriter.replace(graph.first_output(id), rewriter.copied(after[id.slot()]->operand));
    } else if (takes[id.slot()] != nullptr) {
      write_merged(rewriter, graph, id, graph.node(id).inputs[0], takes[id.slot()]->merged);
    } else if (before[id.slot()]) {
      write_merged(rewriter, graph, id, before[id.slot()]->x, before[id.slot()]->merged);
    } else {
      rewriter.copy(id);
    }
  }
  graph = rewriter.finish();
  return true;
}

}  // namespace

bool fold_batch_norm(ir::Graph& graph, PassContext&) {
  constexpr int kMostRounds = 16;
  int rounds = 0;
  while (rounds < kMostRounds && fold_once(graph)) ++rounds;
  return rounds > 0;
}

}  // namespace collage::passes
