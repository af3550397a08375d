// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/input/model_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/driver/output/write_model.h"
#include "compiler/import/onnx.h"
#include "compiler/syntax/dump_model.h"
#include "compiler/syntax/parse_model.h"
#include "runtime/io/file_bytes.h"
#include "runtime/package/package.h"

namespace collage::driver {
namespace {

using support::Code;

bool is_onnx(const ModelRequest& request) {
  return std::filesystem::path(request.path).extension() == ".onnx";
}

support::FileAccess access_of(const ModelRequest& request) {
  return support::FileAccess({request.path}, request.allows_outside);
}

std::optional<sema::Model> read_onnx(const ModelRequest& request, support::Diagnostics& diags) {
  import::OnnxOptions options;
  options.access = access_of(request);
  for (const auto& [name, shape] : request.shapes) options.input_shapes[name] = shape;
  std::optional<ir::Graph> graph = import::import_onnx(request.path, diags, options);
  if (!graph) return std::nullopt;
  return sema::Model{std::move(*graph), {}};
}

bool is_package(const std::string& path) {
  constexpr size_t kLooksAt = 16;
  return runtime::looks_like_package(runtime::beginning_of_file(path, kLooksAt));
}

/// The text of a model. Its shapes are fixed.
std::optional<support::FileId> load_text(const ModelRequest& request, support::SourceManager& sources,
                                         support::Diagnostics& diags) {
  for (const auto& [name, shape] : request.shapes) {
    return diags.error_at(Code::BadOption, "--shape " + name, "the shapes of a model text are fixed: `{}`",
                          fmt::join(shape, "x"));
  }
  if (is_package(request.path)) {
    return diags.error_at(Code::CannotRead, request.path, "is a compiled model, and no text")
        .note("`collage-run {}` runs it; the model that it was made of can be compiled again", request.path);
  }
  std::string why;
  std::optional<support::FileId> file = sources.load(request.path, &why);
  if (!file) return diags.error_at(Code::CannotRead, request.path, "cannot read: {}", why);
  return file;
}

std::optional<sema::Model> read_text(const ModelRequest& request, support::SourceManager& sources,
                                     support::Diagnostics& diags) {
  std::optional<support::FileId> file = load_text(request, sources, diags);
  if (!file) return std::nullopt;
  return sema::load_model_text(sources, *file, std::filesystem::path(request.path).parent_path().string(), diags,
                               access_of(request));
}

}  // namespace

std::optional<ModelFile> read_model_file(const ModelRequest& request, support::SourceManager& sources,
                                         support::Diagnostics& diags) {
  std::optional<sema::Model> model = is_onnx(request) ? read_onnx(request, diags) : read_text(request, sources, diags);
  if (!model) return std::nullopt;
  std::filesystem::path path(request.path);
  std::set<std::filesystem::path> weights = files_of_constants(model->graph, path.parent_path().string());
  return ModelFile{std::move(path), std::move(*model), std::move(weights)};
}

std::optional<std::string> print_model_ast(const ModelRequest& request, support::SourceManager& sources,
                                           support::Diagnostics& diags) {
  if (is_onnx(request)) {
    return diags.error_at(Code::BadOption, "--emit=ast", "an .onnx model has no syntax tree; `--emit=graph` prints it");
  }
  std::optional<support::FileId> file = load_text(request, sources, diags);
  if (!file) return std::nullopt;
  std::optional<syntax::ModelAst> ast = syntax::parse_model(sources, *file, diags);
  if (!ast) return std::nullopt;
  return syntax::dump(*ast, sources);
}

}  // namespace collage::driver
