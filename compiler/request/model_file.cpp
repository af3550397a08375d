// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/model_file.h"

#include "compiler/syntax/dump_model.h"

namespace collage::request {

std::unique_ptr<ModelSource> open_model(const ModelRequest& request, support::SourceManager& sources,
                                        support::Diagnostics& diags) {
  return ModelSource::open(request.path, support::FileAccess({request.path}, request.allows_outside), sources, diags);
}

std::optional<ModelFile> read_model_file(const ModelRequest& request, support::SourceManager& sources,
                                         support::Diagnostics& diags) {
  std::unique_ptr<ModelSource> source = open_model(request, sources, diags);
  if (source == nullptr) return std::nullopt;
  return source->specialise_whole({request.bindings, {}}, diags);
}

std::optional<std::string> print_model_ast(const ModelRequest& request, support::SourceManager& sources,
                                           support::Diagnostics& diags) {
  std::unique_ptr<ModelSource> source = open_model(request, sources, diags);
  if (source == nullptr) return std::nullopt;
  if (source->ast()) return syntax::dump(*source->ast(), sources);
  return diags.error_at(support::Code::BadOption, "--emit=ast",
                        "an .onnx model has no syntax tree; `--emit=graph` prints it");
}

}  // namespace collage::request
