// SPDX-License-Identifier: Apache-2.0
// TensorProto files (`input_0.pb`), as ONNX's test data has them.
#pragma once

#include <string>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::import {

/// A damaged file gives a failure.
runtime::Result<runtime::Tensor> read_tensor_pb(const std::string& path);

/// `name` is the tensor's name inside the file.
runtime::Status write_tensor_pb(const runtime::Tensor& tensor, const std::string& name, const std::string& path);

}  // namespace collage::import
