// SPDX-License-Identifier: Apache-2.0
// The model that the user names: `.onnx` through the importer, anything else as text in the model language.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "compiler/driver/input/requests.h"
#include "compiler/sema/build_graph.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

struct ModelFile {
  std::filesystem::path path;
  sema::Model model;
  std::set<std::filesystem::path> weights;  ///< files that its constants come from: never written over
};

/// Returns nullopt after an error.
std::optional<ModelFile> read_model_file(const ModelRequest& request, support::SourceManager& sources,
                                         support::Diagnostics& diags);

/// The syntax tree of a model text (`--emit=ast`). Returns nullopt after an error: an .onnx file has none.
std::optional<std::string> print_model_ast(const ModelRequest& request, support::SourceManager& sources,
                                           support::Diagnostics& diags);

}  // namespace collage::driver
