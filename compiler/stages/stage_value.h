// SPDX-License-Identifier: Apache-2.0
// Values between the stages of a model: tensors, and what no ir::Graph has.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/import/stage.h"
#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::stages {

struct StageValue {
  enum class Kind { Tensor, Sequence, Absent };  ///< Absent: an optional value that is none

  Kind kind = Kind::Tensor;
  ir::Tensor tensor{};
  std::vector<ir::Tensor> sequence{};
  /// The same shapes of the model's inputs always give these elements: a stage may be made for them. Then also
  /// `digest`: of the elements, or empty for an initializer.
  bool is_constant = false;
  std::string digest{};
  /// Its shape comes from values of the run: stages that read it are likely to be needed once.
  bool has_run_time_shape = false;

  bool is_tensor() const { return kind == Kind::Tensor; }
  ir::TensorType type() const { return {tensor.dtype(), tensor.shape()}; }
};

StageValue value_of(ir::Tensor tensor);
StageValue constant_of(ir::Tensor tensor);
StageValue sequence_of(std::vector<ir::Tensor> tensors);

/// What a stage is made for: `f32[1, 3]`, the elements of a constant, or that it is no tensor.
std::string key_of(const StageValue& value);

/// The values of one graph while it runs. Names that it does not have are those of its initializers and of the graph
/// around it.
class Scope {
 public:
  /// All of it outlives the scope.
  Scope(const import::OnnxFile& file, import::GraphRef graph, const Scope* outer)
      : file_(file), graph_(graph), outer_(outer) {}

  void set(const std::string& name, StageValue value) {
    if (!name.empty()) values_.insert_or_assign(name, std::move(value));
  }
  /// Null where there is none of this name, or after a failure in `status`.
  const StageValue* find(const std::string& name, runtime::Status* status = nullptr) const;
  /// Fails where there is none.
  runtime::Result<StageValue> get(const std::string& name) const;

 private:
  const import::OnnxFile& file_;
  import::GraphRef graph_;
  const Scope* outer_;
  std::map<std::string, StageValue, std::less<>> values_;
  mutable std::map<std::string, StageValue, std::less<>> initializers_;
};

}  // namespace collage::stages
