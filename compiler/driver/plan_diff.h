// SPDX-License-Identifier: Apache-2.0
// `--diff-plans`: what differs between two placements of one graph, node by node, and in predicted time.
//
//     plan        a.plan      b.plan
//     predicted   24.89 us    41.96 us    +68.6 %
//     partitions  6           2
//     conversions 0           2
//     moved       %c1 Conv: host -> npu[0] (npu)
//     regrouped   %r1 Relu: with %c1 -> alone
#pragma once

#include <string>

#include "compiler/driver/search.h"

namespace collage::driver {

struct NamedPlan {
  std::string name;
  FoundPlan plan;
};

std::string print_plan_diff(const ir::Graph& graph, const NamedPlan& a, const NamedPlan& b);

}  // namespace collage::driver
