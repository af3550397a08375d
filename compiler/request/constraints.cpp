// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "compiler/request/select_nodes.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::request {
namespace {

using ir::NodeId;
using place::Constraint;
using support::Code;

class ConstraintReader {
 public:
  ConstraintReader(const ir::Graph& graph, support::Diagnostics& diags) : graph_(graph), diags_(diags) {}

  /// `SELECTOR=BACKEND`, `SELECTOR=DEVICE[0]`
  bool read_target(Constraint::Kind kind, const std::string& option, const std::string& text) {
    Constraint constraint{kind, {}, "", -1, option + " " + text};
    size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return diags_.error_at(Code::BadOption, constraint.option,
                             "want NODES=BACKEND, such as `conv*=npu` or `op:Conv=npu[0]`");
    }
    constraint.target = text.substr(equals + 1);
    if (size_t bracket = constraint.target.find('['); bracket != std::string::npos) {
      const char* begin = constraint.target.data() + bracket + 1;
      const char* end = constraint.target.data() + constraint.target.size();
      auto [stop, error] = std::from_chars(begin, end, constraint.instance);
      if (error != std::errc() || constraint.instance < 0 || end - stop != 1 || *stop != ']') {
        auto wrong = diags_.error_at(Code::BadOption, constraint.option, "`{}` is no device: want `npu` or `npu[0]`",
                                     constraint.target);
        // As a partition says it: `onednn(host[1])`.
        const size_t inner = constraint.target.find('(');
        if (inner < bracket && constraint.target.ends_with(')')) {
          wrong.note("a backend or where it runs, not both: `{}` or `{}`", constraint.target.substr(0, inner),
                     constraint.target.substr(inner + 1, constraint.target.size() - inner - 2));
        }
        return wrong;
      }
      constraint.target.resize(bracket);
    }
    return select(text.substr(0, equals), constraint) && add(std::move(constraint));
  }

  /// `A,B,…`
  bool read_together(const std::string& text) {
    Constraint constraint{Constraint::Kind::Together, {}, "", -1, "--together " + text};
    for (const std::string& selector : runtime::split(text, ',')) {
      if (!select(selector, constraint)) return false;
    }
    std::set<NodeId> nodes(constraint.nodes.begin(), constraint.nodes.end());
    if (nodes.size() > 1) return add(std::move(constraint));
    return diags_.error_at(Code::BadOption, constraint.option, "names one node, `%{}`: together with what?",
                           graph_.node_name(*nodes.begin()));
  }

  std::vector<Constraint> constraints;

 private:
  bool add(Constraint constraint) {
    std::sort(constraint.nodes.begin(), constraint.nodes.end());
    constraint.nodes.erase(std::unique(constraint.nodes.begin(), constraint.nodes.end()), constraint.nodes.end());
    constraints.push_back(std::move(constraint));
    return true;
  }

  bool select(const std::string& selector, Constraint& constraint) {
    std::optional<std::vector<NodeId>> nodes = select_nodes(selector, graph_, constraint.option, diags_);
    if (nodes) constraint.nodes.insert(constraint.nodes.end(), nodes->begin(), nodes->end());
    return nodes.has_value();
  }

  const ir::Graph& graph_;
  support::Diagnostics& diags_;
};

/// The selectors of `A,B,…` that select nodes of a part of the model, with these.
std::vector<std::pair<std::string, std::vector<NodeId>>> selected_in_part(const std::string& text,
                                                                          const ir::Graph& part,
                                                                          const support::Diagnostics& diags) {
  support::Diagnostics unheard(diags.sources());
  std::vector<std::pair<std::string, std::vector<NodeId>>> all;
  for (std::string& selector : runtime::split(text, ',')) {
    if (std::optional<std::vector<NodeId>> nodes = select_nodes(selector, part, "", unheard))
      all.emplace_back(std::move(selector), std::move(*nodes));
  }
  return all;
}

}  // namespace

std::optional<std::vector<Constraint>> read_constraints(const Settings& settings, const ir::Graph& graph,
                                                        support::Diagnostics& diags) {
  ConstraintReader reader(graph, diags);
  bool good = true;
  for (const std::string& text : settings.place) good &= reader.read_target(Constraint::Kind::Place, "--place", text);
  for (const std::string& text : settings.forbid)
    good &= reader.read_target(Constraint::Kind::Forbid, "--forbid", text);
  for (const std::string& text : settings.together) good &= reader.read_together(text);
  if (!good) return std::nullopt;
  return std::move(reader.constraints);
}

std::set<std::string> together_in_part(const std::string& text, const ir::Graph& part,
                                       const support::Diagnostics& diags) {
  std::set<std::string> names;
  for (const auto& [selector, nodes] : selected_in_part(text, part, diags)) {
    for (NodeId node : nodes) names.insert(part.node_name(node));
  }
  return names;
}

std::string constraint_in_part(const std::string& text, bool is_together, const ir::Graph& part,
                               const support::Diagnostics& diags) {
  if (!is_together) {
    support::Diagnostics unheard(diags.sources());
    const size_t equals = text.rfind('=');
    // What is malformed is reported where it is read.
    const bool is_here = equals == std::string::npos || equals == 0 ||
                         select_nodes(text.substr(0, equals), part, "", unheard).has_value();
    return is_here ? text : "";
  }
  std::string here;
  std::set<NodeId> nodes;
  for (const auto& [selector, selected] : selected_in_part(text, part, diags)) {
    nodes.insert(selected.begin(), selected.end());
    runtime::add_to_list(here, selector, ",");
  }
  return nodes.size() > 1 ? here : "";
}

}  // namespace collage::request
