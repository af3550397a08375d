// SPDX-License-Identifier: Apache-2.0
// ONNX's numbers of element types (TensorProto.DataType), which users write in attributes: `to` of Cast,
// `output_dtype`.
#pragma once

#include "runtime/core/dtype.h"

namespace collage::ir::ops {

using runtime::dtype_of_onnx;
using runtime::onnx_of;

}  // namespace collage::ir::ops
