// SPDX-License-Identifier: Apache-2.0
// `diff`: the differences between two placements of one graph, by node and in predicted time.
//
//     placement      a.placement   b.placement
//     predicted      7.2 us        23.97 us      +232.9 %
//     partitions     5             3
//     conversions    0             4
//       conversions  -             19.62 us
//       host         7.2 us        2.091 us
//       npu[0]       -             2.252 us
//     moved       %c Conv: host -> npu[0]
//     regrouped   %y Gemm: with %q -> alone
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/search/found_placement.h"

namespace collage::report {

struct NamedPlacement {
  std::string name;
  search::FoundPlacement found;
};

/// `{a, b, predicted_s: [2], partitions: [2], conversions: [2], places: [{place, cost_s: [2]}], moved: [{node, op,
/// from, to}], regrouped: [{node, op, from, to}]}`: what the lines say.
nlohmann::ordered_json placement_diff_object(const ir::Graph& graph, const NamedPlacement& a, const NamedPlacement& b);

std::string print_placement_diff(const ir::Graph& graph, const NamedPlacement& a, const NamedPlacement& b);

}  // namespace collage::report
