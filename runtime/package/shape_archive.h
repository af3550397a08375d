// SPDX-License-Identifier: Apache-2.0
// Tables of shapes as JSON values: the section `shapes` of a package.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/core/status.h"
#include "runtime/plan/shape_table.h"

namespace collage::runtime {

nlohmann::json to_json(const ShapeTable& table);

/// Strict, as plan_from_json. The table is valid then; the failure names what is wrong with it.
Result<ShapeTable> shape_table_from_json(const nlohmann::json& document);

}  // namespace collage::runtime
