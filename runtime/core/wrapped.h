// SPDX-License-Identifier: Apache-2.0
// Text on lines of a limited width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace collage::runtime {

/// Columns of lines for people where no terminal says how many it has.
inline constexpr size_t kUsualWidth = 100;

/// Columns that UTF-8 text takes on a terminal: continuation bytes take none.
size_t columns_of(std::string_view text);

struct LineShape {
  size_t column = 0;  ///< at which the text begins
  size_t indent = 0;  ///< of every further line
  size_t width = kUsualWidth;
};

/// The words on lines that are no wider than `width`, without a line end after the last. A number stays beside the word
/// after it, its unit, and what stands between backticks stays together. Parts of the text between which there are
/// three blanks are kept whole where one fits on a line. A word that does not fit on any line, such as a path, is not
/// broken.
///
///     `4 kernels, 1 compiled   128 kB`, width 40, indent 12    =>    4 kernels, 1 compiled
///                                                                                128 kB
std::string wrapped(std::string_view text, const LineShape& shape);

}  // namespace collage::runtime
