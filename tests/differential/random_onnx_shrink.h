// SPDX-License-Identifier: Apache-2.0
// A model that shows a fault -> a smaller one that still does.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>

namespace collage::testing {

/// Greedy: one output instead of several, then nodes replaced by inputs of the same shape, as long as `fails` holds.
/// Only values whose shape the model states (`value_info`) can become inputs.
onnx::ModelProto shrink(onnx::ModelProto model, const std::function<bool(const onnx::ModelProto&)>& fails);

}  // namespace collage::testing
