// SPDX-License-Identifier: Apache-2.0
// ONNX models -> Graph. What comes out has the operators of opset 17, whatever opset the file has (`upgrade.h`).
//
// Expects: nothing; a damaged file is a diagnostic. After: the graph verifies; nodes whose operands are constants were
// evaluated on the way, so that arithmetic on shapes decides shapes; weights are constants with their elements.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/diagnostic.h"

namespace collage::import {

struct OnnxOptions {
  /// Shapes of inputs whose dimensions the model leaves open. Where there is none, an open first dimension becomes 1
  /// with a warning, any other is an error.
  std::map<std::string, ir::Shape> input_shapes;
  /// Inputs that become constants: those that decide shapes, for models that take them at run time.
  std::map<std::string, ir::Tensor> bound_inputs;
};

/// Nothing (and one or more errors, each naming the file and the node) on failure.
std::optional<ir::Graph> import_onnx(const std::string& path, support::Diagnostics& diags,
                                     const OnnxOptions& options = {});

/// Names of the inputs that the file declares, those with a default included, in its order. Empty if it cannot be read.
std::vector<std::string> onnx_input_names(const std::string& path);

}  // namespace collage::import
