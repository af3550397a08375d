// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/rules/how_to_activate.h"
#include "compiler/place/build/owners.h"
#include "compiler/place/build/why_not.h"
#include "runtime/core/host_space.h"
#include "runtime/core/text.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using support::Code;

std::string text_of(const ir::Pin& pin) {
  return pin.instance < 0 ? pin.device : fmt::format("{}[{}]", pin.device, pin.instance);
}

class Pinner {
 public:
  explicit Pinner(ProblemBuilder& builder)
      : graph_(builder.graph),
        registered_(builder.registered),
        backends_(builder.backends),
        built_(builder.built),
        diags_(builder.diags) {}

  bool run() {
    bool ok = true;
    std::vector<std::pair<NodeId, std::set<OwnerId>>> pinned;
    for (NodeId node : graph_.node_ids()) {
      if (!graph_.node(node).pin) continue;
      std::set<OwnerId> owners = owners_of(*graph_.node(node).pin);
      if (owners.empty()) {
        ok = unknown(*graph_.node(node).pin);
        continue;
      }
      pinned.emplace_back(node, std::move(owners));
    }
    if (!ok) return false;
    Table<NodeId, const std::set<OwnerId>*> allowed(graph_.node_count());
    for (const auto& [node, owners] : pinned) allowed[node] = &owners;
    built_.keep_if([&](CandidateId c) {
      const Candidate& candidate = built_.problem.candidates[c];
      return std::all_of(candidate.nodes.begin(), candidate.nodes.end(), [&](NodeId node) {
        const std::set<OwnerId>* owners = allowed[node];
        return owners == nullptr || owners->count(candidate.owner) > 0;
      });
    });
    Table<NodeId, bool> has_candidate(graph_.node_count());
    for (const Candidate& candidate : built_.problem.candidates) {
      for (NodeId node : candidate.nodes) has_candidate[node] = true;
    }
    for (const auto& [node, owners] : pinned) {
      if (!has_candidate[node]) ok = unsatisfiable(node, owners);
    }
    return ok;
  }

 private:
  std::set<OwnerId> owners_of(const ir::Pin& pin) const {
    std::set<OwnerId> owners;
    const auto& all = built_.problem.owners;
    std::string instance = text_of(pin);
    const bool has_cluster = implicit_hosts(built_.problem).size() > 1;
    if (has_cluster && runtime::host_number(instance) == 0) instance = runtime::host_space(0);
    for (OwnerId o : all.ids()) {
      const std::string& where = all[o].instance;
      bool is_device =
          pin.instance < 0 ? where == pin.device || where.substr(0, where.find('[')) == pin.device : where == instance;
      if (is_device) owners.insert(o);
      // Hosts of a cluster have their names.
      if (all[o].backend != pin.device || (has_cluster && pin.instance >= 0 && pin.device == kHostBackend)) continue;
      // Instances of a backend count from its first owner.
      OwnerId first = o;
      while (first > 0 && all[support::advance(first, -1)].backend == pin.device) first = support::advance(first, -1);
      bool is_it = all[o].members.empty() && o == support::advance(first, pin.instance);
      if (pin.instance < 0 || is_it) owners.insert(o);
    }
    return owners;
  }

  bool unknown(const ir::Pin& pin) {
    std::vector<std::string> known;
    for (const Owner& owner : built_.problem.owners) {
      known.push_back(owner.backend);
      known.push_back(owner.instance);
      known.push_back(owner.instance.substr(0, owner.instance.find('[')));
    }
    auto error = diags_.error(Code::UnknownDevice, pin.span, "unknown device `{}`", text_of(pin));
    for (const ir::Backend& backend : registered_.backends) {
      for (const ir::DeviceDecl& device : backend.devices) {
        bool is_active = std::any_of(backends_.begin(), backends_.end(),
                                     [&](const ActiveBackend& active) { return active.backend->name == backend.name; });
        if (device.name != pin.device && backend.name != pin.device) continue;
        if (!is_active) {
          error.note(device.span, "backend `{}` declares it but is not active: {}", backend.name,
                     ir::how_to_activate(backend));
        } else {
          error.note(device.span, "`{}` has {}, counted from 0", device.name,
                     runtime::counted(device.count, "instance"));
        }
        return false;
      }
    }
    return error.did_you_mean(support::closest(text_of(pin), known));
  }

  bool unsatisfiable(NodeId node, const std::set<OwnerId>& owners) {
    const ir::Pin& pin = *graph_.node(node).pin;
    auto error = diags_.error(Code::PinUnsatisfiable, pin.span, "`%{}` cannot run on `{}`", graph_.node_name(node),
                              text_of(pin));
    std::set<std::string> noted;
    for (OwnerId owner : owners) {
      const std::string& name = built_.problem.owners[owner].backend;
      for (BackendId b : backends_.ids()) {
        const ir::Backend& backend = *backends_[b].backend;
        if (backend.name != name || !noted.insert(name).second) continue;
        WhyNot why = why_not(graph_, backends_[b], built_.backends[b], node);
        if (why.message.empty()) {
          why = {fmt::format("each candidate of `{}` with it takes a node that is pinned or placed elsewhere", name),
                 {}};
        }
        error.note(why.span, "{}", why.message);
      }
    }
    return error;
  }

  const Graph& graph_;
  const ir::RuleSet& registered_;
  const ActiveBackends& backends_;
  BuiltProblem& built_;
  support::Diagnostics& diags_;
};

}  // namespace

bool apply_pins(ProblemBuilder& builder) {
  return Pinner(builder).run();
}

}  // namespace collage::place
