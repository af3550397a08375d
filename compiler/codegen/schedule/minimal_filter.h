// SPDX-License-Identifier: Apache-2.0
// Minimal filtering F(m, r): m results of a correlation with r taps by n = m + r - 1 products instead of m r.
//
//     y = A ((G w) * (B x))      x: n neighbours, w: r taps, y: m results, *: element by element
//
// The matrices are those of Cook and Toom for n - 1 points and infinity (Lavin and Gray, arXiv 1509.09308, section 4).
// The points are chosen for small errors: with 0, 3/4, -3/4, 3/2, -3/2 the root of the mean squared error of F(4, 3) is
// half that with 0, 1, -1, 2, -2.
#pragma once

#include <vector>

namespace collage::codegen {

using Matrix = std::vector<std::vector<double>>;  ///< rows

struct MinimalFilter {
  int outputs = 1;  ///< m
  int taps = 1;     ///< r
  Matrix input;     ///< B: n x n
  Matrix weights;   ///< G: n x r
  Matrix output;    ///< A: m x n

  int products() const { return outputs + taps - 1; }
};

/// Returns the filters for a number of taps, with few products first; F(1, 1) for one tap, none for many.
std::vector<MinimalFilter> minimal_filters(int taps);

}  // namespace collage::codegen
