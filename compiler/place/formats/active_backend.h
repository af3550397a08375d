// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/matcher.h"
#include "runtime/support/ids.h"

namespace collage::place {

/// Returns whether code is generated for a node.
using HasCode = std::function<bool(const ir::Graph& graph, ir::NodeId node)>;

/// A backend that takes part, and its attributes as set by `-t`.
struct ActiveBackend {
  const ir::Backend* backend = nullptr;
  match::AttrValues attrs;
  std::shared_ptr<const match::Environment> environment = nullptr;  ///< null: every need is met
  std::set<runtime::StorageType> allowed{};  ///< `--allow`: what values may lie as though they come back changed
  HasCode has_code{};  ///< of estimates where the host's kernels run it; empty: all operators have code
};

using BackendId = support::Id<ActiveBackend>;
/// All that take part, in the order of registration.
using ActiveBackends = support::Table<BackendId, ActiveBackend>;

}  // namespace collage::place
