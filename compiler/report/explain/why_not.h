// SPDX-License-Identifier: Apache-2.0
// `why-not NODES BACKEND`: what keeps nodes from a backend. Of a node that it cannot run: what stopped each rule with
// a place for its operator, the nearest miss first. Of one that it could run: what the placement would cost with it
// there, and why; or the limit that leaves no such placement.
//
//     %dw (Conv) cannot run on npu; it runs on onednn in p2
//       conv, conv_act (2)  grouped convolution (rules/npu.rules:19, 38)
//
//     %g (Gemm) could run on openblas: the placement would cost 31.2 us, 4.1 us more: +2.9 us openblas,
//         +1.2 us reorders
//       now     12.3 us in onednn, with %h: gemm_act.Relu (rules/onednn.rules:99)
//       there   14.2 us in openblas, alone: gemm (rules/openblas.rules:12)
//       needs   %g from host to host NHWC: 1.2 us
//       almost  gemm_act.Relu  `%g` is also read by `%k` (rules/openblas.rules:20)
#pragma once

#include <string>
#include <vector>

#include "compiler/report/explain/alternative.h"
#include "compiler/report/explain/answer.h"

namespace collage::report {

/// `backend`: an active one, or `host`.
std::vector<Answer> why_not(const ExplainedPlacement& explained, const std::vector<ir::NodeId>& nodes,
                            const std::string& backend);

/// Why the backend has nothing for a node, in one line: `cannot: conv: grouped convolution (rules/npu.rules:17)`.
std::string short_reason(const ExplainedPlacement& explained, ir::NodeId node, const std::string& backend);

}  // namespace collage::report
