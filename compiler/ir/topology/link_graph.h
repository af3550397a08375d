// SPDX-License-Identifier: Apache-2.0
// Memories and switches of a machine as the nodes of a graph, and the fastest link between any two. topology.h says
// which links join what.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::ir {

class LinkGraph {
 public:
  using Place = uint32_t;

  struct Edge {
    Place to = 0;
    uint32_t link = 0;
  };

  /// The end of a link.
  struct End {
    Place place = 0;
    int host = kAnyHost;  ///< at which it stands
  };
  static constexpr int kAnyHost = -1;  ///< of a switch that hosts share

  explicit LinkGraph(const std::vector<const Backend*>& backends);

  size_t size() const { return names_.size(); }
  const std::string& name(Place place) const { return names_[place]; }
  bool is_switch(Place place) const { return is_switch_[place]; }
  /// At which it stands.
  int host(Place place) const { return hosts_[place]; }
  /// By place of the other end, one each.
  const std::vector<Edge>& edges(Place place) const { return edges_[place]; }
  const Link& link(uint32_t index) const { return links_[index]; }

  /// `host`, `npu[1]`, a switch
  std::optional<Place> find(const std::string& name) const;
  /// All places of a declared name, or the one of an instance.
  std::vector<End> ends(const std::string& name) const;

 private:
  Place add_place(const std::string& name, int host, bool is_switch);
  void add_devices(const Backend& backend);
  void add_switches(const std::vector<SwitchDecl>& switches, const Cluster* cluster);
  void add_links(const std::vector<End>& owner, bool is_of_hosts, const std::vector<Link>& links);
  void add_edge(Place from, Place to, uint32_t link);
  bool is_better(uint32_t link, uint32_t than) const;

  std::map<std::string, std::vector<End>> ends_;  ///< by declared name
  std::vector<std::string> names_;
  std::unordered_map<std::string, Place> places_;
  std::vector<bool> is_switch_;
  std::vector<int> hosts_;
  std::vector<std::vector<Edge>> edges_;
  std::unordered_map<uint64_t, size_t> edge_;  ///< by both ends: its index in the list of the first
  std::vector<Link> links_;
};

}  // namespace collage::ir
