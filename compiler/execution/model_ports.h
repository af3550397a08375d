// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a model, whether it comes from the compiler or from a package.
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace collage::execution {

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
};

struct ModelPorts {
  std::string model;
  std::vector<Port> inputs, outputs;
};

ModelPorts ports_of(const runtime::Plan& plan);

}  // namespace collage::execution
