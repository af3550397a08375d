// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/questions.h"

#include <algorithm>

#include "compiler/report/explain/why.h"
#include "compiler/report/explain/why_not.h"
#include "compiler/request/select_nodes.h"

namespace collage::report {
namespace {

using support::Code;

/// Active, or registered and not there for a reason, or the host.
bool find_backend(const std::string& name, const ir::RuleSet& rules,
                  const std::vector<request::Activation>& activations, Questions* questions,
                  support::Diagnostics& diags) {
  questions->backend = name;
  for (const request::Activation& activation : activations) {
    if (activation.active.backend->name != name) continue;
    questions->absent = activation.absent;
    return true;
  }
  if (name == "host") return true;
  if (rules.find(name) != nullptr) {
    questions->absent = "`-t` does not activate it";
    return true;
  }
  std::vector<std::string> names{"host"};
  for (const ir::Backend& backend : rules.backends) names.push_back(backend.name);
  return diags.error_at(Code::UnknownDevice, "why-not", "no backend `{}`", name)
      .did_you_mean(support::closest(name, names));
}

}  // namespace

std::optional<Questions> read_questions(const request::QuestionRequest& request, const ir::Graph& graph,
                                        const ir::RuleSet& rules, const std::vector<request::Activation>& activations,
                                        support::Diagnostics& diags) {
  Questions questions;
  bool good = true;
  auto select = [&](const std::string& selector, const std::string& option, std::vector<ir::NodeId>* nodes) {
    std::optional<std::vector<ir::NodeId>> selected = request::select_nodes(selector, graph, option, diags);
    if (selected) *nodes = std::move(*selected);
    good = good && selected.has_value();
  };
  if (!request.why.empty()) select(request.why, "why", &questions.why);
  if (!request.why_not.empty()) {
    select(request.why_not[0], "why-not", &questions.why_not);
    good = find_backend(request.why_not[1], rules, activations, &questions, diags) && good;
  }
  if (!good) return std::nullopt;
  return questions;
}

std::vector<Answer> answer_why(const Questions& questions, const ExplainedPlacement& explained) {
  if (questions.why.empty()) return {};
  return why(explained, questions.why);
}

std::vector<Answer> answer_why_not(const Questions& questions, const ExplainedPlacement& explained) {
  if (questions.why_not.empty()) return {};
  if (!questions.absent.empty()) {
    return {{fmt::format("nothing runs on {}: {}", questions.backend, questions.absent), {}}};
  }
  return why_not(explained, questions.why_not, questions.backend);
}

}  // namespace collage::report
