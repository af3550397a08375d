// SPDX-License-Identifier: Apache-2.0
// The links of a machine or a cluster as rule files declare them, and the ways of copies over them.
//
//     host ──── pcie ──── npu[0]        npu[0] -> host:    npu[0] - pcie, pcie - host
//                 └────── npu[1]        npu[0] -> npu[1]:  npu[0] - pcie, pcie - npu[1]; the host has no part in it
//
// A copy passes switches at once: it takes the sum of the latencies on its way plus bytes over the least bandwidth. It
// does not pass devices or hosts: what goes over their memory is several copies, which are the search's choice.
//
// Among several ways the one with the largest bandwidth counts, then the least latency, then the fewest links. A link
// works in both directions, whichever end declares it.
//
// With a cluster, what stands at one host is joined with what stands at the same one:
//
//     link host in a device       =>  with the host at which each instance stands
//     link npu in a device        =>  with the instances at the same host
//     link host in a host         =>  with every other host
//     switch pcie { link host }   =>  one at each host, `pcie`, `pcie[1]`, …, unless hosts of the cluster name it
//     a switch that hosts name, or that has no link to a host   =>  one for all
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
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

/// Ways are found when they are first asked for. Several threads may ask at once; copies of the object share what is
/// known.
class Topology {
 public:
  /// Knows the cluster, devices and switches of these backends. Links to what they do not declare lead nowhere.
  explicit Topology(const std::vector<const Backend*>& backends);
  /// Knows all that is declared.
  explicit Topology(const RuleSet& rules);

  /// Returns null if no link or sequence of switches joins the two memory spaces. The route stays valid as long as this
  /// object or a copy of it.
  const Route* find(const std::string& from, const std::string& to) const;
  /// The way of a copy, which is between two hosts, or between memories at one. Returns null for others.
  const Route* find_copy(const std::string& from, const std::string& to) const;

  /// No copy of so many bytes between two memories takes less, by what their own links are. Nothing where none is
  /// joined.
  std::optional<Duration> least_copy(size_t bytes) const;

  /// Do copies lead from the first host to this memory, one after the other?
  bool reaches_host(const std::string& space) const;

  /// Ends of links at a switch, all instances of a device among them; the most where it stands at several hosts.
  size_t ports_of(const std::string& switch_name) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace collage::ir
