// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/candidates/host_cost.h"

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "compiler/match/evaluate.h"

namespace collage::place {
namespace {

/// Two cores with AVX-512 and two FMA units reach 480 GFLOP/s on paper, generated code over whole networks 180. The
/// same figure as in rules/host.rules: the two compete for the same nodes.
constexpr double kFlopsPerSecond = 180e9;
/// What the plain loops of the reference kernels reach, in contractions and elsewhere.
constexpr double kReferenceMacsPerSecond = 2e9;
constexpr double kReferenceFlopsPerSecond = 0.4e9;
/// Elements that operators without arithmetic read and write there, one at a time.
constexpr double kReferenceElementsPerSecond = 1e9;
/// One socket's memory, as a stream of reads and writes sees it.
constexpr double kBytesPerSecond = 10e9;
/// Limits the estimate of one operator, so that costs of hundreds can be added up. The host can run every operator,
/// however long it takes.
constexpr double kMostSeconds = 1e4;
/// A call of a compiled kernel and waking the pool.
constexpr double kLaunchSeconds = 1e-6;

/// Arithmetic on bytes is taken for the reference kernels' work.
bool has_bytes(const ir::Graph& graph, ir::NodeId id) {
  auto is_byte = [&graph](ir::ValueId value) {
    if (!value.is_valid()) return false;
    ir::DType dtype = graph.value(value).type.dtype;
    return dtype == ir::DType::I8 || dtype == ir::DType::U8;
  };
  const ir::Node& node = graph.node(id);
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_byte) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_byte);
}

double elements_of(const ir::Graph& graph, ir::NodeId id) {
  double elements = 0;
  for (const auto* values : {&graph.node(id).inputs, &graph.node(id).outputs}) {
    for (ir::ValueId value : *values) {
      if (value.is_valid()) elements += static_cast<double>(runtime::element_count(graph.value(value).type.shape));
    }
  }
  return elements;
}

double seconds_of_arithmetic(const ir::Graph& graph, ir::NodeId node, bool lacks_code) {
  ir::Work work = ir::work_of(graph, node);
  if (work.flops == 0) return lacks_code ? elements_of(graph, node) / kReferenceElementsPerSecond : 0;
  if (!lacks_code && !has_bytes(graph, node)) return work.flops / kFlopsPerSecond;
  return work.macs / kReferenceMacsPerSecond + (work.flops - 2 * work.macs) / kReferenceFlopsPerSecond;
}

}  // namespace

double reference_seconds(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, const HasCode& has_code) {
  double seconds = 0;
  for (ir::NodeId node : nodes) {
    if (has_code && !has_code(graph, node)) seconds += seconds_of_arithmetic(graph, node, true);
  }
  return std::min(seconds, kMostSeconds * static_cast<double>(nodes.size()));
}

runtime::Duration host_cost(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, const HasCode& has_code) {
  match::Quantities work = match::quantities_of(graph, nodes);
  double arithmetic = 0;
  for (ir::NodeId node : nodes) arithmetic += seconds_of_arithmetic(graph, node, has_code && !has_code(graph, node));
  const double seconds = kLaunchSeconds + std::max(arithmetic, work.bytes / kBytesPerSecond);
  return runtime::Duration::seconds(std::min(seconds, kMostSeconds * static_cast<double>(nodes.size())));
}

}  // namespace collage::place
