// SPDX-License-Identifier: Apache-2.0
// Merges a BatchNormalization with constant parameters into the Conv, ConvTranspose or Gemm before it, if that result
// has no other reader. With s = scale / sqrt(var + epsilon), per output channel:
//
//     %c = Conv(%x, %w, %b)   %y = BatchNormalization(%c, %scale, %bias, %mean, %var)
//     =>  %y = Conv(%x, %w * s, (%b - %mean) * s + %bias)
//
// Computes the new weights in double and rounds once.
#include <cmath>

#include "compiler/ir/evaluate.h"
#include "compiler/ir/operands.h"
#include "compiler/ir/rewrite.h"
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

std::optional<Affine> affine_of(const ir::Graph& graph, const Node& norm) {
  const Tensor* scale = constant_f32_operand(graph, norm, 1);
  const Tensor* bias = constant_f32_operand(graph, norm, 2);
  const Tensor* mean = constant_f32_operand(graph, norm, 3);
  const Tensor* variance = constant_f32_operand(graph, norm, 4);
  if (scale == nullptr || bias == nullptr || mean == nullptr || variance == nullptr) return std::nullopt;
  double epsilon = norm.attrs.get_float("epsilon", 1e-5);
  Affine affine;
  for (size_t i = 0; i < scale->as<float>().size(); ++i) {
    double factor = scale->as<float>()[i] / std::sqrt(static_cast<double>(variance->as<float>()[i]) + epsilon);
    if (!std::isfinite(factor)) return std::nullopt;
    affine.factor.push_back(factor);
    affine.offset.push_back(bias->as<float>()[i] - mean->as<float>()[i] * factor);
  }
  return affine;
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
    const bool is_transposed = node.attrs.get_int("transB", 0) != 0;
    return is_transposed ? WeightLayout{1, 1, dim(0), dim(1)} : WeightLayout{1, dim(0), dim(1), 1};
  }
  size_t window = 1;
  for (size_t d = 2; d < shape.size(); ++d) window *= dim(d);
  if (node.op->name == "Conv") return {1, 1, dim(0), dim(1) * window};
  // ConvTranspose: [C, M / group, k…].
  const auto groups = static_cast<size_t>(node.attrs.get_int("group", 1));
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
  Tensor bias;
};

std::optional<Merged> merge(const ir::Graph& graph, const Node& node, const Affine& affine) {
  size_t channels = affine.factor.size();
  const Tensor* weight = constant_f32_operand(graph, node, 1);
  if (weight == nullptr) return std::nullopt;
  // alpha * x * W: the factor goes into W. beta * C: the bias becomes a new one, with beta 1.
  double beta = node.op->name == "Gemm" ? node.attrs.get_float("beta", 1.0) : 1.0;
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
  Merged merged{scale_channels(*weight, weight_layout(node, weight->shape()), affine.factor),
                Tensor(DType::F32, {static_cast<int64_t>(channels)})};
  for (size_t c = 0; c < channels; ++c) {
    merged.bias.as<float>()[c] = static_cast<float>(old_bias[c] * affine.factor[c] + affine.offset[c]);
  }
  return merged;
}

/// Returns the node into which the BatchNormalization `norm` may be merged; invalid if there is none.
NodeId producer_to_merge(const ir::Graph& graph, const Node& norm) {
  if (norm.op->name != "BatchNormalization" || norm.pin || norm.outputs.size() != 1) return {};
  if (norm.attrs.get_int("training_mode", 0) != 0) return {};
  const ir::Value& value = graph.value(norm.inputs[0]);
  if (!value.producer.is_valid() || value.uses.size() != 1 || value.is_output) return {};
  const Node& node = graph.node(value.producer);
  bool is_kind = node.op->name == "Conv" || node.op->name == "ConvTranspose" || node.op->name == "Gemm";
  return is_kind && !node.pin ? value.producer : NodeId();
}

}  // namespace

bool fold_batch_norm(ir::Graph& graph, PassContext&) {
  std::vector<std::optional<Merged>> merged(graph.node_count());  // by the Conv, ConvTranspose or Gemm
  std::vector<NodeId> merged_into(graph.node_count());            // by the BatchNormalization
  bool changed = false;
  for (NodeId id : graph.node_ids()) {
    NodeId target = producer_to_merge(graph, graph.node(id));
    if (!target.is_valid()) continue;
    std::optional<Affine> affine = affine_of(graph, graph.node(id));
    if (!affine) continue;
    merged[target.slot()] = merge(graph, graph.node(target), *affine);
    if (!merged[target.slot()]) continue;
    merged_into[id.slot()] = target;
    changed = true;
  }
  if (!changed) return false;

  ir::GraphRewriter rewriter(graph);
  for (NodeId id : graph.node_ids()) {
    if (merged_into[id.slot()].is_valid()) {
      rewriter.rename(graph.first_output(merged_into[id.slot()]), graph.value(graph.first_output(id)).name);
    }
  }
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (merged_into[id.slot()].is_valid()) {
      rewriter.replace(graph.first_output(id), rewriter.copied(graph.first_output(merged_into[id.slot()])));
      continue;
    }
    if (!merged[id.slot()]) {
      rewriter.copy(id);
      continue;
    }
    const std::string& weight_name = graph.value(node.inputs[1]).name;
    const std::string& bias_base = has_operand(node, 2) ? graph.value(node.inputs[2]).name : weight_name + ".bias";
    ValueId weight = rewriter.add_constant(weight_name + ".bn", ir::make_constant(merged[id.slot()]->weight));
    ValueId bias = rewriter.add_constant(bias_base + ".bn", ir::make_constant(merged[id.slot()]->bias));
    ir::AttrMap attrs = node.attrs;
    if (attrs.has("beta")) attrs.set("beta", 1.0);
    rewriter.copy_as(id, *node.op, {rewriter.copied(node.inputs[0]), weight, bias}, std::move(attrs));
  }
  graph = rewriter.finish();
  return true;
}

}  // namespace collage::passes
