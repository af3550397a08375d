// SPDX-License-Identifier: Apache-2.0
// The resources of the event model (schedule.h): what a machine can do at the same time.
//
//     host                  the host's thread
//     npu[0]                the device's queue of launches and reorders
//     npu[0] in, npu[0] out its copy queue, one for each direction; without one, copies use the queue of launches
//     host - npu[0]         a link; where it is duplex, one for each direction: host -> npu[0], npu[0] -> host
//     npu[0] - pcie         a port of a switch: a link like any other
//
// A copy holds, from its start to its end, every link on its way and a queue at each end that is a device. So copies
// that have a link in common follow each other, and others run side by side. The host's thread only starts a copy.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace collage::runtime {

/// A link on the way of a copy, between two spaces or switches.
struct LinkHop {
  std::string from;
  std::string to;
  bool duplex = false;  ///< both directions at once

  friend bool operator==(const LinkHop&, const LinkHop&) = default;
};

class Machine {
 public:
  /// The links that a copy passes, in the order from `from` to `to`. Empty: none is known, and the two ends are taken
  /// for those of one link.
  using RouteFinder = std::function<std::vector<LinkHop>(const std::string& from, const std::string& to)>;

  Machine() : Machine(RouteFinder()) {}
  /// `find_route` is asked once for two spaces that a copy joins, unless their route was added. It works both ways.
  explicit Machine(RouteFinder find_route) : find_route_(std::move(find_route)) { index("host"); }

  void add_device(const std::string& space, bool has_copy_queue);
  /// Both ways. The first of two links between the same spaces counts.
  void add_link(const std::string& a, const std::string& b, bool is_duplex) { add_route(a, b, {{a, b, is_duplex}}); }
  /// The same over several links, in the order from `a` to `b`.
  void add_route(const std::string& a, const std::string& b, std::vector<LinkHop> hops);

  /// Resources of work in a memory space. Spaces that were not added count as separate resources.
  std::vector<int> of_work(const std::string& space);
  std::vector<int> of_copy(const std::string& from, const std::string& to);
  /// Resources of a conversion: a copy, or work if both are the same space.
  std::vector<int> of_conversion(const std::string& from, const std::string& to) {
    return from == to ? of_work(from) : of_copy(from, to);
  }

  const std::vector<std::string>& names() const { return names_; }
  /// The link that a resource is, of those that copies have asked for: with the ends of the first of them. Null for a
  /// queue.
  const LinkHop* link(int resource) const {
    const std::optional<LinkHop>& link = links_[static_cast<size_t>(resource)];
    return link ? &*link : nullptr;
  }

 private:
  int index(const std::string& name, const LinkHop* link = nullptr);
  std::vector<LinkHop> route(const std::string& from, const std::string& to);

  RouteFinder find_route_;  ///< may be empty
  std::vector<std::string> names_;
  std::vector<std::optional<LinkHop>> links_;  ///< by resource
  std::map<std::string, int> index_;
  std::map<std::string, bool> has_copy_queue_;  ///< by space of a device
  /// That are known, by the two ends, the smaller first, and in the order from there.
  std::map<std::pair<std::string, std::string>, std::vector<LinkHop>> routes_;
};

}  // namespace collage::runtime
