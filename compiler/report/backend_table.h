// SPDX-License-Identifier: Apache-2.0
// The part of the summary that says what each backend runs: those that run something, the largest part of the time
// first, and below them those that do not, with the reason.
//
//     placement   backend     ops  partitions     MACs   predicted    share
//                 onednn        7           2   98.1 %    10.68 us   83.0 %
//                 host          2           1    1.9 %    0.781 us    6.1 %
//                   refused 1x Softmax "axis 1, need the last"
//                 conversions               1              1.41 us   10.9 %   (1 reorder, 2048 B)
//     not used    openblas, xnnpack
//                 npu: 1x Conv "1 channels, need a multiple of 8" (supported while dim(x, 1) % 8 == 0)
#pragma once

#include <string>

#include "compiler/report/report.h"

namespace collage::report {

/// The lines of the table, at most `width` columns wide.
std::string backend_table(const ir::Graph& graph, const ir::Placement& placement, const Report& report, size_t width);

}  // namespace collage::report
