// SPDX-License-Identifier: Apache-2.0
// Results inside a match that others may read as well, where the kernel makes one result.
//
//     match y = Add(c = Conv(x, w), r)  lower "conv_add"(x, w, r)   under   limit exits 2, taps yes
//         =>   where another operator reads `c`, nothing writes it
//
// A value at which the rule matches too, such as `c` in `Relu?(c = Conv(x, w))`, is no finding: no clause could keep it
// inside.
#include <algorithm>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/models/example_models.h"

namespace collage::lint {
namespace {

using support::Code;

class TapCheck {
 public:
  TapCheck(const ir::Backend& backend, int rule, support::Diagnostics& diags)
      : backend_(backend), index_(rule), rule_(backend.rules[static_cast<size_t>(rule)]), diags_(diags) {}

  /// True after a finding.
  bool run() {
    constexpr size_t kMade = 2;
    for (const ir::Graph& graph : witnesses_of(backend_, index_, kMade)) {
      for (const match::Match& match : match::match_rule(graph, backend_, index_, {}, nullptr)) {
        for (ir::NodeId node : match.nodes) {
          if (may_be_tapped(graph, match, node)) return true;
        }
      }
    }
    return false;
  }

 private:
  const ir::Lowering& lowering_of(const match::Match& match) const {
    return rule_.kernels[static_cast<size_t>(match.kernel)].lowering;
  }

  /// The capture that is bound to the value; -1 if it has no name.
  static int capture_of(const match::Match& match, ir::ValueId value) {
    auto at = std::find_if(match.bindings.begin(), match.bindings.end(),
                           [&](const match::Binding& binding) { return binding.value == value; });
    return at == match.bindings.end() ? -1 : static_cast<int>(at - match.bindings.begin());
  }

  /// Reports it where the match is still one if the result of the node is also an output of the model.
  bool may_be_tapped(const ir::Graph& graph, const match::Match& match, ir::NodeId node) {
    const ir::ValueId value = graph.first_output(node);
    const bool is_root = std::find(match.roots.begin(), match.roots.end(), node) != match.roots.end();
    if (is_root || graph.value(value).is_output) return false;
    ir::Graph tapped = graph;
    tapped.mark_output(value);
    const std::vector<match::Match> matches = match::match_rule(tapped, backend_, index_, {}, nullptr);
    const auto same = std::find_if(matches.begin(), matches.end(),
                                   [&](const match::Match& other) { return other.nodes == match.nodes; });
    if (same == matches.end()) return false;
    const bool ends_there =
        std::any_of(matches.begin(), matches.end(), [&](const match::Match& other) { return other.root == node; });
    const ir::Lowering& lowering = lowering_of(*same);
    const int capture = capture_of(*same, value);
    const auto is_it = [&](const ir::LoweringArg& arg) { return arg.capture == capture; };
    const bool is_told = capture >= 0 && std::any_of(lowering.args.begin(), lowering.args.end(), is_it);
    if (ends_there || is_told || !lowering.meaning) return false;
    report(tapped, node, capture, lowering);
    return true;
  }

  void report(const ir::Graph& tapped, ir::NodeId node, int capture, const ir::Lowering& lowering) {
    const std::string op(tapped.node(node).op->name);
    const std::string name = capture >= 0 ? rule_.captures[static_cast<size_t>(capture)].name : "";
    const support::Span span = capture >= 0 ? rule_.captures[static_cast<size_t>(capture)].span : rule_.span;
    diags_
        .warning(Code::TappedResult, span,
                 "others may read {} inside a match of `{}` as well, which `lower \"{}\"` does not make",
                 name.empty() ? "the result of " + op : "`" + name + "`", rule_.family, lowering.symbol)
        .note(backend_.policy.span, "`taps yes` lets them; {}",
              name.empty() ? "give it a name, and say `inner NAME`"
                           : fmt::format("`inner {}` takes only places where nothing else reads it", name))
        .note("for example in this model, which has it as an output:\n{}", text_of(tapped));
  }

  const ir::Backend& backend_;
  int index_;
  const ir::Rule& rule_;
  support::Diagnostics& diags_;
};

}  // namespace

void check_taps(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    if (!backend.policy.taps || backend.policy.max_exits == 1) continue;
    for (const std::vector<int>& family : families_of(backend)) {
      std::any_of(family.begin(), family.end(), [&](int member) {
        const ir::Rule& rule = backend.rules[static_cast<size_t>(member)];
        const bool has_meaning = std::any_of(rule.kernels.begin(), rule.kernels.end(), [](const ir::Kernel& kernel) {
          return kernel.lowering.meaning.has_value();
        });
        return has_meaning && TapCheck(backend, member, diags).run();
      });
    }
  }
}

}  // namespace collage::lint
