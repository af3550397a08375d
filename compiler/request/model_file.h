// SPDX-License-Identifier: Apache-2.0
// The model that the user names with all shapes fixed, in one step (model_source.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/request/model_source.h"
#include "compiler/request/requests.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// Reads the file, and what replaces its defaults. Returns null after an error.
std::unique_ptr<ModelSource> open_model(const ModelRequest& request, support::SourceManager& sources,
                                        support::Diagnostics& diags);

/// Replaces defaults by those of `files` that are for inputs with one, as files of `--input` may be: these move to
/// `defaults`. False after an error.
bool take_defaults(std::vector<NamedFile>& files, std::vector<NamedFile>& defaults, ModelSource& source,
                   support::Diagnostics& diags);

/// Returns nullopt after an error.
std::optional<ModelFile> read_model_file(const ModelRequest& request, support::SourceManager& sources,
                                         support::Diagnostics& diags);

/// The syntax tree of a model text (`--emit=ast`). Returns nullopt after an error: an .onnx file has none.
std::optional<std::string> print_model_ast(const ModelRequest& request, support::SourceManager& sources,
                                           support::Diagnostics& diags);

}  // namespace collage::request
