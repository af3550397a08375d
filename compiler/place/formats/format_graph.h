// SPDX-License-Identifier: Apache-2.0
// What conversions exist between the formats of a value, and what they cost: the edges of the problem's graphs of
// formats.
//
//     copy      host <-> device, device <-> device, as it lies    latency + bytes / bandwidth of the route (topology.h)
//               host <-> host of a cluster                        the same
//     reorder   between layouts in one space                      launch + bytes read and written / that of the memory
//     cast      between storages in one space and layout          the same
//
// An edge changes one of the three, and bytes are those of the storage at hand: a value that is wanted as f16 elsewhere
// is cast first and copied at half the price.
//
// What a conversion has rounded stays so: from a storage that loses something no cast leads back, unless some candidate
// writes the value in that storage, so that all its readers may get it rounded anyway. Candidates that read or write a
// lossy storage exist only where it is permitted (format_choices.cpp); so whatever they want can be reached.
//
// Devices without a link between them meet through the host: `host` always is one of the spaces. In a cluster a device
// exchanges values with the host at which it stands and with other devices there; what goes further passes the memories
// of both hosts, which then are among the spaces.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/topology/topology.h"
#include "compiler/place/formats/active_backend.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

using runtime::Duration;

using runtime::Storage;

class FormatGraph {
 public:
  /// Knows the links of the devices of these backends, and of the hosts of their cluster.
  explicit FormatGraph(const ActiveBackends& backends);
  /// Knows the hosts of the cluster even where no backend is active.
  FormatGraph(const ActiveBackends& backends, const ir::RuleSet& registered);

  /// The number of the host that a memory is of, or at which the device stands.
  int host_of(const std::string& space) const;

  /// Spaces, layouts and storages that occur for one value. All storages can hold its dtype.
  struct Forms {
    std::set<std::string> spaces{"host"};
    std::set<std::string> layouts{"plain"};
    std::set<std::optional<Storage>> storages{std::nullopt};
    std::set<std::optional<Storage>> written{std::nullopt};  ///< storages in which some candidate leaves it
  };

  /// All conversions of a value of `type` among spaces x layouts x storages, as far as the layouts exist for it.
  /// `formats` gains what is not there yet.
  std::vector<ConversionEdge> edges(const ir::TensorType& type, const Forms& forms,
                                    Table<FormatId, ir::Format>* formats) const;

  /// Nothing where no link or switch joins the two, or where they are apart: a device and what another host has.
  std::optional<Duration> copy_cost(const std::string& from, const std::string& to, size_t bytes) const;
  /// No copy of so many bytes takes less, whatever memories it joins; nothing where there is none.
  std::optional<Duration> least_copy(size_t bytes) const { return topology_.least_copy(bytes); }
  /// `bytes` are those read and those written.
  static Duration rewrite_cost(const std::string& space, size_t bytes);
  /// The way that a copy takes, or null.
  const ir::Route* find_route(const std::string& from, const std::string& to) const;

 private:
  FormatGraph(const ActiveBackends& backends, ir::Topology topology);

  ir::Topology topology_;
  std::map<std::string, int, std::less<>> away_;  ///< devices that do not stand at the first host
};

/// `format` in the table, appended where it is new.
FormatId intern_format(const ir::Format& format, Table<FormatId, ir::Format>* formats);

}  // namespace collage::place
