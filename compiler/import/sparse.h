// SPDX-License-Identifier: Apache-2.0
// Sparse tensors in a file -> dense ones. No operator of the graph computes on sparse tensors.
#pragma once

#include <string>

#include "compiler/import/proto.h"

namespace collage::import {

/// Expects values [n] and their positions: [n], counted over all elements, or [n, rank]. All other elements are 0.
runtime::Result<runtime::Tensor> dense_tensor_of(const onnx::SparseTensorProto& proto, const ExternalData& external);

}  // namespace collage::import
