// SPDX-License-Identifier: Apache-2.0
// What is asked of a program that says what candidates cost (`cost exec "…"`), and what it answers: one line of JSON
// each.
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
// Constants that are not weights have their elements (candidate_text.h), as `"elements": […]`. grammar/rules.md
// describes both for authors of programs.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/placement/placement.h"
#include "compiler/measure/measurement.h"
#include "compiler/place/formats/active_backend.h"
#include "runtime/core/status.h"

namespace collage::measure {

/// One line, without the line break.
std::string cost_request(int64_t id, const ir::Graph& graph, const ir::Partition& candidate,
                         const place::ActiveBackend& active);

/// Returns the cost or the refusal of an answer to request `id`. Fails for an unusable answer; the message goes on
/// after "the cost program": `answered another request than 7`.
runtime::Result<Measurement> parse_cost_answer(const std::string& line, int64_t id);

/// Returns the candidate on the first of equal instances, which answers for all of them.
ir::Partition on_first_instance(const ir::Partition& candidate);

}  // namespace collage::measure
