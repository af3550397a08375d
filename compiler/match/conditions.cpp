// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/conditions.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::match {
namespace {

class Conditions {
 public:
  Conditions(const Graph& graph, const Match& match) : graph_(graph), match_(match) {}

  /// Returns the reason; empty if the condition holds.
  std::string inner(const ir::Inner& inner) const {
    ValueId id = value_of(inner.capture);
    if (!id.is_valid()) return "";
    const ir::Value& value = graph_.value(id);
    if (value.is_output) return fmt::format("`%{}` is a model output", value.name);
    if (const ir::Use* use = use_outside(value)) {
      return fmt::format("`%{}` is also read by `%{}`", value.name, graph_.node_name(use->node));
    }
    if (!inner.uses || value.uses.size() == static_cast<size_t>(*inner.uses)) return "";
    return fmt::format("`%{}` is read {} times, need {}", value.name, value.uses.size(), *inner.uses);
  }

 private:
  ValueId value_of(int capture) const { return match_.bindings[static_cast<size_t>(capture)].value; }

  const ir::Use* use_outside(const ir::Value& value) const {
    auto at = std::find_if(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
      return !std::binary_search(match_.nodes.begin(), match_.nodes.end(), use.node);
    });
    return at == value.uses.end() ? nullptr : &*at;
  }

  const Graph& graph_;
  const Match& match_;
};

}  // namespace

std::optional<Refusal> check_conditions(const Graph& graph, const ir::Rule& rule, const Match& match,
                                        const Environment* environment) {
  auto refusal = [&](Refusal::Kind kind, std::string message, support::Span span) {
    return Refusal{kind, match.rule, match.root, match.nodes, -1, std::move(message), span};
  };
  Conditions conditions(graph, match);
  for (const ir::Need& need : rule.needs) {
    std::string why = environment != nullptr ? unmet(need, *environment) : "";
    if (!why.empty()) return refusal(Refusal::Kind::Needs, std::move(why), need.span);
  }
  for (const ir::Inner& inner : rule.inners) {
    std::string why = conditions.inner(inner);
    if (!why.empty()) return refusal(Refusal::Kind::Inside, std::move(why), inner.span);
  }
  return std::nullopt;
}

}  // namespace collage::match
