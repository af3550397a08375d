// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_rules.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/topology/topology.h"
#include "compiler/sema/rules/build_backend.h"
#include "compiler/sema/rules/build_cluster.h"
#include "compiler/sema/rules/build_links.h"
#include "compiler/sema/rules/build_phase.h"
#include "compiler/sema/rules/build_rewrite.h"
#include "compiler/sema/rules/build_rule.h"
#include "compiler/sema/rules/check_expr.h"
#include "compiler/sema/rules/expand_shapes.h"
#include "runtime/core/host_space.h"

namespace collage::sema {
namespace {

using support::Code;
using support::Diagnostics;

/// Checks that rules have costs. They need them unless the partition's cost is measured or does not use them.
bool check_costs(const ir::Backend& backend, Diagnostics& diags) {
  const ir::PartitionPolicy& policy = backend.policy;
  bool needs_rules = policy.cost ? ir::refers_to_rules(*policy.cost) : !policy.measured;
  if (!needs_rules) return true;
  bool ok = true;
  for (const ir::Rule& rule : backend.rules) {
    for (const ir::Kernel& kernel : rule.kernels) {
      if (kernel.cost || kernel.measured) continue;
      bool is_named = !kernel.name.empty();
      ok = diags
               .error(Code::IncompleteRule, kernel.span, "{} `{}` has no cost", is_named ? "kernel" : "rule",
                      is_named ? kernel.name : rule.family)
               .note("`cost macs / 100e9 * 1 s`, say, or `cost measured`");
    }
  }
  return ok;
}

/// Costs that are not formulas come from one source, whatever they belong to.
bool find_cost_program(ir::Backend* backend, Diagnostics& diags) {
  const std::string* first = nullptr;
  support::Span where{};
  const auto agrees = [&](bool measured, const std::string& program, support::Span span) -> bool {
    if (!measured) return true;
    if (first == nullptr) {
      first = &program;
      where = span;
    }
    if (*first == program) return true;
    const auto said = [](const std::string& text) { return text.empty() ? "`measured`" : "`exec \"" + text + "\"`"; };
    return diags
        .error(Code::IncompleteRule, span, "costs of backend `{}` are {} here and {} elsewhere", backend->name,
               said(program), said(*first))
        .note(where, "the other is here")
        .note("one program answers for a whole backend: it is told rule, kernel and knobs");
  };
  bool ok = true;
  for (const ir::Rule& rule : backend->rules) {
    for (const ir::Kernel& kernel : rule.kernels) ok = agrees(kernel.measured, kernel.cost_program, kernel.span) && ok;
  }
  ok = agrees(backend->policy.measured, backend->policy.cost_program, backend->policy.span) && ok;
  if (first != nullptr) backend->cost_program = *first;
  return ok;
}

bool check_rule_names(const syntax::BackendAst& ast, Diagnostics& diags) {
  bool ok = true;
  std::map<std::string, support::Span> seen;
  for (const syntax::RuleAst& rule : ast.rules) {
    auto [first, is_new] = seen.emplace(rule.name.text, rule.name.span);
    if (is_new) continue;
    ok = diags.error(Code::DuplicateName, rule.name.span, "rule `{}` is declared twice", rule.name.text)
             .note(first->second, "the first is here");
  }
  return ok;
}

bool build_one(const syntax::BackendAst& ast, support::SourceManager& sources, support::FileId file,
               const PatternDefs& outer, const NamedParts& outer_named, const support::FileAccess& access,
               ir::RuleSet& into, Diagnostics& diags) {
  ir::Backend backend;
  backend.file = sources.name(file);
  std::set<std::string> used_attrs;
  CostTableFiles tables(sources, access);
  NamedParts named(&outer_named);
  bool ok = named.add(ast.defs, diags);
  ok = build_backend(ast, named, &backend, &used_attrs, tables, diags) && ok;
  ok = check_rule_names(ast, diags) && ok;
  PatternDefs defs(&outer);
  ok = defs.add(ast.defs.patterns, diags) && ok;
  RuleContext context{diags, tables, backend, defs, named, &used_attrs};
  ok = build_phases(ast, &backend, diags) && ok;
  std::vector<ir::Rewrite> rewrites;
  for (const syntax::RewriteAst& rewrite : ast.rewrites) ok = build_rewrite(rewrite, context, &rewrites) && ok;
  backend.rewrites = std::move(rewrites);
  std::vector<ir::Rule> rules;
  for (const syntax::RuleAst& rule : ast.rules) ok = build_rule(rule, context, &rules) && ok;
  backend.rules = std::move(rules);
  for (const syntax::DenyAst& deny : ast.denies) ok = build_deny(deny, context, &backend.denies) && ok;
  for (const syntax::LossAst& loss : ast.losses) ok = build_loss(loss, context, &backend.losses) && ok;
  if (ok) {
    ok = check_costs(backend, diags) && find_cost_program(&backend, diags);
    named.warn_unused(diags);
    for (const ir::AttrDecl& attr : backend.attrs) {
      if (used_attrs.count(attr.name) != 0 || ir::reads_attribute(backend.runtime, attr.name)) continue;
      diags.warning(Code::UnusedName, attr.span, "attribute `{}` is never used", attr.name);
    }
    if (backend.scratch_bytes() && used_attrs.count(kScratchUse) == 0) {
      diags
          .warning(Code::UnusedName, backend.devices.front().span, "the scratch of `{}` is never used",
                   backend.devices.front().name)
          .note("a cost may count `tiles` or be `double_buffered(load, work)`, a condition may compare with `scratch`");
    }
    for (const ir::NamedMemory& memory :
         backend.devices.empty() ? std::vector<ir::NamedMemory>() : backend.devices.front().memories) {
      if (used_attrs.count(kMemoryUse + memory.name) != 0) continue;
      diags.warning(Code::UnusedName, memory.span, "memory `{}` is never used", memory.name)
          .note("`workspace {} = EXPR` in a rule or kernel says what it takes there", memory.name);
    }
  }
  if (const ir::Backend* first = into.find(backend.name)) {
    return diags.error(Code::DuplicateName, backend.span, "backend `{}` is declared twice", backend.name)
        .note(first->span, "the first is here");
  }
  into.backends.push_back(std::move(backend));
  return ok;
}

/// Adds the cluster of a file; there is at most one.
bool build_clusters(const syntax::RulesAst& ast, ir::RuleSet& into, Diagnostics& diags) {
  bool ok = true;
  for (const syntax::ClusterAst& written : ast.clusters) {
    if (into.cluster != nullptr) {
      ok = diags
               .error(Code::DuplicateName, written.name.span, "`{}` is a second cluster: one plan runs on one",
                      written.name.text)
               .note(into.cluster->span, "the first is here")
               .note("a cluster that several files use stands in one that they `include`");
      continue;
    }
    auto cluster = std::make_shared<ir::Cluster>();
    ok = build_cluster(written, cluster.get(), diags) && ok;
    into.cluster = std::move(cluster);
  }
  return ok;
}

/// Checks that links lead to what is declared. One that does not is taken for a link to the host from then on, so that
/// it is not reported again as a memory out of reach.
bool check_ends(ir::RuleSet& rules, const std::vector<std::string>& declared, Diagnostics& diags) {
  bool ok = true;
  const auto check = [&](std::vector<ir::Link>& links) {
    for (ir::Link& link : links) {
      if (link.shape || std::find(declared.begin(), declared.end(), link.to) != declared.end()) continue;
      auto error = diags.error(Code::UnknownName, link.span, "a link to `{}`, which no rule file declares", link.to);
      error.did_you_mean(support::closest(link.to, declared), link.to);
      const std::vector<std::string> shapes = shape_names();
      if (std::find(shapes.begin(), shapes.end(), link.to) != shapes.end()) {
        error.note("a network: `link ring`, `link torus(4, 8)` or `link tree(8)`");
      }
      link.to = "host";
      ok = false;
    }
  };
  for (ir::Backend& backend : rules.backends) {
    for (ir::DeviceDecl& device : backend.devices) check(device.links);
  }
  for (ir::SwitchDecl& one : rules.switches) check(one.links);
  if (rules.cluster == nullptr) return ok;
  ir::Cluster cluster = *rules.cluster;
  for (ir::HostDecl& host : cluster.hosts) check(host.links);
  rules.cluster = std::make_shared<const ir::Cluster>(std::move(cluster));
  return ok;
}

/// Warns of links between the instances of a device that has one at each host.
void warn_of_single(const ir::RuleSet& rules, Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::DeviceDecl& device : backend.devices) {
      // `hosts` ascends.
      const bool has_peers = device.hosts.empty()
                                 ? device.count > 1
                                 : std::adjacent_find(device.hosts.begin(), device.hosts.end()) != device.hosts.end();
      for (const ir::Link& link : device.links) {
        if (has_peers || link.to != device.name) continue;
        diags
            .warning(Code::UnusedName, link.span, "the link joins instances of `{}`, and there is one{}", device.name,
                     device.hosts.empty() ? "" : " at each host")
            .note("`count` of the device, or `devices` of a cluster, says how many there are");
      }
    }
  }
}

/// Checks that there are several of the devices over which rules split. Those of a cluster are as many as its hosts
/// have.
bool check_split_devices(const ir::RuleSet& rules, Diagnostics& diags) {
  std::vector<support::Span> reported;  // a rule of several operators is one for each
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::Rule& rule : backend.rules) {
      for (const ir::SplitClause& split : rule.splits) {
        const auto device = std::find_if(backend.devices.begin(), backend.devices.end(),
                                         [&](const ir::DeviceDecl& d) { return d.name == split.device; });
        if (device == backend.devices.end() || device->count > 1 || !device->hosts.empty()) continue;
        if (std::find(reported.begin(), reported.end(), split.device_span) != reported.end()) continue;
        reported.push_back(split.device_span);
        diags
            .error(Code::SplitDevices, split.device_span, "there is only one `{}`, nothing to split over", split.device)
            .note(device->span, "`device {} count 2` declares two, and so does `devices {} 2` of a cluster",
                  split.device, split.device);
      }
    }
  }
  return reported.empty();
}

/// Checks that each memory can be reached from the first host's.
bool check_reached(const ir::RuleSet& rules, const ir::Topology& topology, Diagnostics& diags) {
  bool ok = true;
  std::set<int> lost;  // numbers of hosts
  for (int number = 0, next = 0; rules.cluster != nullptr && number < rules.cluster->host_count(); ++number) {
    if (topology.reaches_host(runtime::host_space(number))) continue;
    lost.insert(number);
    const ir::HostDecl& host = rules.cluster->host(number);
    if (number < next) continue;  // of this declaration one was reported
    for (next = number + 1; next < rules.cluster->host_count() && &rules.cluster->host(next) == &host;) ++next;
    ok = diags
             .error(Code::BadDevice, host.span, "no sequence of links connects `{}` with the first host",
                    runtime::host_space(number))
             .note("`link host bandwidth 10 GB/s latency 5 us` in each, or a link of each to one switch");
  }
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::DeviceDecl& device : backend.devices) {
      for (int i = 0; i < device.count; ++i) {
        const auto at = static_cast<size_t>(i);
        if (at < device.hosts.size() && lost.contains(device.hosts[at])) continue;
        const std::string instance = device.name + "[" + std::to_string(i) + "]";
        if (topology.reaches_host(instance)) continue;
        ok = diags
                 .error(Code::BadDevice, device.span, "no sequence of links connects `{}` with the host",
                        device.hosts.empty() ? device.name : instance)
                 .note("`link host bandwidth 4 GB/s latency 8 us`");
        break;
      }
    }
  }
  return ok;
}

}  // namespace

bool build_rules(const syntax::RulesAst& ast, support::SourceManager& sources, support::FileId file, ir::RuleSet& into,
                 Diagnostics& diags, const syntax::DefinitionsAst& included, const support::FileAccess& access) {
  PatternDefs outer;
  bool ok = outer.add(included.patterns, diags);
  PatternDefs defs(&outer);
  ok = defs.add(ast.defs.patterns, diags) && ok;
  NamedParts outer_named;
  ok = outer_named.add(included, diags) && ok;
  NamedParts named(&outer_named);
  ok = named.add(ast.defs, diags) && ok;
  for (const syntax::SwitchAst& declared : ast.switches) {
    ok = build_switch(declared, &into.switches.emplace_back(), diags) && ok;
  }
  ok = build_clusters(ast, into, diags) && ok;
  for (const syntax::BackendAst& backend : ast.backends)
    ok = build_one(backend, sources, file, defs, named, access, into, diags) && ok;
  share_machine(into);
  return ok;
}

bool check_rule_set(ir::RuleSet& rules, Diagnostics& diags) {
  bool ok = true;
  std::map<std::string, support::Span> devices;
  std::vector<std::string> names = {"host"};
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::DeviceDecl& device : backend.devices) {
      auto [first, is_new] = devices.emplace(device.name, device.span);
      names.push_back(device.name);
      if (is_new) continue;
      ok = diags.error(Code::DuplicateName, device.span, "device `{}` is declared twice", device.name)
               .note(first->second, "the first is here");
    }
  }
  for (const ir::SwitchDecl& declared : rules.switches) {
    auto [first, is_new] = devices.emplace(declared.name, declared.span);
    names.push_back(declared.name);
    if (declared.name == "host") {
      ok = diags.error(Code::BadDevice, declared.span, "`host` is the machine's own memory and no switch");
    } else if (!is_new) {
      ok = diags.error(Code::DuplicateName, declared.span, "`{}` is declared twice", declared.name)
               .note(first->second, "the first is here")
               .note("a switch that several files use stands in one that they `include`");
    }
  }
  if (rules.cluster != nullptr) {
    // Its rings, tori and trees would have the switches of another one.
    if (const auto first = devices.find(rules.cluster->name); first != devices.end()) {
      ok = diags.error(Code::DuplicateName, rules.cluster->span, "`{}` is declared twice", rules.cluster->name)
               .note(first->second, "the first is here");
    }
  }
  for (const ir::Backend& backend : rules.backends) {
    auto self = std::find(backend.conflicts.begin(), backend.conflicts.end(), backend.name);
    if (self == backend.conflicts.end()) continue;
    const support::Span span = backend.conflict_spans[static_cast<size_t>(self - backend.conflicts.begin())];
    ok = diags.error(Code::IncompleteRule, span, "backend `{}` conflicts with itself", backend.name);
  }
  ok = check_ends(rules, names, diags) && ok;
  ok = place_devices(rules, diags) && ok;
  ok = check_split_devices(rules, diags) && ok;
  const size_t declared_switches = rules.switches.size();
  ok = expand_shapes(rules, diags) && ok;
  if (ok) warn_of_single(rules, diags);
  const ir::Topology topology(rules);
  ok = check_reached(rules, topology, diags) && ok;
  for (size_t i = 0; ok && i < declared_switches; ++i) {
    const ir::SwitchDecl& declared = rules.switches[i];
    if (topology.ports_of(declared.name) > 1) continue;
    diags
        .warning(Code::UnusedName, declared.span, "nothing passes through switch `{}`: it has less than two links",
                 declared.name)
        .note("`link {} bandwidth 16 GB/s` in a device, or `link host bandwidth 16 GB/s` in the switch", declared.name);
  }
  return ok;
}

}  // namespace collage::sema
