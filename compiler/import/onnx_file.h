// SPDX-License-Identifier: Apache-2.0
// A file of ONNX that was read, before shapes are chosen. protobuf stays behind names of its types.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/graph/open_shape.h"
#include "runtime/core/status.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/file_access.h"

namespace onnx {
class GraphProto;
class ModelProto;
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace collage::import {

/// The graph of a file, or a graph in one of its nodes: the body of a loop, a branch.
using GraphRef = const onnx::GraphProto*;

/// One node as written, for who runs it without a graph.
struct NodeView {
  std::string op;
  std::string domain;                                   ///< of the operator; empty: the standard's
  std::string where;                                    ///< `model.onnx: node 'loop' (Loop)`
  std::vector<std::string> inputs;                      ///< empty: left out
  std::vector<std::string> outputs;                     ///< empty: unwanted
  ir::AttrMap attrs;                                    ///< those that are no bodies or types
  std::map<std::string, GraphRef, std::less<>> bodies;  ///< by attribute: `then_branch`
};

class OnnxFile {
 public:
  /// `access`: which files of external data may be read besides those in the model's folder. Bytes that stand in for
  /// the file among the sources of `diags` are read in its place. Returns null after an error.
  static std::shared_ptr<const OnnxFile> read(const std::string& path, support::FileAccess access,
                                              support::Diagnostics& diags);
  ~OnnxFile();
  OnnxFile(const OnnxFile&) = delete;
  OnnxFile& operator=(const OnnxFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& folder() const { return folder_; }  ///< of its external data
  const support::FileAccess& access() const { return access_; }
  const onnx::ModelProto& proto() const { return *proto_; }
  GraphRef graph() const;

  /// Inputs that have no default, as declared.
  std::vector<ir::OpenInput> inputs() const { return inputs(false); }
  /// Inputs that have one: an initializer of the same name.
  std::vector<ir::OpenInput> inputs_with_default() const { return inputs(true); }

  std::vector<std::string> input_names(GraphRef graph) const;
  std::vector<std::string> output_names(GraphRef graph) const;
  /// The declared type of a result, open dimensions as 0; nullopt where it is not declared as a tensor.
  std::optional<ir::TensorType> output_type(GraphRef graph, size_t index) const;
  /// The version of the standard's operators; 0 where the file states none.
  int64_t opset() const;
  size_t node_count(GraphRef graph) const;
  /// Whether a node of the file, in bodies and functions too, tests for a NaN or an infinity: IsNaN, IsInf, or a
  /// comparison, difference or quotient of a value and itself (ir/analysis/value_tests.h knows more forms).
  bool tests_special_values() const;
  /// Adds what a node reads, its bodies included, and the names of its results.
  void add_names(GraphRef graph, int index, std::set<std::string>& reads, std::set<std::string>& results) const;
  /// Fails on attributes that are not supported.
  runtime::Result<NodeView> node(GraphRef graph, int index) const;
  /// The elements of an initializer of this graph, made once; null where it has none of this name. Fails on damage.
  runtime::Result<const ir::Tensor*> initializer(GraphRef graph, const std::string& name) const;

 private:
  OnnxFile() = default;
  std::vector<ir::OpenInput> inputs(bool have_default) const;

  std::string path_;
  std::string folder_;
  support::FileAccess access_;
  std::unique_ptr<onnx::ModelProto> proto_;
  mutable std::mutex mutex_;  ///< of what is below
  struct Initializer {
    const onnx::TensorProto* dense = nullptr;  ///< or:
    const onnx::SparseTensorProto* sparse = nullptr;
    std::optional<ir::Tensor> made = {};
  };
  mutable std::map<GraphRef, std::map<std::string, Initializer, std::less<>>> initializers_;
};

/// Inputs of a graph that are tensors, as declared.
std::vector<ir::OpenInput> open_inputs(const onnx::GraphProto& graph);

}  // namespace collage::import
