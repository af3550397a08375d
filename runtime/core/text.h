// SPDX-License-Identifier: Apache-2.0
// Text in pieces, and numbers as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace collage::runtime {

/// The pieces between separators, empty ones too: `a,,b` => a, "", b. Empty text is one empty piece.
std::vector<std::string> split(std::string_view text, char separator);

/// With a decimal prefix, for people: `12`, `25.6 M`, `8.2 G`.
std::string with_prefix(double count);

/// A number of things, for people: `1 op`, `2 ops`. The plural of `noun` ends in s.
std::string counted(int64_t count, std::string_view noun);

/// The double of the float's shortest decimal, which is what its author wrote: 1e-05, not 9.99999974e-06.
double shortest_double(float value);

}  // namespace collage::runtime
