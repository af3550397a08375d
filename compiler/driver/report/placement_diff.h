// SPDX-License-Identifier: Apache-2.0
// `--diff-plans`: what differs between two placements of one graph, node by node, and in predicted time.
//
//     plan           a.plan     b.plan
//     predicted      7.2 us     23.97 us   +232.9 %
//     partitions     5          3
//     conversions    0          4
//       conversions  -          19.62 us
//       host         7.2 us     2.091 us
//       npu[0]       -          2.252 us
//     moved       %c Conv: host -> npu[0]
//     regrouped   %y Gemm: with %q -> alone
#pragma once

#include <string>

#include "compiler/driver/search/find_placement.h"

namespace collage::driver {

struct NamedPlan {
  std::string name;
  FoundPlan plan;
};

std::string print_plan_diff(const ir::Graph& graph, const NamedPlan& a, const NamedPlan& b);

}  // namespace collage::driver
