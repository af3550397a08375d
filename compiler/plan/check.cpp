// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/evaluate_nodes.h"
#include "runtime/core/element.h"
#include "runtime/runner/compare_tensors.h"

namespace collage::plan {
namespace {

using runtime::Result;
using runtime::Status;
using runtime::Tensor;

std::string describe(const CheckRow& row) {
  if (row.is_of_given) return fmt::format("as given %{}", row.value);
  if (row.is_rounding) return fmt::format("rounding %{}", row.value);
  return row.partition.empty() ? fmt::format("output %{}", row.value) : fmt::format("{} %{}", row.partition, row.value);
}

}  // namespace

bool CheckReport::passed() const {
  return std::all_of(rows.begin(), rows.end(), [](const CheckRow& row) { return row.passed; });
}

CheckRow compare(const Tensor& got, const Tensor& reference, double tolerance, double slack) {
  const runner::TensorDifference found = runner::compare(got, reference, tolerance, slack);
  CheckRow row;
  row.max_difference = found.max_difference;
  row.max_magnitude = found.max_magnitude;
  row.passed = found.passed;
  return row;
}

namespace {

double tolerance_of(const BuiltPlan& built, size_t partition, double tolerance) {
  if (partition >= built.lowerings.size()) return tolerance;
  double lost = 0;  // the calls of a partition follow each other
  for (const LoweringRequest& request : built.lowerings[partition]) lost = std::hypot(lost, tolerance_of(request));
  return std::max(tolerance, lost);
}

/// How far apart two results may be that differ a little before they are rounded: one step of the storage.
struct Rounding {
  double relative = 0;
  double absolute = 0;

  void allow(const std::optional<runtime::Storage>& storage) {
    if (!storage) return;
    if (storage->type == runtime::StorageType::F16) relative = std::max(relative, 0x1p-10);
    if (storage->type == runtime::StorageType::BF16) relative = std::max(relative, 0x1p-7);
    if (storage->quantisation) absolute = std::max(absolute, storage->quantisation->scale);
  }

  /// So many steps of an integer of 8 or 16 bits, or of the scale of what is dequantised.
  void allow_steps(const ir::Graph& graph, ir::ValueId value, int steps) {
    const ir::Value& made = graph.value(value);
    const runtime::DType dtype = made.type.dtype;
    const bool is_quantised = dtype != runtime::DType::Bool && !runtime::is_float(dtype) && runtime::size_of(dtype) < 4;
    if (is_quantised) absolute = std::max(absolute, static_cast<double>(steps));
    if (!made.producer.is_valid() || graph.node(made.producer).op->name != "DequantizeLinear") return;
    const ir::Value& scale = graph.value(graph.node(made.producer).inputs.at(1));
    if (!scale.is_constant()) return;
    for (int64_t i = 0; i < scale.constant->data.count(); ++i) {
      absolute = std::max(absolute, steps * std::abs(runtime::element_as_double(scale.constant->data.view(), i)));
    }
  }

  /// As many operators of a partition round to f16 or bf16, each of them perhaps to the other neighbour: those whose
  /// results a value depends on, whatever its own dtype is. `nodes` ascend.
  void allow(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, ir::ValueId value) {
    std::set<ir::ValueId> read = {value};
    double epsilon = 0;
    double rounded = 0;  // operators
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
      const ir::Node& node = graph.node(*id);
      if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId made) { return read.contains(made); }))
        continue;
      for (ir::ValueId made : node.outputs) {
        if (!made.is_valid() || !runtime::is_narrow_float(graph.value(made).type.dtype)) continue;
        epsilon = std::max(epsilon, runtime::epsilon_of(graph.value(made).type.dtype));
        ++rounded;
      }
      read.insert(node.inputs.begin(), node.inputs.end());
    }
    relative = std::max(relative, epsilon * std::sqrt(rounded));
  }
};

const runtime::Buffer& buffer_of(const BuiltPlan& built, runtime::BufferId id) {
  return built.plan.buffers[static_cast<size_t>(id)];
}

/// The tensor as it comes back from a storage.
Tensor rounded(const Tensor& tensor, const std::optional<runtime::Storage>& storage) {
  if (!storage) return tensor;
  Tensor stored(runtime::DType::U8,
                {static_cast<int64_t>(runtime::stored_bytes(tensor.dtype(), tensor.shape(), storage))});
  Tensor back(tensor.dtype(), tensor.shape());
  runtime::rewrite(tensor.dtype(), tensor.shape(), tensor.data(), {}, stored.data(), {"plain", storage});
  runtime::rewrite(tensor.dtype(), tensor.shape(), stored.data(), {"plain", storage}, back.data(), {});
  return back;
}

/// All that a value may have been stored as before the run returned it.
Rounding rounding_of_output(const std::vector<CheckedPart>& parts, const std::string& value) {
  Rounding rounding;
  for (const CheckedPart& part : parts) {
    for (const runtime::Buffer& buffer : part.built.plan.buffers) {
      if (buffer.name == value) rounding.allow(buffer.tensor.form.storage);
    }
  }
  return rounding;
}

bool rounds(const BuiltPlan& built) {
  const bool computes_rounded = std::any_of(built.lowerings.begin(), built.lowerings.end(), [](const auto& requests) {
    return std::any_of(requests.begin(), requests.end(),
                       [](const LoweringRequest& request) { return request.precision.has_value(); });
  });
  return computes_rounded ||
         std::any_of(built.plan.buffers.begin(), built.plan.buffers.end(),
                     [](const runtime::Buffer& buffer) { return buffer.tensor.form.storage.has_value(); });
}

/// Every value that the run has produced so far, by value id, and what the reference makes of it partition by
/// partition.
class Replay {
 public:
  Replay(const ir::Graph& graph, const std::vector<Tensor>& inputs) : graph_(graph), values_(graph.value_count()) {
    for (ir::ValueId value : graph.value_ids()) {
      if (graph.value(value).is_constant()) values_[value.slot()] = graph.value(value).constant->data;
    }
    size_t given = std::min(inputs.size(), graph.inputs().size());
    for (size_t i = 0; i < given; ++i) values_[graph.inputs()[i].slot()] = inputs[i];
  }

  const Tensor& produced(ir::ValueId value) const { return values_[value.slot()]; }
  void set_produced(ir::ValueId value, Tensor tensor) { values_[value.slot()] = std::move(tensor); }

  /// What the reference kernels make of the values that the partition really read. By value id; others empty.
  /// `read`: those operands of which it read something else than was made.
  Result<std::vector<Tensor>> reference(const std::vector<ir::NodeId>& nodes,
                                        const std::map<ir::ValueId, Tensor>& read) const {
    return ir::evaluate_nodes(graph_, nodes, [&](ir::ValueId value) { return operand(value, read); });
  }

  /// What the partition that read `read` really read of a value.
  Tensor operand(ir::ValueId value, const std::map<ir::ValueId, Tensor>& read) const {
    return read.contains(value) ? read.at(value) : values_[value.slot()];
  }

  std::vector<ir::NodeId> nodes_of(const runtime::PlanPartition& partition) const {
    std::vector<ir::NodeId> nodes;
    for (const std::string& name : partition.nodes) nodes.push_back(graph_.find_node(name));
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

 private:
  const ir::Graph& graph_;
  std::vector<Tensor> values_;
};

/// Judges results of elementwise operators one by one, too.
void judge_elements(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, const ReadValue& read,
                    ir::ValueId value, const Tensor& got, double tolerance, CheckRow* row) {
  if (!has_element_bounds(graph, nodes)) return;
  auto found = find_element_error(graph, nodes, read, value, got, tolerance);
  if (!found || !*found) return;
  row->passed = false;
  row->wrong_element = **found;
}

/// What all parts find out together. Their steps run at the same time, but a part makes a value only after the values
/// that it reads: those were noted before they left for it.
class Findings {
 public:
  Findings(const ir::Graph& graph, const std::vector<Tensor>& inputs, double tolerance, int integer_steps)
      : graph_(graph), tolerance_(tolerance), integer_steps_(integer_steps), replay_(graph, inputs) {}

  void add(CheckRow row, std::string partition, std::string backend, ir::ValueId value) {
    row.partition = std::move(partition);
    row.backend = std::move(backend);
    row.value = graph_.value(value).name;
    rows_.push_back({value, std::move(row)});
  }

  /// After a failure the values of its partition are missing, and nothing that reads them can be checked.
  runtime::StepRunner::Observer observer_of(const CheckedPart& part) {
    auto read = std::make_shared<Operands>(part.built.results.size());
    return [this, &part, read](const runtime::StepReport& step) {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) return;
      for (size_t p = 0; p < part.built.results.size(); ++p) {
        // Before the partition's step: it may write over what it has read. The first step reads model inputs as they
        // are.
        if (part.built.results[p].last_step != step.step + 1) continue;
        for (const auto& [value, buffer] : part.built.results[p].rounded_operands) {
          Result<Tensor> operand = part.executor.read(buffer);
          if (operand) (*read)[p].emplace(value, *operand);
        }
      }
      for (size_t p = 0; p < part.built.results.size() && failure_.empty(); ++p) {
        // Parts of split partitions make values that the model does not have: their join is checked.
        const PartitionResults& results = part.built.results[p];
        if (!results.values.empty() && results.last_step == step.step) check_partition(part, p, (*read)[p]);
      }
    };
  }

  const Replay& replay() const { return replay_; }
  const std::string& failure() const { return failure_; }
  std::vector<CheckRow> take_rows(bool by_value) {
    if (by_value)
      std::stable_sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<CheckRow> rows;
    for (auto& [value, row] : rows_) rows.push_back(std::move(row));
    return rows;
  }

 private:
  using Operands = std::vector<std::map<ir::ValueId, Tensor>>;

  void check_partition(const CheckedPart& part, size_t p, const std::map<ir::ValueId, Tensor>& read) {
    const BuiltPlan& built = part.built;
    const runtime::PlanPartition& partition = built.plan.partitions[p];
    const std::vector<ir::NodeId> nodes = replay_.nodes_of(partition);
    Result<std::vector<Tensor>> reference = replay_.reference(nodes, read);
    if (!reference) {
      failure_ = "the reference fails in " + partition.name + ": " + reference.message();
      return;
    }
    for (const auto& [value, buffer] : built.results[p].values) {
      Result<Tensor> got = part.executor.read(buffer);
      if (!got) {
        failure_ = "reading a result back: " + got.message();
        return;
      }
      const std::optional<runtime::Storage>& storage = buffer_of(built, buffer).tensor.form.storage;
      Rounding rounding{tolerance_of(built, p, tolerance_)};
      rounding.allow(storage);
      rounding.allow(graph_, nodes, value);
      rounding.allow_steps(graph_, value, integer_steps_);
      CheckRow row = compare(*got, rounded((*reference)[value.slot()], storage), rounding.relative, rounding.absolute);
      if (row.passed && rounding.relative == tolerance_ && rounding.absolute == 0) {
        judge_elements(
            graph_, nodes, [&](ir::ValueId v) { return replay_.operand(v, read); }, value, *got, tolerance_, &row);
      }
      add(std::move(row), partition.name, partition.backend, value);
      replay_.set_produced(value, *got);
    }
  }

  const ir::Graph& graph_;
  double tolerance_;
  int integer_steps_;
  std::mutex mutex_;
  Replay replay_;
  std::string failure_;
  std::vector<std::pair<ir::ValueId, CheckRow>> rows_;
};

}  // namespace

Result<CheckReport> check_plan(const ir::Graph& graph, const BuiltPlan& built, runtime::Executor& executor,
                               const std::vector<Tensor>& inputs, double tolerance, int integer_steps) {
  return check_parts(graph, {{built, executor}}, inputs, tolerance, integer_steps);
}

Result<CheckReport> check_parts(const ir::Graph& graph, const std::vector<CheckedPart>& parts,
                                const std::vector<Tensor>& inputs, double tolerance, int integer_steps) {
  CheckReport report;
  report.tolerance = tolerance;
  Findings findings(graph, inputs, tolerance, integer_steps);
  for (const CheckedPart& part : parts) part.executor.observe(findings.observer_of(part));
  Result<std::vector<Tensor>> outputs = parts.front().executor.run(inputs);
  for (const CheckedPart& part : parts) part.executor.observe({});
  if (!outputs) return outputs.status();
  if (!findings.failure().empty()) return Status::error(findings.failure());
  report.rows = findings.take_rows(parts.size() > 1);
  auto add = [&](CheckRow row, ir::ValueId value) {
    row.value = graph.value(value).name;
    report.rows.push_back(std::move(row));
  };
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    ir::ValueId output = graph.outputs()[i];
    Rounding rounding = rounding_of_output(parts, graph.value(output).name);
    rounding.relative = std::max(rounding.relative, tolerance);
    add(compare((*outputs)[i], findings.replay().produced(output), rounding.relative, rounding.absolute), output);
  }
  if (std::none_of(parts.begin(), parts.end(), [](const CheckedPart& part) { return rounds(part.built); }))
    return report;
  Result<std::vector<Tensor>> exact = ir::evaluate_graph(graph, inputs);
  if (!exact) return exact.status();
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    add(compare((*outputs)[i], (*exact)[i], tolerance), graph.outputs()[i]);
    report.rows.back().is_rounding = report.rows.back().passed = true;
  }
  return report;
}

std::string print(const CheckReport& report) {
  size_t width = 10;
  for (const CheckRow& row : report.rows) width = std::max(width, describe(row).size());
  std::string text = fmt::format("{:<{}}  {:>10}  {:>10}  {}\n", "check", width, "max |diff|", "max |y|", "backend");
  for (const CheckRow& row : report.rows) {
    text += fmt::format("{:<{}}  {:>10.3g}  {:>10.3g}  {}{}\n", describe(row), width, row.max_difference,
                        row.max_magnitude, row.backend, row.passed ? "" : "  FAILED");
  }
  return text;
}

void report_failures(const CheckReport& report, support::Diagnostics& diags) {
  for (const CheckRow& row : report.rows) {
    if (row.passed) continue;
    if (row.is_of_given) {
      diags
          .error_at(support::Code::CheckFailed, row.backend.empty() ? "passes" : row.backend,
                    "`%{}` is not what it was before this pass: it differs by {:.3g}, its largest element is {:.3g}",
                    row.value, row.max_difference, row.max_magnitude)
          .note("`--disable-pass {}` leaves it out", row.backend);
      continue;
    }
    if (row.wrong_element) {
      diags.error_at(support::Code::CheckFailed, describe(row),
                     "element {} of `%{}` is {:.7g}, the reference is {:.7g}", row.wrong_element->element, row.value,
                     row.wrong_element->got, row.wrong_element->reference);
      continue;
    }
    diags.error_at(support::Code::CheckFailed, describe(row),
                   "`%{}` differs from the reference by {:.3g}, its largest element is {:.3g}", row.value,
                   row.max_difference, row.max_magnitude);
  }
}

}  // namespace collage::plan
