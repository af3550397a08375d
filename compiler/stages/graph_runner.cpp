// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages/graph_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/stages/host_nodes.h"
#include "runtime/core/joined.h"

namespace collage::stages {
namespace {

using import::GraphRef;
using import::NodeView;
using runtime::Result;
using runtime::Status;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostReports = 256;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::optional<import::KnownValue> known_value(const StageValue* value, bool is_bound) {
  if (value == nullptr) return std::nullopt;
  if (!value->is_tensor()) return import::KnownValue{};
  return import::KnownValue{value->type(), is_bound || value->is_constant ? &value->tensor : nullptr};
}

/// Whether the value may differ from run to run: initializers do not.
bool depends_on_run(const StageValue* value) {
  return value != nullptr && !(value->is_constant && value->digest.empty());
}

std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  for (ir::ValueId value : values) names.push_back(graph.value(value).name);
  return names;
}

}  // namespace

struct GraphRunner::Stage {
  std::vector<std::string> inputs, outputs;
  std::map<std::string, StageValue> constants;
  std::unique_ptr<StageProgram> program;  ///< null: there is nothing to compute
  std::vector<std::pair<int, NodeView>> ready;
  Point* next = nullptr;  ///< null: nothing is left
  StageReport* report = nullptr;
};

struct GraphRunner::Point {
  GraphRef graph;
  std::vector<int> nodes;
  std::string name;
  std::vector<std::string> reads;                        ///< what the nodes read of others
  std::map<std::string, std::shared_ptr<Stage>> stages;  ///< by what they were made for
};

GraphRunner::GraphRunner(std::shared_ptr<const import::OnnxFile> file, StageSettings settings, size_t kept,
                         support::Diagnostics& diags)
    : file_(std::move(file)), settings_(std::move(settings)), kept_(std::max<size_t>(kept, 1)), diags_(diags) {
  // A stage does not show what later ones test.
  if (file_->tests_special_values()) settings_.settings.code.numerics = codegen::Numerics::Strict;
}

GraphRunner::~GraphRunner() = default;

StageResult GraphRunner::run(const std::map<std::string, StageValue>& inputs) {
  Scope scope(*file_, file_->graph(), nullptr);
  for (const auto& [name, value] : inputs) scope.set(name, value);
  return run(file_->graph(), scope, "main");
}

StageResult GraphRunner::run(GraphRef body, const std::vector<StageValue>& inputs, const Scope* outer,
                             const std::string& name) {
  Scope scope(*file_, body, outer);
  const std::vector<std::string> names = file_->input_names(body);
  for (size_t i = 0; i < std::min(names.size(), inputs.size()); ++i) scope.set(names[i], inputs[i]);
  return run(body, scope, name);
}

StageResult GraphRunner::run(GraphRef graph, Scope& scope, const std::string& name) {
  Result<Point*> first = start(graph, name);
  if (!first) return first.status();
  for (Point* point = *first; point != nullptr;) {
    Result<std::shared_ptr<Stage>> stage = stage_for(*point, scope);
    if (!stage) return stage.status();
    const std::shared_ptr<Stage> held = *stage;  // bodies may drop it
    if (Status status = run_stage(*held, scope); !status) return status;
    for (const auto& [index, node] : held->ready) {
      StageResult results = run_node(node, index, *point, scope);
      if (!results) return results.status();
      for (size_t i = 0; i < std::min(results->size(), node.outputs.size()); ++i)
        scope.set(node.outputs[i], std::move((*results)[i]));
    }
    point = held->next;
  }
  std::vector<StageValue> outputs;
  for (const std::string& output : file_->output_names(graph)) {
    Result<StageValue> value = scope.get(output);
    if (!value) return value.status();
    outputs.push_back(std::move(*value));
  }
  return outputs;
}

const ResultTypes& GraphRunner::result_types(GraphRef body, const ResultTypes& inputs, const Scope* outer) {
  const Scope scope(*file_, body, outer);
  std::map<std::string, import::KnownValue> given;
  const std::vector<std::string> names = file_->input_names(body);
  std::string key;
  for (size_t i = 0; i < std::min(names.size(), inputs.size()); ++i) {
    given.emplace(names[i], import::KnownValue{inputs[i]});
    key += fmt::format("{}, ", inputs[i] ? ir::to_string(*inputs[i]) : "none");
  }
  for (const std::string& name : reads_of_body(body)) {
    const StageValue* value = given.contains(name) ? nullptr : scope.find(name);
    if (depends_on_run(value)) key += fmt::format("{} {}, ", name, key_of(*value));
  }
  const auto known = std::find_if(known_types_.begin(), known_types_.end(),
                                  [&](const KnownTypes& one) { return one.body == body && one.key == key; });
  if (known != known_types_.end()) {
    known_types_.splice(known_types_.begin(), known_types_, known);
    return known_types_.front().types;
  }
  const auto find = [&](const std::string& name) {
    const auto input = given.find(name);
    return input != given.end() ? std::optional(input->second) : known_value(scope.find(name), false);
  };
  known_types_.push_front({body, std::move(key), make_types(body, find)});
  if (known_types_.size() > kept_) known_types_.pop_back();
  return known_types_.front().types;
}

ResultTypes GraphRunner::make_types(GraphRef body, const FindValue& find) const {
  // Problems of the body are errors only where it runs.
  support::Diagnostics unheard(diags_.sources());
  std::optional<import::ImportedStage> stage;
  if (auto order = import::order_of_nodes(*file_, body, unheard)) {
    stage = import::import_stage(*file_, {body, std::move(*order), find}, unheard);
  }
  ResultTypes types;
  const std::vector<std::string> outputs = file_->output_names(body);
  for (size_t i = 0; i < outputs.size(); ++i) {
    types.push_back(file_->output_type(body, i));
    const ir::ValueId made = stage ? stage->graph.find_value(outputs[i]) : ir::ValueId();
    if (made.is_valid()) {
      types.back() = stage->graph.value(made).type;
    } else if (const std::optional<import::KnownValue> known = find(outputs[i]); known && known->type) {
      types.back() = known->type;
    }
  }
  return types;
}

Result<GraphRunner::Point*> GraphRunner::start(GraphRef graph, const std::string& name) {
  auto known = starts_.find(graph);
  if (known != starts_.end()) return known->second;
  std::optional<std::vector<int>> order = import::order_of_nodes(*file_, graph, diags_);
  if (!order) return failure(name);
  Point* point = point_of(graph, std::move(*order), name);
  starts_.emplace(graph, point);
  return point;
}

/// Null where no nodes are left.
GraphRunner::Point* GraphRunner::point_of(GraphRef graph, std::vector<int> nodes, const std::string& name) {
  if (nodes.empty()) return nullptr;
  std::unique_ptr<Point>& point = points_[{graph, nodes}];
  if (point == nullptr) {
    std::vector<std::string> reads = reads_of(graph, nodes);
    point = std::make_unique<Point>(Point{graph, std::move(nodes), name, std::move(reads), {}});
  }
  return point.get();
}

/// Values that the nodes read from outside.
std::vector<std::string> GraphRunner::reads_of(GraphRef graph, const std::vector<int>& nodes) const {
  std::set<std::string> reads, made;
  for (int index : nodes) file_->add_names(graph, index, reads, made);
  for (const std::string& name : made) reads.erase(name);
  return {reads.begin(), reads.end()};
}

/// What the results of a body depend on: inputs and values around it. They may be such values themselves.
const std::vector<std::string>& GraphRunner::reads_of_body(GraphRef body) {
  auto [known, is_new] = reads_of_bodies_.try_emplace(body);
  if (is_new) {
    std::vector<int> nodes(file_->node_count(body));
    std::iota(nodes.begin(), nodes.end(), 0);
    known->second = reads_of(body, nodes);
    for (const std::string& output : file_->output_names(body)) known->second.push_back(output);
  }
  return known->second;
}

Result<std::shared_ptr<GraphRunner::Stage>> GraphRunner::stage_for(Point& point, const Scope& scope) {
  std::string key;
  for (const std::string& name : point.reads) {
    Status status = Status::ok();
    const StageValue* value = scope.find(name, &status);
    if (!status) return status;
    if (!depends_on_run(value)) continue;
    runtime::add_to_list(key, name + " " + key_of(*value));
  }
  const auto use = std::pair(&point, key);
  if (auto made = point.stages.find(key); made != point.stages.end()) {
    const auto at = std::find(used_.begin(), used_.end(), use);
    if (at != used_.end()) used_.splice(used_.begin(), used_, at);
    return made->second;
  }
  Result<std::shared_ptr<Stage>> stage = make_stage(point, scope, key);
  if (!stage) return stage;
  point.stages.emplace(key, *stage);
  used_.push_front(use);
  if (used_.size() > kept_) drop_oldest();
  return stage;
}

void GraphRunner::drop_oldest() {
  const auto& [point, key] = used_.back();
  point->stages.erase(key);
  used_.pop_back();
}

Result<std::shared_ptr<GraphRunner::Stage>> GraphRunner::make_stage(Point& point, const Scope& scope,
                                                                    const std::string& key) {
  const Clock::time_point begin = Clock::now();
  const import::StageRequest request{point.graph, point.nodes,
                                     [&](const std::string& name) { return known_value(scope.find(name), false); }};
  std::optional<import::ImportedStage> imported = import::import_stage(*file_, request, diags_);
  if (!imported) return failure(point.name);
  auto stage = std::make_shared<Stage>();
  stage->inputs = names_of(imported->graph, imported->graph.inputs());
  stage->outputs = names_of(imported->graph, imported->graph.outputs());
  for (auto& [name, tensor] : imported->constants) stage->constants.emplace(name, constant_of(std::move(tensor)));
  for (int index : imported->ready) {
    Result<NodeView> node = file_->node(point.graph, index);
    if (!node) return node.status();
    stage->ready.emplace_back(index, std::move(*node));
  }
  stage->next = point_of(point.graph, std::move(imported->waiting), point.name);
  StageReport report{point.name, key, imported->graph.node_count()};
  for (const auto& [index, node] : stage->ready) report.then.push_back(node.op);
  if (!stage->outputs.empty()) {
    const bool has_run_time_shapes = std::any_of(stage->inputs.begin(), stage->inputs.end(), [&](const auto& name) {
      const StageValue* value = scope.find(name);
      return value != nullptr && value->has_run_time_shape;
    });
    stage->program = StageProgram::make(std::move(imported->graph), has_run_time_shapes, settings_, diags_);
    if (stage->program == nullptr) return failure(point.name);
    report.backends = stage->program->backends();
    report.has_run_time_shapes = has_run_time_shapes;
  }
  report.seconds_to_make = seconds_since(begin);
  stage->report = new_report(std::move(report));
  const bool is_kept = settings_.keeps_stages && stage->program != nullptr && stage->report->stages == 1;
  if (is_kept) kept_stages_.emplace(stage->report, KeptStage{reports_.size(), {}, stage->program->graph()});
  return stage;
}

/// A loop whose states grow makes stages without end.
StageReport* GraphRunner::new_report(StageReport report) {
  if (reports_.size() < kMostReports) {
    reports_.push_back(std::make_unique<StageReport>(std::move(report)));
  } else {
    ++reports_.back()->stages;
    reports_.back()->seconds_to_make += report.seconds_to_make;
  }
  return reports_.back().get();
}

Status GraphRunner::run_stage(const Stage& stage, Scope& scope) {
  const Clock::time_point begin = Clock::now();
  for (const auto& [name, value] : stage.constants) scope.set(name, value);
  if (stage.program != nullptr) {
    std::vector<ir::Tensor> inputs;
    bool has_run_time_shape = false;
    for (const std::string& name : stage.inputs) {
      const StageValue* value = scope.find(name);
      inputs.push_back(value->tensor);
      has_run_time_shape |= value->has_run_time_shape;
    }
    Result<std::vector<ir::Tensor>> outputs = stage.program->run(inputs);
    if (!outputs) return outputs.status();
    const auto kept = kept_stages_.find(stage.report);
    if (kept != kept_stages_.end() && stage.report->stages == 1) kept->second.inputs = std::move(inputs);
    for (size_t i = 0; i < stage.outputs.size(); ++i) {
      StageValue value = value_of(std::move((*outputs)[i]));
      value.has_run_time_shape = has_run_time_shape;
      scope.set(stage.outputs[i], std::move(value));
    }
  }
  ++stage.report->runs;
  stage.report->seconds += seconds_since(begin);
  return Status::ok();
}

StageResult GraphRunner::run_node(const NodeView& node, int index, const Point& point, const Scope& scope) {
  StageResult results = std::vector<StageValue>();
  if (HostFunction run_on_host = find_host_function(node, scope)) {
    results = run_on_host(node, scope, *this);
  } else {
    results = run_operator(index, point.graph, node, scope);
  }
  if (results) return results;
  const std::string& message = results.message();
  return message.starts_with(file_->path()) ? results.status()
                                            : Status::error(fmt::format("{}: {}", node.where, message));
}

/// An operator of which only the values of its operands say what shape its results have: it is imported alone, with all
/// operands as constants.
StageResult GraphRunner::run_operator(int index, GraphRef graph, const NodeView& node, const Scope& scope) {
  const auto find = [&scope](const std::string& name) { return known_value(scope.find(name), true); };
  import::StageRequest request{graph, {index}, find};
  request.is_alone = true;
  std::optional<import::ImportedStage> imported = import::import_stage(*file_, request, diags_);
  if (!imported) return failure(node.where);
  if (!imported->is_last()) return Status::error("its shapes do not follow from its operands");
  Result<std::vector<ir::Tensor>> computed = ir::evaluate_graph(imported->graph, {});
  if (!computed) return computed.status();
  std::vector<StageValue> results;
  for (const std::string& name : node.outputs) {
    ir::Tensor tensor;
    if (auto constant = imported->constants.find(name); constant != imported->constants.end()) {
      tensor = constant->second;
    }
    for (size_t i = 0; i < computed->size(); ++i) {
      if (imported->graph.value(imported->graph.outputs()[i]).name == name) tensor = (*computed)[i];
    }
    results.push_back(value_of(std::move(tensor)));
    results.back().has_run_time_shape = true;
  }
  return results;
}

/// The reason is among the diagnostics.
Status GraphRunner::failure(const std::string& where) {
  return Status::error(fmt::format("{}: a stage of it cannot be compiled", where));
}

std::vector<StageReport> GraphRunner::reports() const {
  std::vector<StageReport> all;
  for (const auto& report : reports_) all.push_back(*report);
  return all;
}

std::vector<KeptStage> GraphRunner::kept_stages() const {
  std::vector<KeptStage> all;
  for (const auto& report : reports_) {
    const auto kept = kept_stages_.find(report.get());
    if (kept == kept_stages_.end() || report->stages != 1) continue;
    all.push_back(kept->second);
    all.back().report = *report;
  }
  return all;
}

}  // namespace collage::stages
