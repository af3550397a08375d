// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/model_file.h"

#include <algorithm>

#include "compiler/syntax/dump_model.h"
#include "runtime/runner/tensor_files.h"

namespace collage::request {
namespace {

bool has_default(const ModelSource& source, const std::string& name) {
  return std::any_of(source.inputs_with_default().begin(), source.inputs_with_default().end(),
                     [&name](const ir::OpenInput& input) { return input.name == name; });
}

NamedFile named_by_defaults(const NamedFile& entry, const ModelSource& source) {
  return runner::named_by(entry, [&source](const std::string& name) { return has_default(source, name); });
}

bool read_default(const NamedFile& entry, const std::string& option, ModelSource& source, support::Diagnostics& diags) {
  std::optional<ir::Tensor> tensor =
      runner::read_any_tensor(entry.file, tensor_formats(), option + " " + entry.name, diags);
  return tensor && source.replace_default(entry.name, std::move(*tensor), option, diags);
}

}  // namespace

std::unique_ptr<ModelSource> open_model(const ModelRequest& request, support::SourceManager& sources,
                                        support::Diagnostics& diags) {
  const support::FileAccess access({request.path}, request.allows_outside);
  std::unique_ptr<ModelSource> source = ModelSource::open(request.path, access, sources, diags);
  if (source == nullptr) return nullptr;
  for (const NamedFile& entry : request.defaults) {
    if (!read_default(named_by_defaults(entry, *source), "--default", *source, diags)) return nullptr;
  }
  return source;
}

bool take_defaults(std::vector<NamedFile>& files, std::vector<NamedFile>& defaults, ModelSource& source,
                   support::Diagnostics& diags) {
  std::vector<NamedFile> others;
  for (const NamedFile& entry : files) {
    const NamedFile named = named_by_defaults(entry, source);
    if (!has_default(source, named.name)) {
      others.push_back(entry);
      continue;
    }
    if (!read_default(named, "--input", source, diags)) return false;
    defaults.push_back(named);
  }
  files = std::move(others);
  return true;
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
