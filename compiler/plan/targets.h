// SPDX-License-Identifier: Apache-2.0
// What plans can run on: how each backend's partitions run, and the devices that exist.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/target/code_target.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/ir/topology/topology.h"
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
  /// `spec.space` is the instance: `npu[0]`. `spec.links` are those that no topology says; plans get what they use
  /// (plan_devices.h).
  runtime::DeviceSpec spec;
  size_t capacity = 0;  ///< bytes; 0: no limit
  int host = 0;         ///< the number of the host at which it stands
};

struct PlanTargets {
  std::vector<BackendTarget> backends;
  std::vector<DeviceTarget> devices;
  /// The memories of a cluster's hosts, by number, of kind `remote`; empty: there is one host.
  std::vector<DeviceTarget> hosts{};
  int threads = 1;             ///< that the host's code and libraries will run on
  codegen::CodeTarget code{};  ///< of the host
  bool is_concurrent = false;  ///< plans run with overlap: Plan::is_concurrent
  /// Ways between memories; null: there are the links of the specs alone.
  std::shared_ptr<const ir::Topology> topology{};

  const BackendTarget* find_backend(std::string_view name) const;
  const DeviceTarget* find_device(std::string_view instance) const;
  /// A device, or a host of the cluster; null for the host where there is one.
  const DeviceTarget* find_memory(std::string_view space) const;

  /// The link of a copy between a device, or a host of the cluster, and another memory.
  std::optional<runtime::DeviceSpec::Link> find_link(const DeviceTarget& from, const std::string& to) const;

  bool is_cluster() const { return !hosts.empty(); }
  bool has_host(std::string_view space) const;
  /// The number of the host that a memory is of, or stands at.
  int host_of(std::string_view space) const;
};

/// Attributes of a backend as `-t npu,lanes=16` leaves them; backends without an entry keep their defaults.
using BackendAttrs = std::map<std::string, runtime::AttrMap, std::less<>>;

/// The targets that rule files declare, one device per instance, and the host that is always there, with the topology
/// of their links. Expects phases that were checked (`passes/phases.h`).
PlanTargets make_targets(const ir::RuleSet& rules, const BackendAttrs& attrs);

}  // namespace collage::plan
