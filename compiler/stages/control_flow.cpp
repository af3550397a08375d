// SPDX-License-Identifier: Apache-2.0
// If and Loop. A body is a graph of its own: its stages are made once for each set of shapes that it meets, and the
// values of the graph around it are operands as any others.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/stages/host_nodes.h"
#include "compiler/stages/slices.h"

namespace collage::stages {
namespace {

using import::GraphRef;
using import::NodeView;
using runtime::Result;
using runtime::Status;

Result<GraphRef> body_of(const NodeView& node, std::string_view attribute) {
  auto body = node.bodies.find(attribute);
  if (body == node.bodies.end()) return Status::error(fmt::format("it has no `{}`", attribute));
  return body->second;
}

/// A state: what is constant around a loop is none inside, or each turn would be compiled for itself.
StageValue as_state(StageValue value) {
  value.is_constant = false;
  value.digest.clear();
  return value;
}

/// The states of a loop, and what its turns gave beside them.
class LoopRun {
 public:
  LoopRun(const NodeView& node, GraphRef body, const Scope& scope, GraphRunner& runner)
      : node_(node), body_(body), scope_(scope), runner_(runner) {}

  StageResult run() {
    if (Status status = read_operands(); !status) return status;
    for (int64_t turn = 0; turn < most_ && goes_on_; ++turn) {
      if (Status status = run_turn(turn); !status) return status;
    }
    const ResultTypes types = types_without_turns();
    std::vector<StageValue> results = std::move(states_);
    for (size_t i = 0; i < rows_.size(); ++i) {
      Result<ir::Tensor> stacked = rows_[i].empty() ? no_rows(types[results.size() + 1], 0) : concat(rows_[i], 0);
      if (!stacked && is_wanted(node_, results.size())) return stacked.status();
      results.push_back(value_of(stacked ? std::move(*stacked) : ir::Tensor()));
      results.back().has_run_time_shape = true;
    }
    return results;
  }

 private:
  Status read_operands() {
    Result<int64_t> most = int_operand(node_, 0, scope_, std::numeric_limits<int64_t>::max());
    if (!most) return most.status();
    most_ = *most;
    Result<int64_t> condition = int_operand(node_, 1, scope_, 1);
    if (!condition) return condition.status();
    goes_on_ = *condition != 0;
    for (size_t i = 2; i < node_.inputs.size(); ++i) {
      Result<StageValue> state = scope_.get(node_.inputs[i]);
      if (!state) return state.status();
      states_.push_back(as_state(std::move(*state)));
    }
    const size_t outputs = runner_.file().output_names(body_).size();
    if (runner_.file().input_names(body_).size() != states_.size() + 2 || outputs < states_.size() + 1) {
      return Status::error(fmt::format("its body has {} inputs and {} outputs, which does not fit {} states",
                                       runner_.file().input_names(body_).size(), outputs, states_.size()));
    }
    rows_.resize(outputs - 1 - states_.size());
    return Status::ok();
  }

  Status run_turn(int64_t turn) {
    std::vector<StageValue> inputs{value_of(int_scalar(turn)), value_of(bool_scalar(goes_on_))};
    inputs.insert(inputs.end(), states_.begin(), states_.end());
    StageResult outputs = runner_.run(body_, inputs, &scope_, node_.where);
    if (!outputs) return outputs.status();
    const StageValue& condition = outputs->front();
    if (!condition.is_tensor() || condition.tensor.count() != 1 || is_float(condition.tensor.dtype())) {
      return Status::error("the condition that its body gives is not one bool");
    }
    goes_on_ = runtime::element_as_int(condition.tensor.view(), 0) != 0;
    for (size_t i = 0; i < states_.size(); ++i) states_[i] = as_state(std::move((*outputs)[i + 1]));
    for (size_t i = 0; i < rows_.size(); ++i) {
      StageValue& row = (*outputs)[i + 1 + states_.size()];
      if (!row.is_tensor()) return Status::error("a result of each turn must be a tensor");
      rows_[i].push_back(with_axis(row.tensor, 0));
    }
    return Status::ok();
  }

  /// What the results of a turn would be, by output of the body; empty where turns gave them or there are none.
  ResultTypes types_without_turns() {
    if (rows_.empty() || !rows_.front().empty()) return {};
    ResultTypes inputs = {ir::TensorType{ir::DType::I64, {}}, ir::TensorType{ir::DType::Bool, {}}};
    for (const StageValue& state : states_) {
      inputs.push_back(state.is_tensor() ? std::optional(state.type()) : std::nullopt);
    }
    return runner_.result_types(body_, inputs, &scope_);
  }

  const NodeView& node_;
  GraphRef body_;
  const Scope& scope_;
  GraphRunner& runner_;
  int64_t most_ = 0;
  bool goes_on_ = true;
  std::vector<StageValue> states_;
  std::vector<std::vector<ir::Tensor>> rows_;
};

}  // namespace

StageResult run_If(const NodeView& node, const Scope& scope, GraphRunner& runner) {
  if (!has_operand(node, 0)) return Status::error("it has no condition");
  Result<int64_t> condition = int_operand(node, 0, scope, 0);
  if (!condition) return condition.status();
  const std::string_view branch = *condition != 0 ? "then_branch" : "else_branch";
  Result<GraphRef> body = body_of(node, branch);
  if (!body) return body.status();
  StageResult results = runner.run(*body, {}, &scope, fmt::format("{}, {}", node.where, branch));
  // The condition may choose another branch in the next run.
  if (results) std::transform(results->begin(), results->end(), results->begin(), as_state);
  return results;
}

StageResult run_Loop(const NodeView& node, const Scope& scope, GraphRunner& runner) {
  Result<GraphRef> body = body_of(node, "body");
  if (!body) return body.status();
  return LoopRun(node, *body, scope, runner).run();
}

}  // namespace collage::stages
