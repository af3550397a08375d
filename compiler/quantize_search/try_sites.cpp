// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize_search/try_sites.h"

#include <algorithm>

#include "compiler/request/constraints.h"

namespace collage::quantize_search {
namespace {

/// The node of the quantised graph that does the work of a node in f32; invalid where none does.
ir::NodeId node_in(const quantize::QuantizedGraph& quantized, const std::string& name, const std::string& maker) {
  if (!maker.empty()) return quantized.graph.find_node(maker);
  const ir::NodeId moved = quantized.graph.find_node(name + ".i8");
  return moved.is_valid() ? moved : quantized.graph.find_node(name);
}

}  // namespace

bool TriedSites::has_integers() const {
  return std::any_of(wanted.begin(), wanted.end(), [](bool one) { return one; });
}

std::vector<SiteGroup> TriedSites::groups() const {
  if (!is_possible()) return {};
  const std::vector<int> of_node = ir::partition_of_nodes(quantized.graph, placement);
  std::vector<SiteGroup> groups(placement.partitions.size());
  for (size_t p = 0; p < groups.size(); ++p) groups[p].partition = p;
  for (size_t site = 0; site < wanted.size(); ++site) {
    if (!wanted[site]) continue;
    groups[static_cast<size_t>(of_node[quantized.graph.find_node(quantized.nodes[site]).slot()])].sites.push_back(site);
  }
  std::erase_if(groups, [](const SiteGroup& group) { return group.sites.empty(); });
  return groups;
}

SiteTrials::SiteTrials(compilation::Compilation& compilation, const QuantizableModel& model,
                       std::vector<std::string> backends, support::Diagnostics& diags)
    : compilation_(compilation), model_(model), backends_(std::move(backends)), diags_(diags) {}

bool SiteTrials::read_constraints_once() {
  if (!constraints_) constraints_ = request::read_constraints(compilation_.settings(), model_.floats, diags_);
  return constraints_.has_value();
}

std::vector<place::Constraint> SiteTrials::constraints_on(const quantize::QuantizedGraph& quantized) const {
  std::vector<std::string> maker(model_.floats.node_count());
  for (size_t i = 0; i < quantized.nodes.size(); ++i) {
    const quantize::Site& site = model_.sites.sites[i];
    maker[site.node.slot()] = quantized.nodes[i];
    if (site.activation.is_valid()) maker[site.activation.slot()] = quantized.nodes[i];
  }
  std::vector<place::Constraint> constraints = *constraints_;
  for (place::Constraint& constraint : constraints) {
    std::vector<ir::NodeId> nodes;
    for (ir::NodeId node : constraint.nodes) {
      const ir::NodeId now = node_in(quantized, model_.floats.node_name(node), maker[node.slot()]);
      if (now.is_valid()) nodes.push_back(now);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    constraint.nodes = std::move(nodes);
  }
  forbid_others(quantized, &constraints);
  std::erase_if(constraints, [](const place::Constraint& constraint) { return constraint.nodes.empty(); });
  return constraints;
}

void SiteTrials::forbid_others(const quantize::QuantizedGraph& quantized,
                               std::vector<place::Constraint>* constraints) const {
  std::vector<ir::NodeId> makers;
  for (const std::string& name : quantized.nodes) {
    if (!name.empty()) makers.push_back(quantized.graph.find_node(name));
  }
  std::sort(makers.begin(), makers.end());
  for (const place::ActiveBackend& active : compilation_.active()) {
    const std::string& name = active.backend->name;
    if (name == "host" || is_allowed(name)) continue;
    constraints->push_back({place::Constraint::Kind::Forbid, makers, name, -1, "--quantize"});
  }
}

bool SiteTrials::is_allowed(const std::string& backend) const {
  return backends_.empty() || std::find(backends_.begin(), backends_.end(), backend) != backends_.end();
}

std::optional<search::FoundPlacement> SiteTrials::search(support::Diagnostics& diags) {
  std::optional<compilation::Candidates> candidates = compilation_.find_candidates({}, nullptr, diags);
  if (!candidates) return std::nullopt;
  place::Strategy strategy = compilation_.strategy();
  if (place::is_measured(strategy)) strategy = {};
  return compilation_.find_placement(*candidates, strategy, diags);
}

std::optional<TriedSites> SiteTrials::place(const std::vector<bool>& wanted) {
  if (!read_constraints_once()) return std::nullopt;
  TriedSites tried{wanted, quantize_graph(model_.floats, model_.sites, model_.ranges, wanted), {}};
  adopt(tried);
  support::Diagnostics quiet(diags_.sources());
  if (std::optional<search::FoundPlacement> found = search(quiet)) {
    tried.placement = std::move(found->placement);
    tried.cost = found->predicted;
  }
  return tried;
}

void SiteTrials::explain(const TriedSites& impossible) {
  adopt(impossible);
  search(diags_);
}

bool SiteTrials::may_stay(size_t site, const std::string& backend) const {
  if (backend == "host" && model_.sites.sites[site].kind == quantize::Site::Kind::Add) return false;
  return is_allowed(backend);
}

std::optional<TriedSites> SiteTrials::settle(std::vector<bool> wanted) {
  while (true) {
    std::optional<TriedSites> tried = place(wanted);
    if (!tried) return std::nullopt;
    bool is_settled = true;
    for (const SiteGroup& group : tried->groups()) {
      for (size_t site : group.sites) {
        if (may_stay(site, tried->placement.partitions[group.partition].backend)) continue;
        wanted[site] = false;
        is_settled = false;
      }
    }
    if (is_settled) return tried;
  }
}

void SiteTrials::adopt(const TriedSites& tried) {
  compilation_.replace_graph(tried.quantized.graph, constraints_on(tried.quantized));
}

}  // namespace collage::quantize_search
