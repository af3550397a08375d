// SPDX-License-Identifier: Apache-2.0
// Stages: a node whose operands are known is added; one that needs values of a run is put off, with all that reads it.
#include <algorithm>

#include "compiler/import/onnx_importer.h"
#include "compiler/import/stage.h"

namespace collage::import {

using ir::ValueId;
using support::Code;

void OnnxImporter::put_off(const onnx::NodeProto& node) {
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    failed_.erase(output);
    put_off_.insert(output);
  }
}

/// A node with branches leaves nothing behind where it is not added as a whole: its errors may be those of a branch
/// that no run takes, and it is put off, unless all its operands are known already. Other nodes may leave values
/// behind, which are then computed once more than needed.
OnnxImporter::Attempt OnnxImporter::attempt(const onnx::NodeProto& node) {
  const bool is_whole = has_body(node);
  std::optional<ir::Graph> before;
  NameSet reported;
  if (is_whole) {
    before = graph_;
    reported = unsupported_;
  }
  const size_t first = diags_.records().size();
  add_node(node);
  const auto& records = diags_.records();
  bool has_errors = false;
  bool needs_values = true;
  for (size_t i = first; i < records.size(); ++i) {
    if (records[i].severity != support::Severity::Error) continue;
    has_errors = true;
    needs_values = needs_values && records[i].code == Code::NotConstant;
  }
  if (!has_errors) return Attempt::Added;
  if (is_whole) {
    graph_ = std::move(*before);
    unsupported_ = std::move(reported);  // that error may never be shown
  }
  const bool is_alone = request_ != nullptr && request_->is_alone;
  return needs_values || (is_whole && !is_alone) ? Attempt::NeedsValues : Attempt::Failed;
}

bool OnnxImporter::add_or_put_off(int index, ImportedStage* stage) {
  const auto& node = proto_.node(index);
  const NameSet read = names_read(node);
  auto is_put_off = [this](const std::string& name) { return put_off_.contains(name); };
  if (std::any_of(read.begin(), read.end(), is_put_off)) {
    put_off(node);
    stage->waiting.push_back(index);
    return true;
  }
  auto is_no_tensor = [this](const std::string& name) {
    if (name.empty() || request_ == nullptr || graph_.find_value(name).is_valid()) return false;
    std::optional<KnownValue> known = request_->find(name);
    return known && !known->type;
  };
  const bool is_unrolled = is_loop(node) && knows_turns(node);
  const bool is_on_host =
      (runs_on_host(node) && !is_unrolled) || std::any_of(node.input().begin(), node.input().end(), is_no_tensor);
  const Attempt outcome = is_on_host ? Attempt::NeedsValues : attempt(node);
  if (outcome == Attempt::Failed) return false;
  if (outcome == Attempt::Added) return true;
  put_off(node);
  stage->ready.push_back(index);
  return true;
}

/// Results that other stages and nodes of the host read, and results of the graph.
void OnnxImporter::mark_stage_outputs(ImportedStage* stage) {
  NameSet wanted;
  for (const std::vector<int>* nodes : {&stage->ready, &stage->waiting}) {
    for (int i : *nodes) wanted.merge(names_read(proto_.node(i)));
  }
  for (const auto& output : proto_.output()) wanted.insert(output.name());
  if (request_ != nullptr && request_->is_alone) {
    const auto& outputs = proto_.node(request_->nodes.front()).output();
    wanted.insert(outputs.begin(), outputs.end());
  }
  for (const std::string& name : wanted) {
    ValueId value = name.empty() ? ValueId() : graph_.find_value(name);
    if (!value.is_valid() || graph_.value(value).is_input) continue;
    if (graph_.value(value).is_constant()) {
      stage->constants.emplace(name, graph_.value(value).constant->data);
    } else if (!graph_.value(value).is_output) {
      graph_.mark_output(value);
    }
  }
}

std::optional<ImportedStage> OnnxImporter::run_first_stage() {
  is_in_stages_ = true;
  if (!check_names(proto_, file_, diags_)) return std::nullopt;
  if (!proto_.name().empty()) graph_.name = proto_.name();
  if (!read_header()) return std::nullopt;
  add_inputs();
  add_initializers(proto_);
  std::optional<std::vector<int>> order = node_order();
  if (!order || diags_.has_errors()) return std::nullopt;
  ImportedStage stage;
  for (int i : *order) {
    if (!add_or_put_off(i, &stage)) return std::nullopt;
  }
  if (stage.is_last()) {
    const size_t first = diags_.error_count();
    mark_outputs();
    if (diags_.error_count() > first) return std::nullopt;
  } else {
    mark_stage_outputs(&stage);
  }
  stage.graph = std::move(graph_);
  return stage;
}

std::optional<ImportedStage> OnnxImporter::run_stage(const StageRequest& request) {
  request_ = &request;
  is_in_stages_ = true;
  if (!proto_.name().empty()) graph_.name = proto_.name();
  if (!read_header()) return std::nullopt;
  ImportedStage stage;
  for (int i : request.nodes) {
    if (!add_or_put_off(i, &stage)) return std::nullopt;
  }
  mark_stage_outputs(&stage);
  stage.graph = std::move(graph_);
  return stage;
}

namespace {

/// Copies what `from` reports, but for the errors of nodes that were put off: all of them where `has_stage`.
void pass_on(const support::Diagnostics& from, bool has_stage, support::Diagnostics& to) {
  for (const support::DiagnosticRecord& record : from.records()) {
    const bool is_error = record.severity == support::Severity::Error;
    if (is_error && (has_stage || record.code == Code::NotConstant)) continue;
    support::Diagnostic copy = is_error ? to.error_at(record.code, record.where, "{}", record.message)
                                        : to.warning_at(record.code, record.where, "{}", record.message);
    for (const support::Note& note : record.notes) copy.note("{}", note.message);
  }
}

}  // namespace

std::optional<ImportedStage> import_first_stage(const OnnxFile& file, support::Diagnostics& diags,
                                                const OnnxOptions& options) {
  const onnx::GraphProto& graph = file.proto().graph();
  support::Diagnostics own(diags.sources());
  auto stage = OnnxImporter(file, graph, options, collect_names(graph), own).run_first_stage();
  pass_on(own, stage.has_value(), diags);
  return stage;
}

std::optional<std::vector<int>> order_of_nodes(const OnnxFile& file, GraphRef graph, support::Diagnostics& diags) {
  const OnnxOptions options;
  return OnnxImporter(file, *graph, options, {}, diags).node_order();
}

std::optional<ImportedStage> import_stage(const OnnxFile& file, const StageRequest& request,
                                          support::Diagnostics& diags) {
  // Every constant is folded: results of a stage may be constants. Names of the graphs around are taken.
  ModelNames names;
  for (int i : request.nodes) {
    const onnx::NodeProto& node = request.graph->node(i);
    names.taken.insert(node.output().begin(), node.output().end());
    names.read.merge(names_read(node));
    if (request.is_alone) names.read.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : request.graph->output()) names.read.insert(output.name());
  names.taken.insert(names.read.begin(), names.read.end());
  support::Diagnostics own(diags.sources());
  const OnnxOptions options;
  auto stage = OnnxImporter(file, *request.graph, options, std::move(names), own).run_stage(request);
  pass_on(own, stage.has_value(), diags);
  return stage;
}

}  // namespace collage::import
