// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/why_not.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::driver {
namespace {

using support::Code;

std::string place_text(const support::Span& span, const support::SourceManager& sources) {
  if (!span.is_valid()) return "";
  support::LineColumn at = sources.position(span.file, span.begin);
  return fmt::format(" ({}:{})", sources.name(span.file), at.line);
}

/// Refusals that concern the node, the most complete first, equal messages of a rule once.
void print_refusals(const ir::Backend& backend, const place::BackendCandidates& found, ir::NodeId node,
                    const support::SourceManager& sources) {
  std::vector<std::string> lines;
  for (const match::Refusal& refusal : found.refusals) {
    bool concerns =
        refusal.root == node || std::find(refusal.nodes.begin(), refusal.nodes.end(), node) != refusal.nodes.end();
    if (!concerns || refusal.kind == match::Refusal::Kind::Structure) continue;
    const ir::Rule& rule = backend.rules[static_cast<size_t>(refusal.rule)];
    support::Span span = refusal.clause >= 0 ? rule.clauses[static_cast<size_t>(refusal.clause)].span : rule.span;
    std::string line = fmt::format("  rule {}: {}{}", rule.name, refusal.message, place_text(span, sources));
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
}

}  // namespace

bool print_why_not(const ir::Graph& graph, const std::vector<place::ActiveBackend>& active,
                   const place::BuiltProblem& built, const std::string& node_name, const std::string& backend_name,
                   support::Diagnostics& diags) {
  std::string name = node_name.starts_with("%") ? node_name.substr(1) : node_name;
  ir::NodeId node = graph.find_node(name);
  if (!node.is_valid()) {
    std::vector<std::string> names;
    for (ir::NodeId id : graph.node_ids()) names.push_back(graph.node_name(id));
    return diags.error_at(Code::BadOption, "--why-not", "no node makes `%{}`", name)
        .did_you_mean(support::closest(name, names));
  }
  auto it = std::find_if(active.begin(), active.end(), [&](const auto& a) { return a.backend->name == backend_name; });
  if (it == active.end()) {
    std::vector<std::string> names;
    for (const place::ActiveBackend& a : active) names.push_back(a.backend->name);
    return diags.error_at(Code::UnknownDevice, "--why-not", "no active backend `{}`", backend_name)
        .did_you_mean(support::closest(backend_name, names));
  }
  const place::BackendCandidates& found = built.backends[static_cast<size_t>(it - active.begin())];
  place::WhyNot why = place::why_not(graph, *it->backend, found, node);
  if (why.message.empty()) {
    fmt::print("%{} can run on {}; where it does not, another place is cheaper\n", name, backend_name);
    return true;
  }
  fmt::print("%{} cannot run on {}: {}{}\n", name, backend_name, why.message, place_text(why.span, diags.sources()));
  print_refusals(*it->backend, found, node, diags.sources());
  return true;
}

}  // namespace collage::driver
