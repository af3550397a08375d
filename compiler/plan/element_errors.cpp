// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/element_errors.h"

#include <cmath>
#include <limits>
#include <set>

#include "compiler/ir/analysis/evaluate_nodes.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/placement/placement.h"
#include "runtime/core/element.h"

namespace collage::plan {
namespace {

using ir::ValueId;
using runtime::Result;
using runtime::Tensor;

constexpr size_t kMostNodes = 24;
/// Elements that all evaluations of a partition compute: about a second.
constexpr double kMostWork = 2.5e8;

double least_normal(ir::DType dtype) {
  return dtype == ir::DType::F64 ? std::numeric_limits<double>::min()
                                 : static_cast<double>(std::numeric_limits<float>::min());
}

bool is_denormal(double x, ir::DType dtype) {
  return x != 0 && std::abs(x) < least_normal(dtype);
}

/// What is done to a value before it is read: it is multiplied, or its denormal numbers become 0.
struct Change {
  ValueId value{};
  double factor = 1;
  bool flushes = false;

  Tensor of(const Tensor& tensor) const {
    Tensor made(tensor.dtype(), tensor.shape());
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const double x = runtime::element_as_double(tensor.view(), i);
      runtime::set_element(made.view(), i, flushes && is_denormal(x, tensor.dtype()) ? 0 : x * factor);
    }
    return made;
  }
};

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

  /// What the reference kernels make of `result`. `denormal`: values of which some are.
  Result<Tensor> evaluate(ValueId result, const Change& change, std::set<ValueId>* denormal = nullptr) const {
    auto made = ir::evaluate_nodes(
        graph_, nodes_, [&](ValueId value) { return value == change.value ? change.of(read_(value)) : read_(value); },
        [&](ValueId value, Tensor& tensor) {
          if (value == change.value) tensor = change.of(tensor);
          if (denormal == nullptr || !runtime::is_float(tensor.dtype())) return;
          for (int64_t i = 0; i < tensor.count(); ++i) {
            if (!is_denormal(runtime::element_as_double(tensor.view(), i), tensor.dtype())) continue;
            denormal->insert(value);
            break;
          }
        });
    if (!made) return made.status();
    return (*made)[result.slot()];
  }

  /// Adds what the worse of the changes does to each element.
  runtime::Status add_effect(ValueId result, const Tensor& reference, const std::vector<Change>& changes,
                             std::vector<double>* bounds) const {
    std::vector<double> effects(bounds->size(), 0.0);
    for (const Change& change : changes) {
      Result<Tensor> moved = evaluate(result, change);
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
  const double evaluations = static_cast<double>(1 + 2 * ir::boundary_inputs(graph, nodes).size() + 3 * nodes.size());
  for (ir::NodeId id : nodes) {
    if (!is_bounded(graph, id)) return false;
    elements += static_cast<double>(runtime::element_count(graph.value(graph.first_output(id)).type.shape));
  }
  return elements * evaluations <= kMostWork;
}

Result<std::optional<ElementError>> find_element_error(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                                       const ReadValue& read, ValueId value, const Tensor& got,
                                                       double tolerance) {
  const ir::DType dtype = graph.value(value).type.dtype;
  if (dtype != ir::DType::F32 && dtype != ir::DType::F64) return std::optional<ElementError>();
  const Bounds bounds(graph, nodes, read);
  std::set<ValueId> denormal;
  Result<Tensor> reference = bounds.evaluate(value, {}, &denormal);
  if (!reference) return reference.status();
  std::vector<double> allowed(static_cast<size_t>(reference->count()), least_normal(dtype));
  for (ValueId input : ir::boundary_inputs(graph, nodes)) {
    if (!runtime::is_float(graph.value(input).type.dtype)) continue;
    const double by = 2 * runtime::epsilon_of(dtype);
    runtime::Status status = bounds.add_effect(value, *reference, {{input, 1 - by}, {input, 1 + by}}, &allowed);
    if (!status) return status;
  }
  for (ir::NodeId id : nodes) {
    const ValueId made = graph.first_output(id);
    if (!runtime::is_float(graph.value(made).type.dtype)) continue;
    std::vector<Change> changes = {{made, 1 - tolerance}, {made, 1 + tolerance}};
    if (denormal.contains(made)) changes.push_back({made, 1, true});
    runtime::Status status = bounds.add_effect(value, *reference, changes, &allowed);
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
