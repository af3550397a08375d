// SPDX-License-Identifier: Apache-2.0
// How a worker names where it is.
#pragma once

#include <string>

namespace collage::measure::fleet {

/// The name of this host, as the kernel reports it.
std::string host_name();

}  // namespace collage::measure::fleet
