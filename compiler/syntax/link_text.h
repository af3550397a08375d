// SPDX-License-Identifier: Apache-2.0
// A link of a rule file with measured figures in place of the stated ones; the rest of its text stays.
//
//     link lan bandwidth 10 GB/s latency 5 us duplex   =>   link lan bandwidth 8.31 GB/s latency 21.4 us duplex
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace collage::syntax {

/// Returns nullopt where the text states no bandwidth as a number with a unit. A latency that is not stated is added.
std::optional<std::string> with_figures(std::string_view link, double bytes_per_second, double latency_seconds);

}  // namespace collage::syntax
