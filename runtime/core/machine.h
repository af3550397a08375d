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

#include <map>
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
  Machine() { index("host"); }

  void add_device(const std::string& space, bool has_copy_queue);
  /// Both ways. Of two links between the same spaces the first counts.
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

 private:
  int index(const std::string& name);

  std::vector<std::string> names_;
  std::map<std::string, int> index_;
  std::map<std::string, bool> has_copy_queue_;  ///< by space of a device
  /// By the two ends, the smaller first, and in the order from there.
  std::map<std::pair<std::string, std::string>, std::vector<LinkHop>> routes_;
};

}  // namespace collage::runtime
