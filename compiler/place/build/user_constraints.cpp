// SPDX-License-Identifier: Apache-2.0
// Applies constraints one after another. One that leaves a node without a candidate is reported with the reason: what
// the backends say of the node or the nodes, or a smallest set of earlier constraints that it contradicts.
#include "compiler/place/build/user_constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/rules/how_to_activate.h"
#include "compiler/place/build/owners.h"
#include "compiler/place/build/problem_builder.h"
#include "compiler/place/build/why_not.h"
#include "runtime/core/host_space.h"
#include "runtime/core/joined.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using support::Code;

class Constrainer {
 public:
  explicit Constrainer(ProblemBuilder& builder)
      : graph_(builder.graph),
        registered_(builder.registered),
        backends_(builder.backends),
        built_(builder.built),
        diags_(builder.diags) {}

  bool run(const std::vector<Constraint>& constraints) {
    const Table<CandidateId, Candidate>& candidates = built_.problem.candidates;
    Table<CandidateId, bool> alive(candidates.size(), true);
    bool ok = true;
    for (const Constraint& constraint : constraints) {
      std::optional<Judge> judge = judge_of(constraint);
      if (!judge) {
        ok = false;
        continue;
      }
      judges_.push_back(std::move(*judge));
      Table<CandidateId, bool> left = alive;
      for (CandidateId c : candidates.ids()) left[c] = left[c] && judges_.back().allows(candidates[c]);
      if (NodeId lacking = without_candidate(left, constraint); lacking.is_valid()) {
        ok = unsatisfiable(judges_.back(), lacking);
        judges_.pop_back();
      } else {
        alive = std::move(left);
      }
    }
    if (!ok) return false;
    built_.keep_if([&](CandidateId c) { return alive[c]; });
    return true;
  }

 private:
  struct Judge {
    const Constraint* constraint = nullptr;
    Table<NodeId, bool> concerned;
    std::set<OwnerId> owners;  ///< Place, Forbid

    bool allows(const Candidate& candidate) const {
      const auto count =
          std::count_if(candidate.nodes.begin(), candidate.nodes.end(), [&](NodeId node) { return concerned[node]; });
      switch (constraint->kind) {
        case Constraint::Kind::Place: return count == 0 || owners.count(candidate.owner) > 0;
        case Constraint::Kind::Forbid: return count == 0 || owners.count(candidate.owner) == 0;
        case Constraint::Kind::Together: return count == 0 || count == std::ssize(constraint->nodes);
      }
      return true;
    }
  };

  /// Nothing after an error: the target does not exist.
  std::optional<Judge> judge_of(const Constraint& constraint) {
    Judge judge{&constraint, Table<NodeId, bool>(graph_.node_count()), {}};
    for (NodeId node : constraint.nodes) judge.concerned[node] = true;
    if (constraint.kind == Constraint::Kind::Together) return judge;
    judge.owners = owners_of(constraint);
    if (!judge.owners.empty()) return judge;
    std::vector<std::string> known;
    for (const Owner& owner : built_.problem.owners) {
      known.push_back(owner.backend);
      known.push_back(owner.instance);
    }
    auto error = diags_.error_at(Code::BadOption, constraint.option, "no active backend or device `{}`",
                                 target_text(constraint));
    const std::string_view why = missing_cluster(built_.problem, target_text(constraint));
    if (!why.empty()) return error.note("{}", why);
    if (const ir::Backend* inactive = find_inactive(constraint.target))
      return error.note(inactive->span, "the backend is not active: {}", ir::how_to_activate(*inactive));
    return error.did_you_mean(support::closest(target_text(constraint), known));
  }

  /// The backend of that name, or with a device of that name, that takes no part; null: there is none.
  const ir::Backend* find_inactive(const std::string& name) const {
    const auto is_meant = [&](const ir::Backend& backend) {
      const bool has_name =
          backend.name == name || std::any_of(backend.devices.begin(), backend.devices.end(),
                                              [&](const auto& device) { return device.name == name; });
      return has_name && std::none_of(backends_.begin(), backends_.end(), [&](const ActiveBackend& active) {
               return active.backend->name == backend.name;
             });
    };
    const auto found = std::find_if(registered_.backends.begin(), registered_.backends.end(), is_meant);
    return found == registered_.backends.end() ? nullptr : &*found;
  }

  static std::string target_text(const Constraint& constraint) {
    return constraint.instance < 0 ? constraint.target : fmt::format("{}[{}]", constraint.target, constraint.instance);
  }

  /// The owners of the backend of that name, or else of the device.
  std::set<OwnerId> owners_of(const Constraint& constraint) const {
    const Table<OwnerId, Owner>& all = built_.problem.owners;
    std::set<OwnerId> of_backend, of_device;
    for (OwnerId o : all.ids()) {
      // A split candidate runs on no single instance; it runs on one that is forbidden.
      bool is_group = !all[o].members.empty() && constraint.instance >= 0;
      if (is_group ? constraint.kind == Constraint::Kind::Place || !has_member(all[o], constraint.instance)
                   : !has_index(all[o].instance, constraint.instance))
        continue;
      if (all[o].backend == constraint.target) of_backend.insert(o);
      if (all[o].instance.substr(0, all[o].instance.find('[')) == constraint.target) of_device.insert(o);
    }
    // `host` is a backend, `host[1]` all that runs in that memory.
    const bool is_memory = has_cluster() && constraint.instance >= 0 && constraint.target == kHostBackend;
    return of_backend.empty() || is_memory ? of_device : of_backend;
  }

  bool has_cluster() const { return implicit_hosts(built_.problem).size() > 1; }

  /// -1: any.
  bool has_index(const std::string& instance, int index) const {
    if (index < 0 || instance.ends_with(fmt::format("[{}]", index))) return true;
    return index == 0 && has_cluster() && instance == runtime::host_space(0);
  }

  bool has_member(const Owner& group, int index) const {
    return std::any_of(group.members.begin(), group.members.end(),
                       [&](OwnerId member) { return has_index(built_.problem.owners[member].instance, index); });
  }

  /// One that the constraint names, if there is such a one.
  NodeId without_candidate(const Table<CandidateId, bool>& alive, const Constraint& constraint) const {
    Table<NodeId, bool> has(graph_.node_count());
    for (CandidateId c : alive.ids()) {
      if (!alive[c]) continue;
      for (NodeId node : built_.problem.candidates[c].nodes) has[node] = true;
    }
    for (NodeId node : constraint.nodes) {
      if (!has[node]) return node;
    }
    const auto first = std::find(has.begin(), has.end(), false);
    return first == has.end() ? NodeId() : NodeId(first - has.begin());
  }

  /// Whether some candidate with the node is allowed by all of these.
  bool has_candidate(NodeId node, const std::vector<const Judge*>& judges) const {
    return std::any_of(built_.problem.candidates.begin(), built_.problem.candidates.end(), [&](const Candidate& c) {
      return std::binary_search(c.nodes.begin(), c.nodes.end(), node) &&
             std::all_of(judges.begin(), judges.end(), [&](const Judge* judge) { return judge->allows(c); });
    });
  }

  bool unsatisfiable(const Judge& judge, NodeId node) {
    const Constraint& constraint = *judge.constraint;
    auto error = diags_.error_at(Code::ConstraintUnsatisfiable, constraint.option, "{}", complaint(judge, node));
    if (!has_candidate(node, {&judge})) {
      explain(judge, node, error);
      return error;
    }
    const std::vector<const Judge*> others = contradicted(judge, node);
    const std::string text =
        runtime::joined(others, " and ", [](const Judge* other) { return "`" + other->constraint->option + "`"; });
    error.note("it contradicts {}{}", others.size() > 1 ? "what these say together: " : "", text);
    if (constraint.kind == Constraint::Kind::Together) explain_apart(judge, others, error);
    return error;
  }

  /// Earlier constraints that leave nothing together with this one, none of which could be dropped.
  std::vector<const Judge*> contradicted(const Judge& judge, NodeId node) const {
    std::vector<const Judge*> needed;
    for (const Judge& other : judges_) {
      if (&other != &judge) needed.push_back(&other);
    }
    for (size_t i = 0; i < needed.size();) {
      std::vector<const Judge*> others = needed;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      others.push_back(&judge);
      if (has_candidate(node, others)) {
        ++i;
      } else {
        needed.erase(needed.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return needed;
  }

  /// Why no backend, but the host alone, has these nodes in one partition; of those only that `others` leave.
  void explain_apart(const Judge& judge, const std::vector<const Judge*>& others, support::Diagnostic& error) const {
    const std::vector<NodeId>& nodes = judge.constraint->nodes;
    const auto is_left = [&](const std::string& name) {
      const Table<OwnerId, Owner>& owners = built_.problem.owners;
      return std::all_of(others.begin(), others.end(), [&](const Judge* other) {
        return other->constraint->kind != Constraint::Kind::Place ||
               std::any_of(other->owners.begin(), other->owners.end(),
                           [&](OwnerId owner) { return owners[owner].backend == name; });
      });
    };
    for (BackendId b : backends_.ids()) {
      const ir::Backend& backend = *backends_[b].backend;
      const BackendCandidates& found = built_.backends[b];
      const bool takes_all = std::any_of(found.candidates.begin(), found.candidates.end(), [&](const auto& candidate) {
        const std::vector<NodeId>& members = candidate.members.nodes;
        return std::includes(members.begin(), members.end(), nodes.begin(), nodes.end());
      });
      if (takes_all || backend.name == kHostBackend || !is_left(backend.name)) continue;
      const auto lacking = std::find_if(nodes.begin(), nodes.end(), [&](NodeId node) {
        return !why_not(graph_, backends_[b], found, node).message.empty();
      });
      if (lacking != nodes.end()) {
        const WhyNot why = why_not(graph_, backends_[b], found, *lacking);
        error.note(why.span, "`{}` cannot run `%{}`: {}", backend.name, graph_.node_name(*lacking), why.message);
        continue;
      }
      std::string limit = backend.policy.join == ir::JoinKind::None ? "it joins no matches"
                                                                    : limit_violation(graph_, backend.policy, nodes);
      if (const match::Denied* denied = match::denied_in(found.denied, nodes)) {
        error.note(denied->span, "`{}` denies them together: {}", backend.name, denied->message);
      } else if (!limit.empty()) {
        error.note(backend.policy.span, "`{}` cannot take them together: {}", backend.name, limit);
      } else {
        error.note(backend.span, "`{}` has no matches that make up one partition with them", backend.name);
      }
    }
  }

  std::string complaint(const Judge& judge, NodeId node) const {
    const Constraint& constraint = *judge.constraint;
    const std::string& name = graph_.node_name(node);
    if (!judge.concerned[node]) return fmt::format("nothing is left that can run `%{}`", name);
    switch (constraint.kind) {
      case Constraint::Kind::Place: return fmt::format("`%{}` cannot run on `{}`", name, target_text(constraint));
      case Constraint::Kind::Forbid:
        return fmt::format("nothing but `{}` can run `%{}`", target_text(constraint), name);
      case Constraint::Kind::Together:
        return fmt::format("no partition can hold `%{}` and {}", name, others(constraint, node));
    }
    return "";
  }

  std::string others(const Constraint& constraint, NodeId node) const {
    if (constraint.nodes.size() > 2) return fmt::format("the {} others", constraint.nodes.size() - 1);
    return fmt::format("`%{}`", graph_.node_name(constraint.nodes[constraint.nodes[0] == node ? 1 : 0]));
  }

  void explain(const Judge& judge, NodeId node, support::Diagnostic& error) {
    for (CandidateId c : built_.candidate_ids()) {
      const std::vector<NodeId>& nodes = built_.problem.candidates[c].nodes;
      if (!built_.origin(c).fixed.is_valid() || !std::binary_search(nodes.begin(), nodes.end(), node)) continue;
      error.note("`%{}` is in a partition that was given", graph_.node_name(node));
      return;
    }
    bool is_pinned = false;
    for (NodeId concerned : judge.constraint->nodes) {
      const std::optional<ir::Pin>& pin = graph_.node(concerned).pin;
      if (!pin || (judge.constraint->kind != Constraint::Kind::Together && concerned != node)) continue;
      error.note(pin->span, "`%{}` is pinned to `{}`", graph_.node_name(concerned), pin->device);
      is_pinned = true;
    }
    if (judge.constraint->kind == Constraint::Kind::Together && !is_convex(graph_, judge.constraint->nodes)) {
      error.note("a path leaves them and comes back: what lies on it must be in the partition, too");
      return;
    }
    if (judge.constraint->kind == Constraint::Kind::Together) explain_apart(judge, {}, error);
    if (is_pinned || judge.constraint->kind == Constraint::Kind::Together) return;
    if (judge.constraint->kind == Constraint::Kind::Forbid) {
      explain_others(judge, node, error);
      return;
    }
    std::set<std::string> noted;
    for (OwnerId owner : judge.owners) {
      const std::string& name = built_.problem.owners[owner].backend;
      for (BackendId b : backends_.ids()) {
        if (backends_[b].backend->name != name || !noted.insert(name).second) continue;
        const WhyNot why = why_not(graph_, backends_[b], built_.backends[b], node);
        if (!why.message.empty()) error.note(why.span, "{}", why.message);
        if (why.message.empty())
          error.note("each candidate of `{}` with it takes a node that is pinned elsewhere", name);
      }
    }
  }

  /// Why the backends that are not forbidden do not have the node.
  void explain_others(const Judge& judge, NodeId node, support::Diagnostic& error) const {
    for (BackendId b : backends_.ids()) {
      const std::string& name = backends_[b].backend->name;
      const bool is_forbidden = std::any_of(judge.owners.begin(), judge.owners.end(), [&](OwnerId owner) {
        return built_.problem.owners[owner].backend == name;
      });
      const WhyNot why = why_not(graph_, backends_[b], built_.backends[b], node);
      if (!is_forbidden && !why.message.empty()) error.note(why.span, "`{}`: {}", name, why.message);
    }
  }

  const Graph& graph_;
  const ir::RuleSet& registered_;
  const ActiveBackends& backends_;
  BuiltProblem& built_;
  support::Diagnostics& diags_;
  std::vector<Judge> judges_;
};

}  // namespace

bool apply_constraints(ProblemBuilder& builder) {
  const std::vector<Constraint>& constraints = builder.options.constraints;
  return constraints.empty() || Constrainer(builder).run(constraints);
}

}  // namespace collage::place
