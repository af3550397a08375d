// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/input/model_file.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "compiler/import/onnx.h"
#include "compiler/syntax/dump_model.h"
#include "compiler/syntax/parse_model.h"

namespace collage::driver {
namespace {

using support::Code;

/// `1x3x224x224`
std::optional<ir::Shape> parse_dims(const std::string& text) {
  ir::Shape shape;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int64_t dim = 0;
    auto [stop, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0 || (stop < end && *stop != 'x')) return std::nullopt;
    shape.push_back(dim);
    at = stop < end ? stop + 1 : stop;
  }
  return shape;
}

std::optional<sema::Model> read_onnx(const Options& options, support::Diagnostics& diags) {
  import::OnnxOptions onnx_options;
  for (const auto& [name, text] : options.input_shapes) {
    std::optional<ir::Shape> shape = parse_dims(text);
    if (!shape) return diags.error_at(Code::BadOption, "--shape " + name, "`{}` is no shape: want 1x3x224x224", text);
    onnx_options.input_shapes[name] = *shape;
  }
  std::optional<ir::Graph> graph = import::import_onnx(options.model, diags, onnx_options);
  if (!graph) return std::nullopt;
  return sema::Model{std::move(*graph), {}};
}

}  // namespace

std::optional<sema::Model> read_model_file(const Options& options, support::SourceManager& sources,
                                           support::Diagnostics& diags) {
  std::filesystem::path path(options.model);
  if (path.extension() == ".onnx") {
    if (options.emit != Emit::Ast) return read_onnx(options, diags);
    return diags.error_at(Code::BadOption, "--emit=ast", "an .onnx model has no syntax tree; `--emit=graph` prints it");
  }
  for (const auto& [name, text] : options.input_shapes) {
    return diags.error_at(Code::BadOption, "--shape " + name, "the shapes of a model text are fixed: `{}`", text);
  }
  std::string why;
  std::optional<support::FileId> file = sources.load(options.model, &why);
  if (!file) return diags.error_at(Code::CannotRead, options.model, "cannot read: {}", why);
  if (options.emit == Emit::Ast) {
    std::optional<syntax::ModelAst> ast = syntax::parse_model(sources, *file, diags);
    if (ast) fmt::print("{}", syntax::dump(*ast, sources));
    return std::nullopt;
  }
  return sema::load_model_text(sources, *file, path.parent_path().string(), diags);
}

}  // namespace collage::driver
