// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/import/onnx.h"
#include "compiler/request/foreign_model.h"
#include "compiler/request/write_model.h"
#include "compiler/sema/model/open_dims.h"
#include "compiler/syntax/parse_model.h"
#include "runtime/io/file_bytes.h"
#include "runtime/package/package.h"

namespace collage::request {
namespace {

using support::Code;

bool is_package(const std::string& path) {
  constexpr size_t kLooksAt = 16;
  return runtime::looks_like_package(runtime::beginning_of_file(path, kLooksAt));
}

std::optional<syntax::ModelAst> read_text(const std::string& path, support::SourceManager& sources,
                                          support::Diagnostics& diags) {
  if (is_package(path)) {
    return diags.error_at(Code::CannotRead, path, "is a compiled model, and no text")
        .note("`collage-run {}` runs it; the model that it was made of can be compiled again", path);
  }
  const runtime::Result<support::FileId> file = sources.load(path);
  if (!file) return diags.error_at(Code::CannotRead, path, "cannot read: {}", file.message());
  return syntax::parse_model(sources, *file, diags);
}

/// Operands that hold no data but say what the shape of a result is: all but the first, of the first those of the
/// standard's operators that have nothing else.
bool decides_shape(const import::NodeView& node, size_t operand, const ir::Tensor& tensor) {
  static constexpr std::array<std::string_view, 3> kOfFirst = {"ConstantOfShape", "If", "Range"};
  static constexpr std::array<std::string_view, 3> kOfFloats = {"Range", "Resize", "Upsample"};
  static constexpr int64_t kMostElements = 256;
  static constexpr size_t kTotalLength = 6;  // of GroupQueryAttention; the lengths of the sequences decide nothing
  const std::string_view op = node.domain.empty() ? std::string_view(node.op) : "";  // of the standard
  const auto has = [&](const auto& names) { return std::find(names.begin(), names.end(), op) != names.end(); };
  // All operands of NonMaxSuppression decide: binding some of them helps nothing.
  if (op == "NonMaxSuppression" || tensor.count() > kMostElements) return false;
  if (operand == 0 && !has(kOfFirst)) return false;
  if (node.op == "GroupQueryAttention" && operand != kTotalLength) return false;
  return !is_float(tensor.dtype()) || has(kOfFloats);
}

/// Given inputs that nodes need the values of, so that they can be part of the first stage.
std::map<std::string, ir::Tensor> deciding_inputs(const import::OnnxFile& file, const import::ImportedStage& stage,
                                                  const std::map<std::string, ir::Tensor>& given) {
  std::map<std::string, ir::Tensor> deciding;
  for (int index : stage.ready) {
    if (import::runs_on_host(file, index)) continue;
    runtime::Result<import::NodeView> node = file.node(file.graph(), index);
    for (size_t i = 0; node && i < node->inputs.size(); ++i) {
      auto tensor = given.find(node->inputs[i]);
      if (tensor != given.end() && decides_shape(*node, i, tensor->second)) deciding.insert(*tensor);
    }
  }
  return deciding;
}

/// Why a node with a body does not become the nodes of the body, where that is no matter of values: a loop has too many
/// turns.
std::optional<std::string> limit_met(const import::OnnxFile& file, const import::OnnxOptions& options,
                                     const import::NodeView& node, const support::Diagnostics& diags) {
  if (node.bodies.empty()) return std::nullopt;
  support::Diagnostics whole(diags.sources());
  import::import_onnx(file, whole, options);
  for (const support::DiagnosticRecord& record : whole.records()) {
    if (record.code == Code::UnsupportedOnnx && record.where == node.where) return record.message;
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<ModelSource> ModelSource::open(const std::string& path, support::FileAccess access,
                                               support::SourceManager& sources, support::Diagnostics& diags) {
  std::unique_ptr<ModelSource> source(new ModelSource());
  source->path_ = path;
  source->access_ = std::move(access);
  if (const std::optional<ForeignModel> foreign = find_foreign_model(path)) {
    report_foreign_model(path, *foreign, diags);
    return nullptr;
  }
  if (source->path_.extension() == ".onnx") {
    source->onnx_ = import::OnnxFile::read(path, source->access_, diags);
    if (source->onnx_ == nullptr) return nullptr;
    source->inputs_ = source->onnx_->inputs();
    source->inputs_with_default_ = source->onnx_->inputs_with_default();
    return source;
  }
  source->ast_ = read_text(path, sources, diags);
  if (!source->ast_) return nullptr;
  source->inputs_ = sema::open_inputs(*source->ast_);
  return source;
}

bool ModelSource::replace_default(const std::string& name, ir::Tensor tensor, const std::string& option,
                                  support::Diagnostics& diags) {
  const auto input = std::find_if(inputs_with_default_.begin(), inputs_with_default_.end(),
                                  [&name](const ir::OpenInput& one) { return one.name == name; });
  if (input == inputs_with_default_.end()) {
    std::vector<std::string> names;
    for (const ir::OpenInput& one : inputs_with_default_) names.push_back(one.name);
    return diags.error_at(Code::InputMismatch, option, "the model has no default for an input `{}`", name)
        .did_you_mean(support::closest(name, names));
  }
  runtime::Result<const ir::Tensor*> replaced = onnx_->initializer(onnx_->graph(), name);
  if (!replaced) return diags.error_at(Code::BadConstant, path_.string(), "{}", replaced.message());
  const ir::TensorType found{tensor.dtype(), tensor.shape()}, known{(*replaced)->dtype(), (*replaced)->shape()};
  // Sizes that the input leaves open may differ from those of the default.
  bool fits = found.dtype == known.dtype;
  if (input->dims) fits = fits && input->dims->size() == found.shape.size();
  for (size_t d = 0; fits && input->dims && d < found.shape.size(); ++d) {
    const int64_t size = (*input->dims)[d].size;
    fits = size < 0 || size == found.shape[d];
  }
  if (!fits) {
    return diags.error_at(Code::InputMismatch, option + " " + name, "the file holds {}, the default is {}",
                          ir::to_string(found), ir::to_string(known));
  }
  const bool is_new = replaced_defaults_.emplace(name, std::move(tensor)).second;
  return is_new || diags.error_at(Code::BadOption, option, "`{}` is given twice", name);
}

std::optional<sema::Model> ModelSource::build_text(const Specialisation& to, support::Diagnostics& diags) const {
  const std::string folder = path_.parent_path().string();
  std::optional<ir::ClosedShapes> shapes = ir::close_shapes(inputs_, to.bindings, path_.string(), diags);
  if (!shapes) return std::nullopt;
  if (shapes->names.empty()) return sema::build_graph(*ast_, folder, diags, access_, to.elements);
  syntax::ModelAst closed = *ast_;
  sema::set_sizes(shapes->names, closed);
  return sema::build_graph(closed, folder, diags, access_, to.elements);
}

ModelFile ModelSource::file_of(sema::Model model) const {
  std::set<std::filesystem::path> weights = files_of_constants(model.graph, path_.parent_path().string());
  return {path_, std::move(model), std::move(weights)};
}

std::optional<Specialised> ModelSource::specialise(const Specialisation& to, support::Diagnostics& diags) const {
  Specialised made;
  if (onnx_ == nullptr) {
    std::optional<sema::Model> model = build_text(to, diags);
    if (!model) return std::nullopt;
    made.whole = file_of(std::move(*model));
    return made;
  }
  import::OnnxOptions options;
  options.bindings = to.bindings;
  options.bound_inputs = replaced_defaults_;
  // Sequences and optional values whose elements are known need no stages.
  support::Diagnostics attempt(diags.sources());
  if (std::optional<ir::Graph> graph = import::import_onnx(*onnx_, attempt, options)) {
    for (const support::DiagnosticRecord& record : attempt.records())
      diags.warning_at(record.code, record.where, "{}", record.message);
    made.whole = file_of({std::move(*graph), {}});
    return made;
  }
  for (;;) {
    support::Diagnostics own(diags.sources());
    std::optional<import::ImportedStage> stage = import::import_first_stage(*onnx_, own, options);
    if (!stage) {
      // The import of the whole model reports all errors.
      std::optional<ir::Graph> graph = import::import_onnx(*onnx_, diags, options);
      if (!graph) return std::nullopt;
      made.whole = file_of({std::move(*graph), {}});
      return made;
    }
    std::map<std::string, ir::Tensor> deciding = deciding_inputs(*onnx_, *stage, to.given);
    std::erase_if(deciding, [&](const auto& one) { return options.bound_inputs.contains(one.first); });
    if (deciding.empty()) {
      for (const support::DiagnosticRecord& record : own.records())
        diags.warning_at(record.code, record.where, "{}", record.message);
      if (stage->is_last()) {
        made.whole = file_of({std::move(stage->graph), {}});
      } else {
        made.first = std::move(stage);
      }
      made.bound = std::move(options.bound_inputs);
      return made;
    }
    options.bound_inputs.merge(deciding);
  }
}

std::optional<ModelFile> ModelSource::specialise_whole(const Specialisation& to, support::Diagnostics& diags) const {
  std::optional<Specialised> made = specialise(to, diags);
  if (!made) return std::nullopt;
  if (made->whole) return std::move(made->whole);
  runtime::Result<import::NodeView> node = onnx_->node(onnx_->graph(), made->first->ready.front());
  std::string why = import::decided_by_run(node ? *node : import::NodeView());
  if (node) why = limit_met(*onnx_, {to.bindings, made->bound}, *node, diags).value_or(why);
  return diags
      .error_at(Code::NotConstant, node ? node->where : path_.string(), "{}, so the model has no plan as a whole", why)
      .note("`collagec run {} --input NAME=FILE …` runs it in stages", path_.string());
}

}  // namespace collage::request
