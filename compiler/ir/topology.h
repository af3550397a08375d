// SPDX-License-Identifier: Apache-2.0
// The links of a machine as rule files declare them, and the ways of copies over them.
//
//     host ──── pcie ──── npu[0]        npu[0] -> host:    npu[0] - pcie, pcie - host
//                 └────── npu[1]        npu[0] -> npu[1]:  npu[0] - pcie, pcie - npu[1]; the host has no part in it
//
// A copy passes switches at once: it takes the sum of the latencies on its way plus bytes over the least bandwidth. It
// does not pass devices or the host: what goes over their memory is several copies, which are the search's choice.
//
// Of several ways the one with the largest bandwidth counts, then the least latency, then the fewest links. A link
// works in both directions, whichever end declares it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "runtime/core/machine.h"

namespace collage::ir {

struct Route {
  std::vector<runtime::LinkHop> hops;  ///< in order, one at least
  double bytes_per_second = 0;
  Duration latency;
  std::optional<double> joules_per_byte{};  ///< absent if a link says none
  support::Span silent{};                   ///< that link

  Duration time_of(size_t bytes) const;
};

class Topology {
 public:
  /// Knows the devices and switches of these backends. Links to what they do not declare lead nowhere.
  explicit Topology(const std::vector<const Backend*>& backends);

  /// Returns null if no link or sequence of switches joins the two memory spaces.
  const Route* find(const std::string& from, const std::string& to) const;

 private:
  std::map<std::pair<std::string, std::string>, Route> routes_;
};

}  // namespace collage::ir
