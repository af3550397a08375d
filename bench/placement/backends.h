// SPDX-License-Identifier: Apache-2.0
// Six synthetic backends and five formats over a skeleton, as placement problems of the size and shape that real rule
// files make:
//
//   host      every node alone, plain                      onednn   contractions with what follows, blocked or plain
//   openblas  contractions alone, plain                    xnnpack  convolutions, pools, pointwise; channels last
//   npu       connected sets, own memory: up to 6 nodes, 2 exits, taps, 64 sets for each first node
//   dsp       chains of pointwise operators, own memory
//
// Costs are a roofline times 0.7 … 1.3, drawn for each structure and backend: equal structures cost the same.
#pragma once

#include "bench/placement/skeleton.h"
#include "compiler/place/problem/problem.h"

namespace collage::bench {

/// A: a fast npu. B: backends that are about equally good. C: as B, npu and dsp cost a launch plus the sum over their
/// nodes.
enum class Setting { A, B, C };

place::Problem make_problem(const Skeleton& skeleton, Setting setting);

}  // namespace collage::bench
