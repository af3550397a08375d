// SPDX-License-Identifier: Apache-2.0
// In which order the operands of an Einsum are multiplied, two at a time.
//
//   a,b,ab->   from left to right: the outer product [a, b] of the first two
//              here: the last two, summed over a or b, so that nothing is larger than a vector
//
// An intermediate result holds the labels that the result or a remaining operand has. Among orders whose intermediate
// results are not larger than the largest operand or the result, or else as small as can be, the one with the fewest
// products is chosen: exactly for few operands, for many of them pair by pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace collage::passes {

/// Terms that are multiplied: the operands are 0, 1, …, then the products in the order of this list.
using EinsumOrder = std::vector<std::pair<size_t, size_t>>;

/// `operands` are the labels of each, `extents` those of the labels.
EinsumOrder einsum_order(const std::vector<std::vector<int>>& operands, const std::vector<int>& result,
                         const std::vector<int64_t>& extents);

}  // namespace collage::passes
