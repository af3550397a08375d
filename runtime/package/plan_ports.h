// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/status.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shape_table.h"

namespace collage::runtime {

/// Fails where inputs and outputs of a valid plan are not those of a variant of the table.
Status check_ports(const Plan& plan, const ShapeTable& table, size_t variant);

}  // namespace collage::runtime
