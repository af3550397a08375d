// SPDX-License-Identifier: Apache-2.0
// Which kernel of a rule runs a match, and with which knobs: the cheapest whose needs and clauses hold; of equals the
// first as written, and of its knobs the first combination.
//
//     knob tile in {8, 16}   where dim(x, 1) % tile == 0   cost macs / tile * 1 ns     =>   tile = 16 where 16 divides
#pragma once

#include <vector>

#include "compiler/match/matcher.h"

namespace collage::match {

struct KernelChoice {
  int kernel = 0;
  AttrValues knobs;
  double cost = 0;  ///< seconds
};

/// One per group of kernels with the same formats, since what formats cost shows only in a plan. Empty if no kernel can
/// run it; `*why` then has kind, message and span.
std::vector<KernelChoice> choose_kernels(const ir::Rule& rule, EvalContext context, NodeId root, Refusal* why);

}  // namespace collage::match
