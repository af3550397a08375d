// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/machine.h"

#include <algorithm>

namespace collage::runtime {

void Machine::add_device(const std::string& space, bool has_copy_queue) {
  has_copy_queue_.emplace(space, has_copy_queue);
  index(space);
}

void Machine::add_link(const std::string& a, const std::string& b, bool is_duplex) {
  is_duplex_.emplace(std::pair(std::min(a, b), std::max(a, b)), is_duplex);
}

std::vector<int> Machine::of_work(const std::string& space) {
  return {index(space)};
}

std::vector<int> Machine::of_copy(const std::string& from, const std::string& to) {
  std::vector<int> held;
  const auto hold_queue = [&](const std::string& space, const char* direction) {
    const auto device = has_copy_queue_.find(space);
    if (device != has_copy_queue_.end()) held.push_back(index(device->second ? space + direction : space));
  };
  hold_queue(from, " out");
  hold_queue(to, " in");
  const auto link = is_duplex_.find(std::pair(std::min(from, to), std::max(from, to)));
  const bool is_duplex = link != is_duplex_.end() && link->second;
  held.push_back(index(is_duplex ? from + " -> " + to : from < to ? from + " - " + to : to + " - " + from));
  std::sort(held.begin(), held.end());
  return held;
}

int Machine::index(const std::string& name) {
  const auto [known, is_new] = index_.emplace(name, static_cast<int>(names_.size()));
  if (is_new) names_.push_back(name);
  return known->second;
}

}  // namespace collage::runtime
