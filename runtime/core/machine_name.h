// SPDX-License-Identifier: Apache-2.0
// How messages, and processes that work together, name the machine that they run on.
#pragma once

#include <string>

namespace collage::runtime {

/// The name of this machine in its network, as the kernel reports it.
std::string machine_name();

}  // namespace collage::runtime
