// SPDX-License-Identifier: Apache-2.0
// Plans as JSON values, of which CBOR is a form. The bytes of tensors lie elsewhere: a plan has their places.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/core/status.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

/// Gives a tensor a place and returns it.
using PlaceTensor = std::function<size_t(const Tensor& tensor)>;
/// Returns the tensor at a place.
using TensorAt = std::function<Result<Tensor>(DType dtype, const Shape& shape, size_t place)>;

nlohmann::json to_json(Plan plan, const PlaceTensor& place_tensor);

/// Strict: every field is there, nothing else is, numbers fit. The plan is not validated otherwise. The failure names
/// the field.
Result<Plan> plan_from_json(const nlohmann::json& document, const TensorAt& tensor_at);

}  // namespace collage::runtime
