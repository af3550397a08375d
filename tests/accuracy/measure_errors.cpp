// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/measure_errors.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/measure/candidate_text.h"
#include "compiler/measure/time_candidate.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/sema/model/build_graph.h"
#include "compiler/sema/model/rule_test_model.h"
#include "runtime/core/random.h"
#include "tests/accuracy/in_dtype.h"
#include "tests/accuracy/plain_f32.h"

namespace collage::testing {
namespace {

using ir::DType;
using runtime::Tensor;

/// The whole graph in plain f32.
runtime::Result<Tensor> evaluate_plain(const ir::Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<ir::ValueId, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    std::vector<Tensor> operands;
    for (ir::ValueId input : node.inputs) {
      const bool is_constant = input.is_valid() && graph.value(input).is_constant();
      operands.push_back(!input.is_valid() ? Tensor()
                         : is_constant     ? graph.value(input).constant->data
                                           : values[input]);
    }
    const ir::ValueId result = graph.first_output(id);
    const ir::TensorType& type = graph.value(result).type;
    if (auto plain = plain_f32(node, operands, type.shape)) {
      values[result] = *plain;
      continue;
    }
    auto rounded = ir::evaluate_node(*node.op, operands, node.attrs, {type});
    if (!rounded) return rounded.status();
    values[result] = (*rounded)[0];
  }
  return values[graph.outputs()[0]];
}

/// Infinite where one of them is not a number and the other one is. Elements that overflow f32 in both do not count.
Error error_of(const Tensor& got, const Tensor& truth) {
  double magnitude = 0, squares = 0;
  Error error;
  const auto exact = truth.as<double>();
  const auto actual = got.as<float>();
  auto overflows = [](double y) { return std::abs(y) > static_cast<double>(std::numeric_limits<float>::max()); };
  for (double y : exact) {
    if (std::isfinite(y) && !overflows(y)) magnitude = std::max(magnitude, std::abs(y));
  }
  if (magnitude == 0) magnitude = 1;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double y = exact[i];
    const auto mine = static_cast<double>(actual[i]);
    const bool is_same = std::isnan(y) ? std::isnan(mine) : overflows(y) && std::isinf(mine);
    double off = is_same ? 0 : std::abs(mine - y) / magnitude;
    if (std::isnan(off)) off = std::numeric_limits<double>::infinity();
    error.greatest = std::max(error.greatest, off);
    squares += off * off;
  }
  error.rms = std::sqrt(squares / static_cast<double>(std::max<size_t>(1, exact.size())));
  return error;
}

std::optional<ir::Graph> graph_of(const AccuracyCase& one, support::SourceManager& sources,
                                  support::Diagnostics& diags) {
  ir::RuleTest test;
  test.model = one.statements;
  for (const auto& [name, shape] : one.inputs) test.inputs.emplace_back(name, ir::TensorType{DType::F32, shape});
  for (const auto& [name, shape] : one.weights) {
    test.inputs.emplace_back(name, ir::TensorType{DType::F32, shape});
    test.constants.push_back(name);
  }
  return sema::build_test_model(sources, one.kind, test, diags);
}

struct Truth {
  std::vector<Tensor> inputs;
  Tensor exact;
};

/// The truth for a candidate's model, and what the reference kernels and plain f32 make of it.
runtime::Result<Truth> find_truth(const AccuracyCase& one, const ir::Graph& graph, CaseErrors* errors) {
  Truth truth;
  std::vector<Tensor> wide_inputs;
  for (ir::ValueId input : graph.inputs()) {
    const uint64_t seed = truth.inputs.size() + 7;
    const ir::TensorType& type = graph.value(input).type;
    truth.inputs.push_back(runtime::random_tensor(type.dtype, type.shape, seed, -one.range, one.range));
    wide_inputs.push_back(in_dtype(truth.inputs.back(), ir::DType::F64));
  }
  std::optional<ir::Graph> wide = in_dtype(graph, ir::DType::F64);
  if (!wide) return runtime::Status::error("no f64 form");
  auto exact = ir::evaluate_graph(*wide, wide_inputs), rounded = ir::evaluate_graph(graph, truth.inputs);
  auto plain = evaluate_plain(graph, truth.inputs);
  if (!exact) return exact.status();
  if (!rounded) return rounded.status();
  if (!plain) return plain.status();
  truth.exact = (*exact)[0];
  errors->reference = error_of((*rounded)[0], truth.exact);
  errors->plain = error_of(*plain, truth.exact);
  return truth;
}

}  // namespace

Error worse(const Error& a, const Error& b) {
  return {std::max(a.greatest, b.greatest), std::max(a.rms, b.rms)};
}

CaseErrors measure_errors(const AccuracyCase& one, const ir::RuleSet& rules,
                          const std::vector<request::Activation>& activations,
                          const std::vector<std::string>& processors) {
  CaseErrors errors;
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::optional<ir::Graph> graph = graph_of(one, sources, diags);
  place::ActiveBackends active;
  for (const request::Activation& activation : activations) {
    if (activation.absent.empty()) active.push_back(activation.active);
  }
  std::optional<place::BuiltProblem> built;
  if (graph) built = place::build_problem(*graph, rules, active, diags);
  if (!built) {
    errors.problem = diags.render();
    return errors;
  }
  const plan::PlanTargets targets = request::plan_targets(rules, activations, 1);
  std::optional<Truth> truth;
  std::set<std::string> seen;
  for (place::CandidateId id : built->candidate_ids()) {
    const ir::Partition partition = place::candidate_partition(*graph, *built, id);
    if (partition.nodes.size() != graph->node_count()) continue;
    const std::string text = measure::candidate_text(*graph, partition);
    std::optional<sema::Model> model = sema::load_model_text(sources, sources.add("<candidate>", text), "", diags);
    if (!model) continue;
    if (!truth) {
      auto found = find_truth(one, model->graph, &errors);
      if (!found) {
        errors.problem = found.message();
        return errors;
      }
      truth = *found;
    }
    const bool is_ours = partition.backend == "host";
    std::string formats = partition.backend;
    for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
      for (const ir::BoundaryValue& value : *boundary) formats += " " + ir::to_string(value.format);
    }
    if (!seen.insert(formats).second) continue;
    errors.layouts += is_ours;
    for (const std::string& processor : is_ours ? processors : std::vector<std::string>{""}) {
      codegen::JitOptions options;
      options.cpu = processor;
      auto loaded = measure::LoadedCandidate::load(text, targets, options);
      if (!loaded && !is_ours) continue;
      const std::string who = formats + (processor.empty() ? "" : " for " + processor);
      if (!loaded || (is_ours && (*loaded)->calls_reference_kernels())) {
        errors.problem = who + ": " + (loaded ? "a reference kernel runs" : loaded.message());
        return errors;
      }
      auto results = (*loaded)->run(truth->inputs);
      if (!results) {
        errors.problem = who + ": " + results.message();
        return errors;
      }
      Error& error = is_ours ? errors.ours[processor] : errors.libraries[partition.backend];
      error = worse(error, error_of((*results)[0], truth->exact));
    }
  }
  return errors;
}

}  // namespace collage::testing
