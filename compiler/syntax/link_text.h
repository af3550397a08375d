// SPDX-License-Identifier: Apache-2.0
// A link of a rule file with measured figures in place of the stated ones; the rest of its text stays.
//
//     link lan bandwidth 10 GB/s latency 5 us duplex   =>   link lan bandwidth 8.31 GB/s latency 21.4 us duplex
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace collage::syntax {

/// `link` is the link with its properties. A latency that is not stated is added. Returns nullopt where the bandwidth
/// is not stated as a number with a unit, or the latency is stated as something else.
std::optional<std::string> with_figures(std::string_view link, double bytes_per_second, double latency_seconds);

}  // namespace collage::syntax
