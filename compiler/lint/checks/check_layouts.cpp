// SPDX-License-Identifier: Apache-2.0
// A layout that one rule has and that all others of its backend have otherwise: values are reordered before and behind
// it. `plain` in letters, `NCHW`, counts for results; operands come from the host so, and the word `plain` is a wish.
//
//     format x: NHWC, y: NHWC   format x: NHWC, y: NHWC   format x: NHWC, y: NCHW     =>   the last
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "runtime/core/layout.h"

namespace collage::lint {
namespace {

struct LayoutUse {
  const ir::Rule* rule = nullptr;  ///< the first of its family
  std::string layout;              ///< in letters
  std::string name;                ///< of the value
  support::Span span;
  bool is_result = false;
};

bool names_constant(const ir::Pattern& pattern, int capture) {
  const auto names_it = [&](const ir::Pattern& part) { return names_constant(part, capture); };
  return (pattern.is_const && pattern.capture == capture) ||
         std::any_of(pattern.operands.begin(), pattern.operands.end(), names_it) ||
         std::any_of(pattern.choices.begin(), pattern.choices.end(), names_it);
}

/// `NHWC`; nothing for a format that names no layout in letters.
std::optional<std::string> letters_of(const ir::FormatClause& format, const support::SourceManager& sources) {
  if (!format.layout || format.any || format.capture < 0) return std::nullopt;
  if (*format.layout == runtime::kChannelsLast) return "NHWC";
  if (*format.layout != runtime::kPlainLayout) return format.layout;
  const std::string_view written = sources.text(format.span);
  for (const char* letters : {"NCDHW", "NCHW", "NCW"}) {
    if (written.find(letters) != std::string_view::npos) return letters;
  }
  return std::nullopt;
}

std::vector<LayoutUse> layout_uses(const ir::Backend& backend, const support::SourceManager& sources) {
  std::vector<LayoutUse> uses;
  for (const std::vector<int>& family : families_of(backend)) {
    const ir::Rule& rule = backend.rules[static_cast<size_t>(family[0])];
    for (const ir::Kernel& kernel : rule.kernels) {
      for (const ir::FormatClause& format : kernel.formats) {
        std::optional<std::string> letters = letters_of(format, sources);
        if (!letters || names_constant(rule.root, format.capture)) continue;
        const ir::Capture& capture = rule.captures[static_cast<size_t>(format.capture)];
        const bool is_result = capture.type == ir::ExprType::Node;
        if (!is_result && *format.layout == runtime::kPlainLayout) continue;
        uses.push_back({&rule, std::move(*letters), capture.name, format.span, is_result});
      }
    }
  }
  return uses;
}

/// The layout that at least two other rules have, and none otherwise; empty if there is none.
std::string layout_of_others(const std::vector<LayoutUse>& uses, const LayoutUse& odd) {
  std::set<std::string> layouts;
  std::set<const ir::Rule*> rules;
  for (const LayoutUse& use : uses) {
    if (use.rule == odd.rule || use.layout.size() != odd.layout.size()) continue;
    layouts.insert(use.layout);
    rules.insert(use.rule);
  }
  return rules.size() >= 2 && layouts.size() == 1 ? *layouts.begin() : "";
}

}  // namespace

void check_layouts(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    const std::vector<LayoutUse> uses = layout_uses(backend, diags.sources());
    std::set<const ir::Rule*> reported;
    for (const LayoutUse& use : uses) {
      const std::string others = layout_of_others(uses, use);
      if (others.empty() || others == use.layout || !reported.insert(use.rule).second) continue;
      diags
          .warning(support::Code::OddLayout, use.span, "no other rule of `{}` has {} in {}: all have {}", backend.name,
                   use.is_result ? "a result" : "an operand", use.layout, others)
          .note("between `{}` and any of them values are reordered", use.rule->family);
    }
  }
}

}  // namespace collage::lint
