// SPDX-License-Identifier: Apache-2.0
// One operator on its reference kernel: the host's fallback, and what simulated devices compute with.
#pragma once

#include <span>
#include <string_view>

#include "runtime/core/attributes.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Fails, with the operator's name, if there is no kernel or the kernel fails or throws.
Status run_reference(std::string_view op, const AttrMap& attrs, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs);

}  // namespace collage::runtime
