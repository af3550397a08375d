// SPDX-License-Identifier: Apache-2.0
// Names of the memories of hosts. `host` is that of the first one, where inputs and results of a model lie; the others
// of a cluster are `host[1]`, `host[2]`, …, one process each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace collage::runtime {

/// `host`, `host[1]`, `host[2]`, …
std::string host_space(int number);

/// The number of a host's memory, 0 of `host` and `host[0]`; nullopt for the memory of a device.
std::optional<int> host_number(std::string_view space);

inline bool is_host_space(std::string_view space) {
  return host_number(space).has_value();
}

/// In what one host of a cluster has of a plan, where its own memory is `host` (plan/plan.h): whether it is that of
/// another.
bool is_other_host(std::string_view space);

}  // namespace collage::runtime
