// SPDX-License-Identifier: Apache-2.0
// What a cost says of the device: how fast it computes, reads and writes where there is much to do.
//
//     cost 2 us + macs / 512 * 1 ns   =>   512 GMAC/s
//
// It is the slope between a model of the rule's tests and a larger one, so that what a call costs does not count.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/rules/rule_set.h"

namespace collage::lint {

struct ImpliedRate {
  double macs_per_second = 0;  ///< 0: the match has none
  double bytes_per_second = 0;
};

/// Nullopt where no test can be enlarged, or the cost does not grow.
std::optional<ImpliedRate> implied_rate(const ir::Backend& backend, int rule);

/// `512 GMAC/s and 34 GB/s`
std::string text_of(const ImpliedRate& rate);

}  // namespace collage::lint
