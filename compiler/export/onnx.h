// SPDX-License-Identifier: Apache-2.0
// Graph -> ONNX model: the file that other runtimes run and that viewers show. Its operators are those of opset 17, as
// the graph's are but for a few newer ones (`decompose.h`); importing it gives the same graph.
//
// Expects: a verified graph. After: a model that ONNX's checker accepts, with the types of all values in it. Names of
// values are kept; a node is named after its first result. What ONNX has no place for is left out: pins, how a constant
// was written (`random`, `splat` and `file` become their elements), constants that nobody reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/core/status.h"

namespace collage::exporter {

struct OnnxOptions {
  /// Name of the file, beside the model, that large constants go to where they do not fit into the model itself.
  std::string data_file;
  /// Bytes that all constants together may take inside the model: protobuf ends at 2 GiB.
  uint64_t most_bytes_inside = 1'900'000'000;
};

struct OnnxModel {
  std::string bytes;  ///< the .onnx file
  /// What the data file holds, piece behind piece. Empty: there is no such file.
  std::vector<std::span<const char>> data;
  std::vector<ir::Tensor> tensors;  ///< whose memory the pieces point into
};

/// A failure where a node has no form in opset 17, or the model without its constants is too large for protobuf.
runtime::Result<OnnxModel> export_onnx(const ir::Graph& graph, const OnnxOptions& options);

}  // namespace collage::exporter
