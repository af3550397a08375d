// SPDX-License-Identifier: Apache-2.0
// What the writers of JSON share.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "compiler/report/report.h"

namespace collage::report {

/// As all documents are written: indented, with a mark in place of bytes that are not UTF-8.
std::string printed(const nlohmann::ordered_json& json);

/// A count, which sums over models keep as a double, as the whole number that it is.
int64_t whole(double count);

/// The name of a cost's field: `predicted` => `predicted_s`, of an energy `predicted_j`.
std::string field_of(std::string_view what, place::Cost cost);

/// The documents of `--json` that `summary_json` and `comparison_json` print.
nlohmann::ordered_json summary_object(const ir::Graph& graph, const ir::Placement& placement, const Report& report);
nlohmann::ordered_json comparison_object(const ir::Graph& graph, const nlohmann::ordered_json& comparison);

/// What all documents of `--json` begin with.
nlohmann::ordered_json model_object(const ir::Graph& graph);

/// The document of `--json=FILE`, as a part of others.
nlohmann::ordered_json placement_object(const ir::Graph& graph, const ir::Placement& placement, const Report& report);

}  // namespace collage::report
