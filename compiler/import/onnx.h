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

#include "compiler/ir/graph.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/file_access.h"

namespace collage::import {

struct OnnxOptions {
  /// Shapes of inputs whose dimensions the model leaves open. Without one, an open first dimension becomes 1 with a
  /// warning; any other is an error.
  std::map<std::string, ir::Shape> input_shapes;
  /// Inputs that become constants: inputs that determine shapes, for models that read them at run time.
  std::map<std::string, ir::Tensor> bound_inputs;
  /// Which files of external data may be read besides those in the model's folder.
  support::FileAccess access;
};

/// Returns nullopt on failure, after one or more errors that name the file and the node.
std::optional<ir::Graph> import_onnx(const std::string& path, support::Diagnostics& diags,
                                     const OnnxOptions& options = {});

/// Names of the inputs that the file declares, including those with a default, in its order. Empty if it cannot be
/// read.
std::vector<std::string> onnx_input_names(const std::string& path);

}  // namespace collage::import
