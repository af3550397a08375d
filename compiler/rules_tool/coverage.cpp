// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/coverage.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "compiler/import/onnx.h"
#include "compiler/match/matcher.h"
#include "compiler/match/refusals.h"
#include "compiler/match/rewrite.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/passes/phases.h"
#include "compiler/sema/model/build_graph.h"
#include "runtime/support/print.h"

namespace collage::rules_tool {
namespace {

using support::Code;
using support::Diagnostics;

/// Where a rule that matches nowhere came nearest.
struct Nearest {
  match::NearMiss miss;
  std::string node;  ///< `%pool (MaxPool) of resnet50`
};

struct RuleCounts {
  size_t matches = 0;
  size_t models = 0;             ///< in which it matches
  std::vector<size_t> refusals;  ///< by clause
  size_t other_refusals = 0;     ///< of a complete derivation, by something else than a clause
  std::optional<Nearest> nearest{};
};

using Counts = std::vector<std::vector<RuleCounts>>;  ///< by backend and rule

/// What runs before matching where all backends are active.
std::vector<passes::Pass> passes_of(const ir::RuleSet& rules) {
  std::vector<const ir::Backend*> backends;
  for (const ir::Backend& backend : rules.backends) backends.push_back(&backend);
  std::vector<passes::Pass> all;
  for (const passes::PhaseStep& step : passes::compose_pre_phase(backends)) {
    const auto rewrite = [step](ir::Graph& graph, passes::PassContext&) {
      return match::apply_rewrite(graph, *step.backend, *step.rewrite, {});
    };
    all.push_back(step.pass != nullptr ? *step.pass : passes::Pass{step.name, "a rewrite of a rule file", rewrite});
  }
  return all;
}

std::optional<ir::Graph> load_model(support::SourceManager& sources, const std::string& path,
                                    const std::vector<passes::Pass>& all, Diagnostics& diags) {
  std::filesystem::path file(path);
  std::optional<ir::Graph> graph;
  if (file.extension() == ".onnx") {
    graph = import::import_onnx(path, diags);
  } else {
    const runtime::Result<support::FileId> id = sources.load(path);
    if (!id) return diags.error_at(Code::CannotRead, path, "cannot be read: {}", id.message());
    std::optional<sema::Model> model = sema::load_model_text(sources, *id, file.parent_path().string(), diags);
    if (model) graph = std::move(model->graph);
  }
  if (!graph || !passes::run_passes(*graph, all, {}, diags)) return std::nullopt;
  return graph;
}

void count_model(const ir::Graph& graph, const ir::Backend& backend, std::vector<RuleCounts>& counts) {
  match::MatchReport report;
  std::vector<bool> matched(backend.rules.size(), false);
  for (const match::Match& match : match::match_backend(graph, backend, {}, &report)) {
    auto rule = static_cast<size_t>(match.rule);
    ++counts[rule].matches;
    matched[rule] = true;
  }
  for (size_t rule = 0; rule < matched.size(); ++rule) counts[rule].models += matched[rule] ? 1 : 0;
  for (const match::Refusal& refusal : report.refusals) {
    RuleCounts& rule = counts[static_cast<size_t>(refusal.rule)];
    if (refusal.clause >= 0) {
      ++rule.refusals[static_cast<size_t>(refusal.clause)];
    } else if (refusal.kind != match::Refusal::Kind::Structure) {
      ++rule.other_refusals;
    }
  }
}

/// Looks for near misses of the rules that have not matched so far.
void find_nearest(const ir::Graph& graph, const ir::Backend& backend, std::vector<RuleCounts>& counts) {
  static const match::AttrValues kDefaults;
  std::vector<size_t> open;
  for (size_t rule = 0; rule < counts.size(); ++rule) {
    if (counts[rule].matches == 0) open.push_back(rule);
  }
  if (open.empty()) return;
  ir::Backend left = backend;
  left.rules.clear();
  for (size_t rule : open) left.rules.push_back(backend.rules[rule]);
  match::MatchReport report;
  const std::vector<match::Match> matches = match::match_backend(graph, left, kDefaults, &report);
  match::Refusals refusals(graph, left, kDefaults, nullptr, {matches, report.refusals});
  for (ir::NodeId node : graph.node_ids()) {
    for (match::NearMiss& miss : refusals.of(node)) {
      std::optional<Nearest>& nearest = counts[open[static_cast<size_t>(miss.rule)]].nearest;
      if (nearest && nearest->miss.progress >= miss.progress) continue;
      nearest = Nearest{std::move(miss),
                        fmt::format("%{} ({}) of {}", graph.node_name(node), graph.node(node).op->name, graph.name)};
    }
  }
}

void print_backend(const ir::Backend& backend, const std::vector<RuleCounts>& counts) {
  support::print("{}\n  {:>8} {:>7} {:>8}\n", backend.name, "matches", "models", "refused");
  for (size_t i = 0; i < counts.size(); ++i) {
    const ir::Rule& rule = backend.rules[i];
    size_t refused = counts[i].other_refusals;
    for (size_t clause : counts[i].refusals) refused += clause;
    support::print("  {:>8} {:>7} {:>8}  {}\n", counts[i].matches, counts[i].models, refused, rule.name);
    for (size_t clause = 0; clause < rule.clauses.size(); ++clause) {
      support::print("  {:>8} {:>7} {:>8}    where {}\n", "", "", counts[i].refusals[clause],
                     rule.clauses[clause].source);
    }
  }
}

struct Excuse {
  std::string backend;
  std::string rule;
  std::string reason;
  support::Span span;
  bool used = false;

  bool covers(const ir::Backend& of, const ir::Rule& which) const {
    return backend == of.name && (rule == which.name || rule == which.family);
  }
};

/// `npu conv_act.Tanh: no model of the corpus has one`
std::optional<std::vector<Excuse>> read_excuses(support::SourceManager& sources, const std::string& path,
                                                Diagnostics& diags) {
  std::vector<Excuse> excuses;
  if (path.empty()) return excuses;
  const runtime::Result<support::FileId> file = sources.load(path);
  if (!file) return diags.error_at(Code::CannotRead, path, "cannot be read: {}", file.message());
  std::string_view text = sources.text(*file);
  bool good = true;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    support::Span span{*file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    begin = end + 1;
    if (line.empty() || line.starts_with("//")) continue;
    size_t blank = line.find(' ');
    size_t colon = line.find(": ");
    if (blank == std::string_view::npos || colon == std::string_view::npos || blank > colon) {
      good = diags.error(Code::BadReasonList, span, "a line is `BACKEND RULE: reason`");
      continue;
    }
    excuses.push_back({std::string(line.substr(0, blank)), std::string(line.substr(blank + 1, colon - blank - 1)),
                       std::string(line.substr(colon + 2)), span});
  }
  if (!good) return std::nullopt;
  return excuses;
}

bool print_unfired(const ir::RuleSet& rules, const Counts& counts, std::vector<Excuse>& excuses, bool must_excuse,
                   Diagnostics& diags) {
  bool good = true;
  for (size_t b = 0; b < counts.size(); ++b) {
    const ir::Backend& backend = rules.backends[b];
    for (size_t r = 0; r < counts[b].size(); ++r) {
      const ir::Rule& rule = backend.rules[r];
      if (counts[b][r].matches > 0) continue;
      auto excuse =
          std::find_if(excuses.begin(), excuses.end(), [&](const Excuse& e) { return e.covers(backend, rule); });
      bool is_excused = excuse != excuses.end();
      if (is_excused) excuse->used = true;
      support::print("matches nowhere: {} {}{}\n", backend.name, rule.name, is_excused ? ": " + excuse->reason : "");
      const std::optional<Nearest>& nearest = counts[b][r].nearest;
      if (nearest && !is_excused)
        support::print("  nearest       {}: {}\n", nearest->node, match::reason_text(nearest->miss));
      if (must_excuse && !is_excused) {
        good = diags.error(Code::UncoveredRule, rule.span, "`{}` matches in no model of the corpus", rule.name)
                   .note("give it a model, or a line with the reason: `{} {}: …`", backend.name, rule.name);
      }
    }
  }
  for (const Excuse& excuse : excuses) {
    if (excuse.used) continue;
    good = diags
               .error(Code::BadReasonList, excuse.span, "no rule `{}` of `{}` matches nowhere", excuse.rule,
                      excuse.backend)
               .note("take the line out: the rule does match, or does not exist");
  }
  return good;
}

}  // namespace

bool report_coverage(support::SourceManager& sources, const ir::RuleSet& rules, const std::vector<std::string>& models,
                     const std::string& unfired, Diagnostics& diags) {
  std::optional<std::vector<Excuse>> excuses = read_excuses(sources, unfired, diags);
  if (!excuses) return false;
  Counts counts;
  for (const ir::Backend& backend : rules.backends) {
    std::vector<RuleCounts> of_backend(backend.rules.size());
    for (size_t i = 0; i < of_backend.size(); ++i) of_backend[i].refusals.resize(backend.rules[i].clauses.size());
    counts.push_back(std::move(of_backend));
  }
  bool good = true;
  const std::vector<passes::Pass> all = passes_of(rules);
  for (const std::string& path : models) {
    std::optional<ir::Graph> graph = load_model(sources, path, all, diags);
    good = good && graph;
    if (!graph) continue;
    for (size_t b = 0; b < counts.size(); ++b) {
      count_model(*graph, rules.backends[b], counts[b]);
      find_nearest(*graph, rules.backends[b], counts[b]);
    }
  }
  if (!good) return false;
  for (size_t b = 0; b < counts.size(); ++b) print_backend(rules.backends[b], counts[b]);
  return print_unfired(rules, counts, *excuses, !unfired.empty(), diags);
}

}  // namespace collage::rules_tool
