// SPDX-License-Identifier: Apache-2.0
// ONNX models -> Graph. The graph has the operators of opset 17, whatever opset the file has (`upgrade.h`).
//
// Expects: nothing; a damaged file gives a diagnostic. After: the graph verifies; nodes whose operands are constants
// are evaluated, so that arithmetic on shapes determines shapes; weights are constants with their elements.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/import/onnx_file.h"
#include "compiler/import/stage.h"
#include "compiler/ir/graph/graph.h"
#include "compiler/ir/graph/open_shape.h"
#include "runtime/support/diagnostic.h"

namespace collage::import {

struct OnnxOptions {
  /// What fixes the dimensions that the model leaves open (ir/graph/open_shape.h).
  std::vector<ir::ShapeBinding> bindings;
  /// Inputs that become constants: inputs that determine shapes, for models that read them at run time.
  std::map<std::string, ir::Tensor> bound_inputs;
};

/// Returns nullopt on failure, after one or more errors that name the file and the node.
std::optional<ir::Graph> import_onnx(const OnnxFile& file, support::Diagnostics& diags,
                                     const OnnxOptions& options = {});
std::optional<ir::Graph> import_onnx(const std::string& path, support::Diagnostics& diags,
                                     const OnnxOptions& options = {});

/// As `import_onnx`, but nodes that the values of a run decide are no errors: they are not in the graph of this first
/// stage (stage.h). Where there are none, the stage is the whole model.
std::optional<ImportedStage> import_first_stage(const OnnxFile& file, support::Diagnostics& diags,
                                                const OnnxOptions& options = {});

/// Names of the inputs that the file declares, including those with a default, in its order. Empty if it cannot be
/// read.
std::vector<std::string> onnx_input_names(const std::string& path);

}  // namespace collage::import
