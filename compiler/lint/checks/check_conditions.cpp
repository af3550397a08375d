// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/logic/condition_solver.h"

namespace collage::lint {
namespace {

using support::Code;

/// Clauses of one rule, by index: `clause` holds never, always, or for no value with elements, together with `others`.
struct Finding {
  Code code = Code::ContradictoryWhere;
  size_t clause = 0;
  std::vector<size_t> others;

  friend bool operator==(const Finding&, const Finding&) = default;
};

/// Captures of the rule that may be absent and that these clauses mention.
std::vector<int> absentable(const ir::Rule& rule, const std::vector<size_t>& clauses) {
  std::vector<int> captures;
  for (size_t clause : clauses) collect_captures(rule.clauses[clause].condition, &captures);
  std::sort(captures.begin(), captures.end());
  captures.erase(std::unique(captures.begin(), captures.end()), captures.end());
  std::erase_if(captures,
                [&](int capture) { return capture < 0 || !rule.captures[static_cast<size_t>(capture)].may_be_absent; });
  return captures;
}

class RuleConditions {
 public:
  RuleConditions(const ir::Backend& backend, const ir::Rule& rule) : rule_(rule), conditions_(backend, rule) {}

  std::vector<Finding> run() {
    std::vector<Finding> findings;
    std::vector<size_t> before;
    for (size_t i = 0; i < rule_.clauses.size(); ++i) {
      std::vector<size_t> with = before;
      with.push_back(i);
      if (conditions_.contradict(expressions(with))) {
        findings.push_back({Code::ContradictoryWhere, i, least(before, [&](const std::vector<size_t>& some) {
                              std::vector<size_t> all = some;
                              all.push_back(i);
                              return conditions_.contradict(expressions(all));
                            })});
        // Leave it out, so that other findings show, too.
        continue;
      }
      if (conditions_.contradict_with_elements(expressions(with))) {
        findings.push_back({Code::EmptyMatch, i, {}});
        continue;
      }
      before.push_back(i);
      // A workspace that always fits is no mistake: it says what the kernel takes.
      if (rule_.clauses[i].is_workspace) continue;
      // An earlier clause implies nothing if one of its captures is absent.
      std::vector<int> own = absentable(rule_, {i});
      std::vector<size_t> sure(before.begin(), before.end() - 1);
      std::erase_if(sure, [&](size_t clause) {
        std::vector<int> theirs = absentable(rule_, {clause});
        return !std::includes(own.begin(), own.end(), theirs.begin(), theirs.end());
      });
      const ir::Expr& condition = rule_.clauses[i].condition;
      if (conditions_.imply(expressions(sure), condition)) {
        findings.push_back({Code::RedundantWhere, i, least(sure, [&](const std::vector<size_t>& some) {
                              return conditions_.imply(expressions(some), condition);
                            })});
        before.pop_back();
      }
    }
    return findings;
  }

 private:
  ExprList expressions(const std::vector<size_t>& clauses) const {
    ExprList list;
    for (size_t clause : clauses) list.push_back(&rule_.clauses[clause].condition);
    return list;
  }

  /// Removes every clause without which `holds` is still true.
  template <typename Holds>
  static std::vector<size_t> least(std::vector<size_t> clauses, Holds holds) {
    for (size_t i = clauses.size(); i-- > 0;) {
      std::vector<size_t> fewer = clauses;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (holds(fewer)) clauses = std::move(fewer);
    }
    return clauses;
  }

  const ir::Rule& rule_;
  Conditions conditions_;
};

void report(const Finding& finding, const ir::Rule& rule, const std::string& who, bool is_member,
            support::Diagnostics& diags) {
  std::vector<size_t> all = finding.others;
  all.push_back(finding.clause);
  std::string where;
  for (int capture : absentable(rule, all)) {
    where +=
        fmt::format("{}`{}`", where.empty() ? " with " : " and ", rule.captures[static_cast<size_t>(capture)].name);
  }
  support::Span span = rule.clauses[finding.clause].span;
  if (finding.code == Code::RedundantWhere) {
    auto warning = diags.warning(finding.code, span, "this condition always holds{}",
                                 finding.others.empty() ? "" : " where the conditions before it do");
    for (size_t other : finding.others) warning.note(rule.clauses[other].span, "it follows from this");
    return;
  }
  if (finding.code == Code::EmptyMatch) {
    diags.warning(finding.code, span, "rule `{}` matches no value that has elements{}: this asks for a size of 0", who,
                  where);
    return;
  }
  auto warning = diags.warning(is_member ? Code::UnreachableMember : finding.code, span,
                               "rule `{}` never matches{}: this condition cannot hold{}", who, where,
                               finding.others.empty() ? "" : " together with others");
  for (size_t other : finding.others) warning.note(rule.clauses[other].span, "it contradicts this");
}

}  // namespace

void check_conditions(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    for (const std::vector<int>& family : families_of(backend)) {
      std::vector<std::vector<Finding>> by_member;
      for (int member : family) {
        by_member.push_back(RuleConditions(backend, backend.rules[static_cast<size_t>(member)]).run());
      }
      auto is_everywhere = [&](const Finding& finding) {
        return std::all_of(by_member.begin(), by_member.end(), [&](const std::vector<Finding>& findings) {
          return std::find(findings.begin(), findings.end(), finding) != findings.end();
        });
      };
      for (size_t i = 0; i < family.size(); ++i) {
        const ir::Rule& rule = backend.rules[static_cast<size_t>(family[i])];
        for (const Finding& finding : by_member[i]) {
          if (is_everywhere(finding)) {
            if (i == 0) report(finding, rule, rule.family, false, diags);
          } else if (finding.code == Code::ContradictoryWhere) {
            // A condition that one member never needs may matter to another.
            report(finding, rule, rule.name, true, diags);
          }
        }
      }
    }
  }
}

}  // namespace collage::lint
