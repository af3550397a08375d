// SPDX-License-Identifier: Apache-2.0
// What the writers of JSON share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/driver/report/report.h"

namespace collage::driver {

/// As all documents are written: indented, with a mark in place of bytes that are not UTF-8.
std::string printed(const nlohmann::ordered_json& json);

/// The document of `--placement-json`, as a part of others.
nlohmann::ordered_json placement_object(const ir::Graph& graph, const ir::Placement& placement, const Report& report);

}  // namespace collage::driver
