// SPDX-License-Identifier: Apache-2.0
// `--emit=onnx`: the model as a file for other runtimes and viewers.
#pragma once

#include <string>

#include "compiler/sema/model/build_graph.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// Writes `path`, and `path`.data beside it where the constants are too large for one file. Warns of what ONNX has no
/// place for: a placement, pins. False after an error.
bool write_onnx(const sema::Model& model, const std::string& path, support::Diagnostics& diags);

}  // namespace collage::request
