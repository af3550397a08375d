// SPDX-License-Identifier: Apache-2.0
// The model that the user names: `.onnx` through the importer, anything else as text in the model language.
#pragma once

#include <optional>

#include "compiler/driver/input/options.h"
#include "compiler/sema/build_graph.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

/// Nothing after an error, or after `--emit=ast` printed the syntax tree.
std::optional<sema::Model> read_model_file(const Options& options, support::SourceManager& sources,
                                           support::Diagnostics& diags);

}  // namespace collage::driver
