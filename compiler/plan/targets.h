// SPDX-License-Identifier: Apache-2.0
// What plans can run on: how each backend's partitions run, and the devices that exist.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/target/code_target.h"
#include "compiler/ir/rule_set.h"
#include "compiler/match/evaluate.h"
#include "runtime/plan/plan.h"

namespace collage::plan {

/// A rewrite that works inside the partitions of its backend.
struct PostRewrite {
  ir::Backend backend;  ///< what the rewrite needs of it
  ir::Rewrite rewrite;
  match::AttrValues attrs;
};

struct BackendTarget {
  std::string name;
  ir::RuntimeKind runtime = ir::RuntimeKind::HostJit;
  std::string library{};                       ///< of RuntimeKind::Library, and `plugin:PATH` of RuntimeKind::Plugin
  std::vector<PostRewrite> post_rewrites{};    ///< its `phase post`, in order
  std::shared_ptr<const ir::Backend> rules{};  ///< null: its partitions ask for nothing (lowering_requests.h)
  match::AttrValues attrs{};                   ///< those that `-t` sets
  std::shared_ptr<const match::Environment> environment{};  ///< null: every need is met
};

struct DeviceTarget {
  runtime::DeviceSpec spec;  ///< `spec.space` is the instance: `npu[0]`
  size_t capacity = 0;       ///< bytes; 0: no limit
};

struct PlanTargets {
  std::vector<BackendTarget> backends;
  std::vector<DeviceTarget> devices;
  int threads = 1;             ///< that the host's code and libraries will run on
  codegen::CodeTarget code{};  ///< of the host
  bool is_concurrent = false;  ///< plans run with overlap: Plan::is_concurrent

  const BackendTarget* find_backend(std::string_view name) const;
  const DeviceTarget* find_device(std::string_view instance) const;
};

/// Attributes of a backend as `-t npu,lanes=16` leaves them; backends without an entry keep their defaults.
using BackendAttrs = std::map<std::string, runtime::AttrMap, std::less<>>;

/// The targets that rule files declare, one device per instance, and the host that is always there. A link works in
/// both directions; where both ends declare one, the faster counts. Links to devices that nobody declares are left out.
///
///     device npu count 2 { link npu … }   =>   npu[0] -> npu[1], npu[1] -> npu[0]
/// Expects phases that were checked (`passes/phases.h`).
PlanTargets make_targets(const ir::RuleSet& rules, const BackendAttrs& attrs);

}  // namespace collage::plan
