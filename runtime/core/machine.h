// SPDX-License-Identifier: Apache-2.0
// The resources of the event model (schedule.h): what a machine can do at the same time.
//
//     host                  the host's thread
//     npu[0]                the device's queue of launches and reorders
//     npu[0] in, npu[0] out its copy queue, one for each direction; without one, copies use the queue of launches
//     host - npu[0]         a link; where it is duplex, one for each direction: host -> npu[0], npu[0] -> host
//
// A copy holds the link and a queue at each end that is a device. The host's thread only starts it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace collage::runtime {

class Machine {
 public:
  Machine() { index("host"); }

  void add_device(const std::string& space, bool has_copy_queue);
  /// Both ways. Of two links between the same spaces the first counts.
  void add_link(const std::string& a, const std::string& b, bool is_duplex);

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
  std::map<std::string, bool> has_copy_queue_;                     ///< by space of a device
  std::map<std::pair<std::string, std::string>, bool> is_duplex_;  ///< by the two ends, the smaller first
};

}  // namespace collage::runtime
