// SPDX-License-Identifier: Apache-2.0
// `why NODES`: where a node runs, through which rules, in which formats, what that costs and what the cost is made
// of; and what the placement would cost with the node on each of the other backends.
//
//     %c (Conv) runs on npu[0] in p3, 12.3 us of 32.5 us
//       with      %r, %d
//       rules     conv_act.Relu (rules/npu.rules:36), conv (rules/npu.rules:15)
//       reads     %x in npu[0] NHWC: from host 8.2 us
//       writes    %d in npu[0] NHWC: to host 8.4 us
//       cost      launch 2 us, conv_act.Relu 9 us, conv 1.3 us
//       onednn    1.2 ms more: +2 ms onednn, -0.5 ms npu, -0.3 ms copies
//       openblas  cannot: conv: grouped convolution (rules/openblas.rules:40)
#pragma once

#include <string>
#include <vector>

#include "compiler/report/explain/alternative.h"
#include "compiler/report/explain/answer.h"

namespace collage::report {

/// What the placement would cost with a node elsewhere: `1.2 ms more: +2 ms onednn, -0.8 ms npu`, or why there is none.
struct Instead {
  std::string text;
  bool is_less = false;  ///< than the placement that was found
};

/// Expects that the backend has a candidate with the node.
Instead with_node_on(const ExplainedPlacement& explained, ir::NodeId node, const std::string& backend);

/// The answer; for several nodes a head each, without rows.
std::vector<Answer> why(const ExplainedPlacement& explained, const std::vector<ir::NodeId>& nodes);

}  // namespace collage::report
