// SPDX-License-Identifier: Apache-2.0
// The cells of a chain relaxation (relaxation_layout.h) from its prices, in the numbers of the exact bound or of the
// smooth one.
#pragma once

#include <algorithm>
#include <bit>

#include "compiler/place/exact/bound/relaxation_layout.h"

namespace collage::place {

/// Expects the prices in front of `cells`. After: `gains` of all readers, phi of every writing that some price changes;
/// of every writing with `all`. `no_way`: what an impossible cost is in these numbers; sums stop there.
template <typename Number>
void price_cells(const ChainLayout& layout, Number no_way, bool all, Table<GainId, Number>& gains,
                 Table<CellId, Number>& cells) {
  for (const ChainLayout::ValueFormats& value : layout.values) {
    if (!value.exact) continue;
    const size_t subsets = size_t{1} << value.bits.size();
    for (const ChainLayout::Reader& reader : value.readers) {
      // gain(F) = gain(F without its highest format), or that format's price where it is more.
      Number* gain = gains.data() + reader.gains.slot();
      gain[0] = -no_way;
      for (size_t subset = 1; subset < subsets; ++subset) {
        const uint32_t high = std::bit_floor(static_cast<uint32_t>(subset));
        Number best = gain[subset ^ high];
        if ((reader.wanted & high) != 0) {
          const int at = std::popcount(reader.wanted & (high - 1));
          const bool pays = reader.first_price.is_valid();
          best = std::max(best, pays ? cells[ChainLayout::cell_of(advance(reader.first_price, at))] : Number{0});
        }
        gain[subset] = best;
      }
    }
  }
  const auto number = [&](int64_t cost) { return is_no_way(cost) ? no_way : static_cast<Number>(cost); };
  for (const ChainLayout::Writing& writing : layout.writings) {
    if (!writing.pays && !all) continue;
    const ChainLayout::ValueFormats& value = layout.values[writing.value];
    const size_t subsets = writing.base.size();
    Number* phi = cells.data() + writing.cells.slot();
    if (!value.exact) {
      std::transform(writing.base.begin(), writing.base.end(), phi, number);
      continue;
    }
    for (size_t subset = 0; subset < subsets; ++subset) {
      phi[subset] = (subset & value.always) == value.always ? number(writing.base[subset]) : no_way;
    }
    for (ReaderId r : writing.outside) {
      const Number* gain = gains.data() + value.readers[r].gains.slot();
      for (size_t subset = 0; subset < subsets; ++subset) phi[subset] = std::min(no_way, phi[subset] - gain[subset]);
    }
    for (size_t bit = 1; bit < subsets; bit <<= 1) {
      for (size_t subset = 0; subset < subsets; ++subset) phi[subset] = std::min(phi[subset], phi[subset | bit]);
    }
  }
}

}  // namespace collage::place
