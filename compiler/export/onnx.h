// SPDX-License-Identifier: Apache-2.0
// Graph -> ONNX model, for other runtimes and viewers. Its operators are those of opset 17; newer operators of the
// graph are decomposed (`decompose.h`). Importing the model gives the same graph.
//
// Expects: a verified graph. After: a model that ONNX's checker accepts, with the types of all values in it. Names of
// values are kept; a node is named after its first result. Left out is what ONNX cannot express: pins, how a constant
// was written (`random`, `splat` and `file` become their elements), and constants without a reader.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::exporter {

struct OnnxOptions {
  /// Name of the file beside the model for large constants that do not fit into the model itself.
  std::string data_file;
  /// Most bytes of all constants inside the model: protobuf is limited to 2 GiB.
  uint64_t most_bytes_inside = 1'900'000'000;
};

struct OnnxModel {
  std::string bytes;  ///< the .onnx file
  /// Contents of the data file, piece after piece. Empty: there is no such file.
  std::vector<std::span<const char>> data;
  std::vector<ir::Tensor> tensors;  ///< whose memory the pieces point into
};

/// Returns a failure if opset 17 cannot express a node, or if the model without its constants is too large for
/// protobuf.
runtime::Result<OnnxModel> export_onnx(const ir::Graph& graph, const OnnxOptions& options);

}  // namespace collage::exporter
