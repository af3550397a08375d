// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/element_errors.h"

#include <cmath>
#include <limits>

#include "compiler/ir/evaluate_nodes.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/placement.h"
#include "runtime/core/element.h"

namespace collage::plan {
namespace {

using ir::ValueId;
using runtime::Result;
using runtime::Tensor;

/// Evaluations of the whole partition grow with its nodes, and the work of one with the elements.
constexpr size_t kMostNodes = 24;
constexpr double kMostWork = 1e9;

Tensor scaled(const Tensor& tensor, double factor) {
  Tensor made(tensor.dtype(), tensor.shape());
  for (int64_t i = 0; i < tensor.count(); ++i) {
    runtime::set_element(made.view(), i, runtime::element_as_double(tensor.view(), i) * factor);
  }
  return made;
}

/// A unit in the last place of 1.
double unit_of(ir::DType dtype) {
  return dtype == ir::DType::F64 ? std::numeric_limits<double>::epsilon()
                                 : static_cast<double>(std::numeric_limits<float>::epsilon());
}

double least_normal(ir::DType dtype) {
  return dtype == ir::DType::F64 ? std::numeric_limits<double>::min()
                                 : static_cast<double>(std::numeric_limits<float>::min());
}

bool is_bounded(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const bool is_function = node.op->kind == ir::FusionKind::Elementwise;
  const bool is_sum_of_two = node.op->kind == ir::FusionKind::Broadcast && node.inputs.size() <= 2;
  return (is_function || is_sum_of_two) && node.outputs.size() == 1;
}

class Bounds {
 public:
  Bounds(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, const ReadValue& read)
      : graph_(graph), nodes_(nodes), read_(read) {}

  /// What the reference kernels make of `result`, with `changed` multiplied by a factor.
  Result<Tensor> evaluate(ValueId result, ValueId changed, double factor) const {
    auto made = ir::evaluate_nodes(
        graph_, nodes_, [&](ValueId value) { return value == changed ? scaled(read_(value), factor) : read_(value); },
        [&](ValueId value, Tensor& tensor) {
          if (value == changed) tensor = scaled(tensor, factor);
        });
    if (!made) return made.status();
    return (*made)[result.slot()];
  }

  /// Adds what changing a value does to each element.
  runtime::Status add_effect(ValueId result, const Tensor& reference, ValueId changed, double by,
                             std::vector<double>* bounds) const {
    std::vector<double> effects(bounds->size(), 0.0);
    for (const double factor : {1 - by, 1 + by}) {
      Result<Tensor> moved = evaluate(result, changed, factor);
      if (!moved) return moved.status();
      for (int64_t i = 0; i < reference.count(); ++i) {
        const double before = runtime::element_as_double(reference.view(), i);
        const double after = runtime::element_as_double(moved->view(), i);
        double effect = before == after ? 0 : std::abs(after - before);
        if (std::isnan(effect)) effect = std::isnan(before) ? 0 : std::numeric_limits<double>::infinity();
        effects[static_cast<size_t>(i)] = std::max(effects[static_cast<size_t>(i)], effect);
      }
    }
    for (size_t i = 0; i < bounds->size(); ++i) (*bounds)[i] += effects[i];
    return runtime::Status::ok();
  }

 private:
  const ir::Graph& graph_;
  const std::vector<ir::NodeId>& nodes_;
  const ReadValue& read_;
};

}  // namespace

bool has_element_bounds(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  if (nodes.empty() || nodes.size() > kMostNodes) return false;
  double elements = 0;
  for (ir::NodeId id : nodes) {
    if (!is_bounded(graph, id)) return false;
    elements += static_cast<double>(runtime::element_count(graph.value(graph.first_output(id)).type.shape));
  }
  return elements * static_cast<double>(nodes.size()) <= kMostWork / 16;
}

Result<std::optional<ElementError>> find_element_error(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                                       const ReadValue& read, ValueId value, const Tensor& got,
                                                       double tolerance) {
  const ir::DType dtype = graph.value(value).type.dtype;
  if (dtype != ir::DType::F32 && dtype != ir::DType::F64) return std::optional<ElementError>();
  const Bounds bounds(graph, nodes, read);
  Result<Tensor> reference = bounds.evaluate(value, ValueId(), 1);
  if (!reference) return reference.status();
  std::vector<double> allowed(static_cast<size_t>(reference->count()), least_normal(dtype));
  for (ValueId input : ir::boundary_inputs(graph, nodes)) {
    if (!runtime::is_float(graph.value(input).type.dtype)) continue;
    runtime::Status status = bounds.add_effect(value, *reference, input, 2 * unit_of(dtype), &allowed);
    if (!status) return status;
  }
  for (ir::NodeId id : nodes) {
    const ValueId made = graph.first_output(id);
    if (!runtime::is_float(graph.value(made).type.dtype)) continue;
    runtime::Status status = bounds.add_effect(value, *reference, made, tolerance, &allowed);
    if (!status) return status;
  }
  std::optional<ElementError> worst;
  double worst_excess = 0;
  for (int64_t i = 0; i < reference->count(); ++i) {
    const double want = runtime::element_as_double(reference->view(), i);
    const double have = runtime::element_as_double(got.view(), i);
    if (have == want || (std::isnan(have) && std::isnan(want))) continue;
    double excess = std::abs(have - want) / allowed[static_cast<size_t>(i)];
    if (std::isnan(excess)) excess = std::numeric_limits<double>::infinity();
    if (excess <= 1 || excess <= worst_excess) continue;
    worst_excess = excess;
    worst = ElementError{i, have, want};
  }
  return worst;
}

}  // namespace collage::plan
