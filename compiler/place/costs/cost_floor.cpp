// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/costs/cost_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/rules/generators.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

/// Calling a function and coming back.
constexpr double kMinLaunchSeconds = 20e-9;
/// Outputs of a tile along a dimension in Winograd's filtering, F(4x4, 3x3): of larger tiles the error grows too much.
constexpr double kTile = 4;
/// The largest factor by which a convolution that is not plain may save multiplications.
constexpr double kMaxSavedFactor = 4;
/// A tile of bf16 multiplies 16 times as many elements in a cycle as a vector of floats.
constexpr double kTilesOverFloats = 16;
/// Bytes multiply four times as fast as floats (VNNI), and some units twice that.
constexpr double kBytesOverFloats = 8;

std::vector<int64_t> ints_of(const ir::Node& node, std::string_view name) {
  const runtime::AttrValue* value = node.attrs.find(name);
  const auto* ints = value == nullptr ? nullptr : std::get_if<runtime::Ints>(value);
  return ints == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(ints->begin(), ints->end());
}

int64_t at(const std::vector<int64_t>& list, size_t index, int64_t otherwise) {
  return index < list.size() ? list[index] : otherwise;
}

/// Share of a convolution's multiplications that are not with padding.
double share_inside(const Graph& graph, const ir::Node& node) {
  const auto& in = graph.value(node.inputs[0]).type.shape;
  const auto& kernel = graph.value(node.inputs[1]).type.shape;
  const auto& out = graph.value(node.outputs[0]).type.shape;
  const std::vector<int64_t> pads = ints_of(node, "pads"), strides = ints_of(node, "strides"),
                             dilations = ints_of(node, "dilations");
  double share = 1;
  for (size_t d = 2; d < in.size(); ++d) {
    const int64_t stride = at(strides, d - 2, 1), dilation = at(dilations, d - 2, 1), taps = kernel[d];
    const int64_t missing = (out[d] - 1) * stride + (taps - 1) * dilation + 1 - in[d];
    const int64_t before = at(pads, d - 2, std::max<int64_t>(0, missing) / 2);
    int64_t inside = 0;
    for (int64_t o = 0; o < out[d]; ++o) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t place = o * stride - before + t * dilation;
        inside += static_cast<int64_t>(place >= 0 && place < in[d]);
      }
    }
    share *= static_cast<double>(inside) / static_cast<double>(std::max<int64_t>(1, out[d] * taps));
  }
  return share;
}

/// How many times fewer products minimal filtering takes: k m against k + m - 1 for m outputs of k taps, where the
/// stride is 1.
double saved_by_filters(const Graph& graph, const ir::Node& node) {
  const auto& kernel = graph.value(node.inputs[1]).type.shape;
  const std::vector<int64_t> strides = ints_of(node, "strides");
  if (std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; })) return 1;
  double saved = 1;
  for (size_t d = 2; d < kernel.size(); ++d) {
    const auto taps = static_cast<double>(kernel[d]);
    saved *= taps * kTile / (taps + kTile - 1);
  }
  return saved;
}

bool is_byte(const Graph& graph, ValueId value) {
  const ir::DType dtype = graph.value(value).type.dtype;
  return dtype == ir::DType::I8 || dtype == ir::DType::U8;
}

/// Elements of a convolution's input for each one that differs: by how much a Resize of the same candidate has enlarged
/// it.
double times_repeated(const Graph& graph, const ir::Node& conv, const std::vector<NodeId>& candidate) {
  const NodeId producer = graph.value(conv.inputs[0]).producer;
  if (!producer.is_valid() || !std::binary_search(candidate.begin(), candidate.end(), producer)) return 1;
  const ir::Node& node = graph.node(producer);
  if (node.op->name != "Resize") return 1;
  const auto elements = [&](ValueId value) {
    return static_cast<double>(runtime::element_count(graph.value(value).type.shape));
  };
  return std::max(1.0, elements(node.outputs[0]) / std::max(1.0, elements(node.inputs[0])));
}

/// How a kernel may save time over the multiplications that the operator's definition has.
struct Savings {
  bool filters = false;  ///< minimal filtering
  double rate = 1;       ///< to that of floats
};

Savings savings_of(const ir::Partition& candidate, NodeId node, const ir::Backend* backend) {
  if (backend == nullptr) return {};
  if (backend->runtime == ir::RuntimeKind::Plugin) return {true, 1};
  for (const ir::ChosenMatch& match : candidate.matches) {
    if (!match.is_found() || !std::binary_search(match.nodes.begin(), match.nodes.end(), node)) continue;
    const ir::Kernel& kernel =
        backend->rules[static_cast<size_t>(match.rule)].kernels[static_cast<size_t>(match.kernel)];
    const std::optional<ir::Generator> generator = ir::find_generator(kernel.lowering.symbol);
    if (backend->runtime != ir::RuntimeKind::HostJit || !generator) return {};
    return {*generator == ir::Generator::Winograd, *generator == ir::Generator::AmxGemm ? kTilesOverFloats : 1};
  }
  return {};
}

/// Multiply-accumulates that cannot be left out, as those of floats.
double macs_needed(const Graph& graph, NodeId id, const ir::Partition& candidate, const ir::Backend* backend) {
  const Savings savings = savings_of(candidate, id, backend);
  const ir::Node& node = graph.node(id);
  double macs = ir::work_of(graph, id).macs;
  if (macs == 0) return 0;
  const bool has_bytes =
      std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return v.is_valid() && is_byte(graph, v); });
  if (has_bytes) macs /= kBytesOverFloats;
  if (node.op->name == "Conv") {
    macs *= share_inside(graph, node) / times_repeated(graph, node, candidate.nodes);
    if (savings.filters) macs /= saved_by_filters(graph, node);
  } else if (node.op->name != "MatMul" && node.op->name != "Gemm") {
    macs /= kMaxSavedFactor;  // transposed and others: taps between inputs, states that are zero
  }
  return macs / savings.rate;
}

/// Bytes of `value` that its reader or writer `id` cannot leave out: all, where it computes on every element.
double bytes_touched(const Graph& graph, NodeId id, ValueId value) {
  const ir::TensorType& type = graph.value(value).type;
  if (ir::work_of(graph, id).flops < static_cast<double>(runtime::element_count(type.shape))) return 0;
  double skipped = 1;
  for (int64_t stride : ints_of(graph.node(id), "strides"))
    skipped *= static_cast<double>(std::max<int64_t>(1, stride));
  return static_cast<double>(type.bytes()) / skipped;
}

double least_bytes(const Graph& graph, const std::vector<NodeId>& nodes) {
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  double bytes = 0;
  std::set<ValueId> counted;
  for (NodeId id : nodes) {
    for (ValueId input : graph.node(id).inputs) {
      if (!input.is_valid()) continue;
      const NodeId producer = graph.value(input).producer;
      if (producer.is_valid() && inside.contains(producer)) continue;
      if (counted.insert(input).second) bytes += bytes_touched(graph, id, input);
    }
  }
  for (ValueId output : ir::boundary_outputs(graph, nodes)) {
    bytes += bytes_touched(graph, graph.value(output).producer, output);
  }
  return bytes;
}

/// The node that most of the work is for.
NodeId heaviest(const Graph& graph, const std::vector<NodeId>& nodes) {
  double most = -1;
  NodeId found;
  for (NodeId id : nodes) {
    const double flops = ir::work_of(graph, id).flops;
    if (flops <= most) continue;
    most = flops;
    found = id;
  }
  return found;
}

/// The operator, and what rates differ by most: whether it works in groups, which way it moves elements.
std::string sort_of(const ir::Node& node) {
  std::string sort(node.op->name);
  const runtime::AttrValue* group = node.attrs.find("group");
  const auto* count = group == nullptr ? nullptr : std::get_if<int64_t>(group);
  if (count != nullptr && *count > 1) sort += " grouped";
  for (int64_t axis : ints_of(node, "perm")) sort += fmt::format(" {}", axis);
  return sort;
}

/// The rule whose match has the node.
std::string rule_of(const ir::Partition& candidate, NodeId node) {
  for (const ir::ChosenMatch& match : candidate.matches) {
    if (std::binary_search(match.nodes.begin(), match.nodes.end(), node)) return match.name;
  }
  return "";
}

/// All operations, and all bytes that cross the boundary.
CostFeatures features_of(const Graph& graph, const ir::Partition& candidate) {
  CostFeatures features;
  std::set<ValueId> constants;
  for (NodeId id : candidate.nodes) {
    features.operations += ir::work_of(graph, id).flops;
    for (ValueId input : graph.node(id).inputs) {
      if (input.is_valid() && graph.value(input).is_constant()) constants.insert(input);
    }
  }
  for (ValueId value : constants) features.bytes += static_cast<double>(graph.value(value).type.bytes());
  for (const auto* boundary : {&candidate.inputs, &candidate.outputs}) {
    for (const ir::BoundaryValue& entry : *boundary)
      features.bytes += static_cast<double>(graph.value(entry.value).type.bytes());
  }
  return features;
}

}  // namespace

CostFloor cost_floor(const Graph& graph, const ir::Partition& candidate, const ir::Backend* backend,
                     const MachineLimits& machine) {
  double macs = 0;
  for (NodeId node : candidate.nodes) macs += macs_needed(graph, node, candidate, backend);
  const double seconds = std::max({kMinLaunchSeconds, 2 * macs / machine.flops_per_second,
                                   least_bytes(graph, candidate.nodes) / machine.bytes_per_second});
  CostFloor result;
  result.floor = runtime::Duration::seconds(seconds);
  const NodeId most = heaviest(graph, candidate.nodes);
  result.kind = fmt::format("{} {} {}", candidate.backend, rule_of(candidate, most), sort_of(graph.node(most)));
  result.features = features_of(graph, candidate);
  return result;
}

}  // namespace collage::place
