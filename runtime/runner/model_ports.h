// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a model, whether it comes from the compiler or from a package.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace collage::runner {

struct TensorKind {
  runtime::DType dtype = runtime::DType::F32;
  runtime::Shape shape;
  friend bool operator==(const TensorKind&, const TensorKind&) = default;
};

/// `f32[1, 3, 224, 224]`
std::string to_string(const TensorKind& kind);
TensorKind kind_of(const runtime::Tensor& tensor);

struct Port {
  std::string name;
  TensorKind kind;
  /// Another name that users may write: values of a graph have different names, so an output that is an input, `x` in
  /// the file of the model, is `x.1`. Empty: none.
  std::string alias{};
};

struct ModelPorts {
  std::string model;
  std::vector<Port> inputs, outputs;
};

ModelPorts ports_of(const runtime::Plan& plan);

/// Gives the outputs that are inputs their aliases.
void add_aliases(ModelPorts& ports);
/// Returns whether the user means this port by `name`, whose control characters may stand as in the file of the model
/// or as messages show them.
bool is_called(const Port& port, const std::string& name);

}  // namespace collage::runner
