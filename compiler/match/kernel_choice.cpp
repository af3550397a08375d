// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/kernel_choice.h"

#include <algorithm>

#include "compiler/match/lowering_misfit.h"

namespace collage::match {
namespace {

/// One kernel, all combinations of its knobs.
class Chooser {
 public:
  Chooser(const ir::Rule& rule, const ir::Kernel& kernel, EvalContext context, NodeId root)
      : rule_(rule), kernel_(kernel), context_(context), root_(root) {}

  std::optional<KernelChoice> run() {
    for (const ir::Need& need : kernel_.needs) {
      std::string why = context_.environment != nullptr ? unmet(need, *context_.environment) : "";
      if (why.empty()) continue;
      fail(Refusal::Kind::Needs, std::move(why), need.span);
      return std::nullopt;
    }
    if (std::string why = generator_refusal(); !why.empty()) {
      fail(Refusal::Kind::Needs, std::move(why), kernel_.lowering.span);
      return std::nullopt;
    }
    std::optional<KernelChoice> best;
    size_t variants = 1;
    for (const ir::Knob& knob : kernel_.knobs) variants *= knob.values.size();
    for (size_t variant = 0; variant < variants; ++variant) {
      AttrValues knobs = knobs_of(variant);
      context_.knobs = &knobs;
      std::optional<double> cost = try_variant();
      if (cost && (!best || *cost < best->cost) && has_meaning(knobs)) best = KernelChoice{0, knobs, *cost};
      if (!cost && failed_whatever_the_knobs_) break;
    }
    return best;
  }

  /// Why the first combination failed.
  const Refusal& why() const { return why_; }

 private:
  std::string generator_refusal() const {
    const bool names_generator = kernel_.lowering.kind == ir::LoweringKind::HostJit && kernel_.lowering.span.is_valid();
    const Environment* environment = context_.environment;
    if (!names_generator || environment == nullptr || !environment->generator_refusal) return "";
    return environment->generator_refusal(kernel_.lowering.symbol);
  }

  bool has_meaning(const AttrValues& knobs) {
    if (!kernel_.lowering.meaning) return true;
    context_.knobs = &knobs;
    const runtime::Result<BuiltTemplate> meaning = meaning_of(rule_, kernel_.lowering, context_, root_);
    if (meaning) return true;
    why_ = {};
    fail(Refusal::Kind::Lowering, meaning.message(), kernel_.lowering.span);
    return false;
  }

  /// The last knob goes through its values fastest.
  AttrValues knobs_of(size_t variant) const {
    AttrValues knobs;
    for (size_t i = kernel_.knobs.size(); i-- > 0;) {
      const ir::Knob& knob = kernel_.knobs[i];
      knobs[knob.name] = knob.values[variant % knob.values.size()];
      variant /= knob.values.size();
    }
    return knobs;
  }

  std::optional<double> try_variant() {
    for (const ir::Clause& clause : kernel_.clauses) {
      const runtime::Status holds = clause_holds(clause, context_);
      if (holds) continue;
      failed_whatever_the_knobs_ = !ir::refers_to_knobs(clause.condition);
      fail(Refusal::Kind::Clause, holds.message(), clause.span);
      return std::nullopt;
    }
    if (std::optional<LoweringMisfit> misfit = lowering_misfit(kernel_.lowering, context_)) {
      fail(Refusal::Kind::Lowering, std::move(misfit->message), misfit->span);
      return std::nullopt;
    }
    if (!kernel_.cost) return 0;
    runtime::Result<double> cost = evaluate_cost(*kernel_.cost, context_);
    if (!cost) fail(Refusal::Kind::Cost, cost.message(), kernel_.cost->span);
    return std::move(cost).to_optional();
  }

  void fail(Refusal::Kind kind, std::string message, support::Span span) {
    if (!why_.message.empty()) return;
    why_.kind = kind;
    why_.message = std::move(message);
    why_.span = span;
  }

  const ir::Rule& rule_;
  const ir::Kernel& kernel_;
  EvalContext context_;
  NodeId root_;
  bool failed_whatever_the_knobs_ = false;
  Refusal why_;
};

}  // namespace

std::vector<KernelChoice> choose_kernels(const ir::Rule& rule, EvalContext context, NodeId root, Refusal* why) {
  std::vector<KernelChoice> chosen;
  Refusal refused;
  for (size_t i = 0; i < rule.kernels.size(); ++i) {
    const ir::Kernel& kernel = rule.kernels[i];
    Chooser chooser(rule, kernel, context, root);
    if (std::optional<KernelChoice> choice = chooser.run()) {
      choice->kernel = static_cast<int>(i);
      auto rival = std::find_if(chosen.begin(), chosen.end(), [&](const KernelChoice& other) {
        return rule.kernels[static_cast<size_t>(other.kernel)].format_group == kernel.format_group;
      });
      if (rival == chosen.end()) {
        chosen.push_back(std::move(*choice));
      } else if (choice->cost < rival->cost) {
        *rival = std::move(*choice);
      }
    }
    if (!chosen.empty()) continue;
    bool is_first = refused.message.empty();
    if (is_first) refused.kind = chooser.why().kind;
    if (is_first) refused.span = chooser.why().span;
    if (!is_first) refused.message += "; ";
    if (!kernel.name.empty()) refused.message += "kernel " + kernel.name + ": ";
    refused.message += chooser.why().message;
  }
  if (chosen.empty()) *why = std::move(refused);
  return chosen;
}

}  // namespace collage::match
