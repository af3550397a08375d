// SPDX-License-Identifier: Apache-2.0
// What is asked of a program that says what candidates cost (`cost exec "…"`), and what it answers: one line of JSON each.
//
//     {"id": 1, "backend": "npu", "device": "npu", "attributes": {"lanes": 8},
//      "matches": ["conv:wide{tile=16}"],
//      "operators": [{"op": "Conv", "inputs": ["v0", "v1"], "outputs": ["v2"], "attributes": {"group": 1, …}}],
//      "values": {"v0": {"dtype": "f32", "shape": [1, 16, 8, 8]},
//                 "v1": {"dtype": "f32", "shape": [4, 16, 1, 1], "constant": true}, …},
//      "reads": [{"value": "v0", "layout": "NHWC"}], "writes": [{"value": "v2", "layout": "NHWC", "storage": "f16"}]}
//
//     {"id": 1, "cost": 12.5, "unit": "us"}    or    {"id": 1, "refused": "no room for the weights"}
//
// Small constants have their elements, as `"elements": […]`. grammar/rules.md describes both for authors of programs.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/placement.h"
#include "compiler/measure/measurement.h"
#include "compiler/place/formats/active_backend.h"

namespace collage::measure {

/// One line, without the line break.
std::string cost_request(int64_t id, const ir::Graph& graph, const ir::Partition& candidate,
                         const place::ActiveBackend& active);

/// What a line says in answer to request `id`. A line that says nothing that can be used is a failure that does not last; if it
/// does not even answer this request, `*is_garbage` is set.
Measurement parse_cost_answer(const std::string& line, int64_t id, bool* is_garbage);

/// The candidate as it is on the first of equal instances, which answers for all of them.
ir::Partition on_first_instance(const ir::Partition& candidate);

}  // namespace collage::measure
