// SPDX-License-Identifier: Apache-2.0
// A match that a placement has chosen: which rule, which of its kernels and knobs, and what its captures stand for. It
// is found once, when candidates are enumerated, and travels with its partition to the lowering.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

/// What a capture stands for. Absent: neither is valid. A captured node also has a value: the result that is read.
struct Binding {
  NodeId node;
  ValueId value;

  bool is_present() const { return value.is_valid(); }
  friend auto operator<=>(const Binding&, const Binding&) = default;
};

struct ChosenMatch {
  std::string name;  ///< as texts have it: `conv`, `conv:winograd`, `conv:direct{tile=16}`
  int rule = -1;     ///< index into Backend::rules; -1: a text names the rule, its match has not been looked for yet
  int kernel = 0;    ///< index into Rule::kernels
  std::map<std::string, runtime::AttrValue, std::less<>> knobs{};  ///< of the kernel
  std::vector<Binding> bindings{};                                 ///< one per capture of the rule
  std::vector<NodeId> nodes{};                                     ///< ascending
  std::vector<ValueId> results{};  ///< of its nodes, read outside or graph outputs; ascending

  bool is_found() const { return rule >= 0; }
};

/// The same match in a copy of its graph that numbers nodes and values otherwise. The copy keeps the order of the nodes
/// of the match.
ChosenMatch renumbered(const ChosenMatch& match, const std::function<NodeId(NodeId)>& node,
                       const std::function<ValueId(ValueId)>& value);

/// The same of all matches of a partition: its nodes `before` are those of `after` in the copy, in their order.
void renumber(const std::vector<NodeId>& before, const std::vector<NodeId>& after,
              const std::function<ValueId(ValueId)>& value, std::vector<ChosenMatch>& matches);

}  // namespace collage::ir
