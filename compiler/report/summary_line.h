// SPDX-License-Identifier: Apache-2.0
// Lines for people that begin with a label of twelve columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace collage::report {

inline constexpr size_t kLabelColumns = 12;
/// The narrowest table that has room for its columns.
inline constexpr size_t kLeastWidth = 72;

/// `label       text` and a line end, the text wrapped in its column.
std::string summary_line(std::string_view label, std::string_view text, size_t width);

/// Lines of that form, each of them wrapped.
std::string summary_lines(std::string_view lines, size_t width);

}  // namespace collage::report
