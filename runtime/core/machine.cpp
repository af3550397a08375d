// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/machine.h"

#include <algorithm>

namespace collage::runtime {
namespace {

/// The same links from the other end.
std::vector<LinkHop> reversed(std::vector<LinkHop> hops) {
  std::reverse(hops.begin(), hops.end());
  for (LinkHop& hop : hops) std::swap(hop.from, hop.to);
  return hops;
}

/// The resource of the hop's direction, or of both directions where they take turns.
std::string resource_of(const LinkHop& hop) {
  if (hop.duplex) return hop.from + " -> " + hop.to;
  return std::min(hop.from, hop.to) + " - " + std::max(hop.from, hop.to);
}

}  // namespace

void Machine::add_device(const std::string& space, bool has_copy_queue) {
  has_copy_queue_.emplace(space, has_copy_queue);
  index(space);
}

void Machine::add_route(const std::string& a, const std::string& b, std::vector<LinkHop> hops) {
  routes_.try_emplace(std::pair(std::min(a, b), std::max(a, b)), a < b ? std::move(hops) : reversed(std::move(hops)));
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
  for (const LinkHop& hop : route(from, to)) held.push_back(index(resource_of(hop), &hop));
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  return held;
}

std::vector<LinkHop> Machine::route(const std::string& from, const std::string& to) {
  const auto& [first, last] = std::minmax(from, to);
  auto known = routes_.find(std::pair(first, last));
  if (known == routes_.end()) {
    std::vector<LinkHop> found;
    if (find_route_) found = find_route_(first, last);
    if (found.empty()) return {LinkHop{from, to}};
    known = routes_.emplace(std::pair(first, last), std::move(found)).first;
  }
  return from < to ? known->second : reversed(known->second);
}

int Machine::index(const std::string& name, const LinkHop* link) {
  const auto [known, is_new] = index_.emplace(name, static_cast<int>(names_.size()));
  if (is_new) {
    names_.push_back(name);
    links_.push_back(link == nullptr ? std::nullopt : std::optional(*link));
  }
  return known->second;
}

}  // namespace collage::runtime
