// SPDX-License-Identifier: Apache-2.0
#include "compiler/certificate/compare_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/certificate/check_certificate.h"
#include "runtime/core/joined.h"

namespace collage::certificate {
namespace {

using place::Candidate;
using place::CandidateId;
using place::Cost;
using place::ProblemValue;
using place::ProblemValueId;

std::string text_of(const Cost& cost) {
  return cost >= Cost::max() ? "no cost" : cost_text(cost.count());
}

class ProblemComparer {
 public:
  ProblemComparer(const CertificateFile& stated, const CertificateFile& made, const Comparison& comparison)
      : stated_(stated), made_(made), comparison_(comparison) {}

  Compared run() {
    Compared result;
    result.difference = nodes();
    if (result.difference.empty()) result.difference = formats();
    if (result.difference.empty()) result.difference = owners();
    for (ProblemValueId v : made_.problem.values.ids()) {
      if (result.difference.empty()) result.difference = value(v);
    }
    if (result.difference.empty()) candidates(result);
    return result;
  }

 private:
  std::string nodes() const {
    if (stated_.names.model != made_.names.model) {
      return fmt::format("the certificate is of a model `{}`, this one is `{}`", stated_.names.model,
                         made_.names.model);
    }
    if (stated_.names.nodes.size() != made_.names.nodes.size()) {
      return fmt::format("the certificate has {} nodes, the model {}", stated_.names.nodes.size(),
                         made_.names.nodes.size());
    }
    for (place::NodeId node : made_.names.nodes.ids()) {
      if (stated_.names.nodes[node] == made_.names.nodes[node]) continue;
      return fmt::format("node {} is {} in the certificate and {} in the model", node.index, node_text(stated_, node),
                         node_text(made_, node));
    }
    if (stated_.problem.values.size() != made_.problem.values.size()) {
      return fmt::format("the certificate has {} values, the model {}", stated_.problem.values.size(),
                         made_.problem.values.size());
    }
    return "";
  }

  template <typename Items, typename IsEqual>
  bool begins_with(const Items& stated, const Items& made, IsEqual is_equal) const {
    if (stated.size() < made.size() || (stated.size() > made.size() && !comparison_.may_add)) return false;
    return std::equal(made.begin(), made.end(), stated.begin(), is_equal);
  }

  std::string formats() const {
    const auto is_equal = [](const ir::Format& a, const ir::Format& b) { return to_string(a) == to_string(b); };
    if (!begins_with(stated_.problem.formats, made_.problem.formats, is_equal) ||
        stated_.problem.host_plain != made_.problem.host_plain) {
      return "the formats are not those that the rules give";
    }
    if (!begins_with(stated_.problem.constant_bytes, made_.problem.constant_bytes, std::equal_to<>())) {
      return "the sizes of constants are not those of the model";
    }
    return "";
  }

  std::string owners() const {
    const auto is_equal = [](const place::Owner& a, const place::Owner& b) {
      return a.backend == b.backend && a.instance == b.instance;
    };
    if (!begins_with(stated_.problem.owners, made_.problem.owners, is_equal)) {
      return "the backends and devices are not those that the rules give";
    }
    for (place::OwnerId o : made_.problem.owners.ids()) {
      const place::Owner& stated = stated_.problem.owners[o];
      const place::Owner& made = made_.problem.owners[o];
      const auto says = [&](std::string_view what) {
        return fmt::format("{} of `{}` is not what rules and options say", what, made.instance);
      };
      if (stated.max_partitions != made.max_partitions) return says("`max partitions`");
      if (stated.memory != made.memory) return says("the memory");
      if (stated.conflicts != made.conflicts) return says("`conflicts with`");
      if (stated.joins != made.joins) return says("what joining regions saves");
    }
    return added_owners();
  }

  /// Those of partitions of the placement file: nothing that the search is limited by can come from there.
  std::string added_owners() const {
    const place::OwnerId first_added = made_.problem.owners.next_id();
    for (place::OwnerId o = first_added; o < stated_.problem.owners.next_id(); o = support::advance(o, 1)) {
      const place::Owner& added = stated_.problem.owners[o];
      const bool is_known = std::any_of(made_.problem.owners.begin(), made_.problem.owners.end(),
                                        [&](const place::Owner& made) { return made.backend == added.backend; });
      if (is_known || added.max_partitions || added.memory || added.joins || !added.conflicts.empty()) {
        return fmt::format("`{}` of `{}` is not a device that a placement file can add", added.instance, added.backend);
      }
    }
    return "";
  }

  std::string value(ProblemValueId v) const {
    const ProblemValue& stated = stated_.problem.values[v];
    const ProblemValue& made = made_.problem.values[v];
    const std::string name = value_text(made_, v);
    if (stated_.names.values[v] != made_.names.values[v]) {
      return fmt::format("value {} is {} in the certificate and {} in the model", v.index, value_text(stated_, v),
                         name);
    }
    if (stated.writer != made.writer) return name + " is written by another node";
    if (stated.readers != made.readers) return name + " is read by other nodes";
    if (stated.is_output != made.is_output) {
      return fmt::format("{} is {} of the model, and the certificate says otherwise", name,
                         made.is_output ? "an output" : "no output");
    }
    if (stated.bytes != made.bytes) {
      return fmt::format("{} has {} bytes, and the certificate says {}", name, made.bytes, stated.bytes);
    }
    const auto edges = [&](const ProblemValue& of) {
      std::vector<std::tuple<place::FormatId, place::FormatId, int64_t>> costs;
      for (const place::ConversionEdge& edge : of.conversions) {
        costs.emplace_back(edge.from, edge.to, comparison_.trusts_conversions ? 0 : edge.cost.count());
      }
      std::sort(costs.begin(), costs.end());
      return costs;
    };
    if (edges(stated) != edges(made)) return "the conversions of " + name + " are not those that the rules give";
    return "";
  }

  /// All properties of a candidate but its cost.
  using Key = std::tuple<place::OwnerId, std::vector<place::NodeId>, std::vector<place::ValueFormat>,
                         std::vector<place::ValueFormat>, std::vector<place::ConstantId>, std::vector<ProblemValueId>,
                         bool, std::string>;
  static Key key(const Candidate& c) {
    return {c.owner, c.nodes, c.reads, c.writes, c.constants, c.kept, c.may_join, c.rule};
  }

  static std::string described(const CertificateFile& file, CandidateId c) {
    const std::string nodes = runtime::joined(file.problem.candidates[c].nodes, ", ",
                                              [&](place::NodeId node) { return node_text(file, node); });
    return fmt::format("{} for {}", candidate_text(file, c), nodes);
  }

  void candidates(Compared& result) const {
    std::map<Key, std::vector<CandidateId>> stated;
    for (CandidateId c : stated_.problem.candidates.ids()) stated[key(stated_.problem.candidates[c])].push_back(c);
    for (auto& [what, same] : stated) std::reverse(same.begin(), same.end());
    for (CandidateId c : made_.problem.candidates.ids()) {
      const auto found = stated.find(key(made_.problem.candidates[c]));
      if (found == stated.end() || found->second.empty()) {
        result.difference =
            "the certificate lacks a candidate that model, rules and options give: " + described(made_, c);
        return;
      }
      const CandidateId same = found->second.back();
      found->second.pop_back();
      const Cost made = made_.problem.candidates[c].cost, said = stated_.problem.candidates[same].cost;
      if (comparison_.is_trusted && comparison_.is_trusted(c)) {
        ++result.trusted_costs;
      } else if (made != said) {
        result.difference = fmt::format("{} costs {}, and the certificate says {}", described(stated_, same),
                                        text_of(made), text_of(said));
        return;
      }
    }
    for (const auto& [what, rest] : stated) {
      result.added += rest.size();
      if (rest.empty() || comparison_.may_add) continue;
      result.difference = "the certificate has a candidate that model, rules and options do not give: " +
                          described(stated_, rest.front());
      return;
    }
  }

  const CertificateFile& stated_;
  const CertificateFile& made_;
  const Comparison& comparison_;
};

}  // namespace

Compared compare_problems(const CertificateFile& stated, const CertificateFile& made, const Comparison& comparison) {
  return ProblemComparer(stated, made, comparison).run();
}

}  // namespace collage::certificate
