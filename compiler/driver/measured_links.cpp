// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/measured_links.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "compiler/syntax/link_text.h"
#include "runtime/core/host_space.h"

namespace collage::driver {
namespace {

using runtime::PairFigures;
using support::Code;

/// What a link has to state so that the slowest way over it is what was measured.
struct LinkFigures {
  double bytes_per_second = 0;
  double latency = 0;
};

/// The worst figures of the links of hosts [first, first + count).
LinkFigures figures_of(const std::vector<PairFigures>& pairs, int first, int count, bool is_to_switch) {
  const auto is_one = [&](int rank) { return rank >= first && rank < first + count; };
  LinkFigures worst;
  for (const PairFigures& pair : pairs) {
    if (!is_one(pair.a) && !is_one(pair.b)) continue;
    worst.latency = std::max(worst.latency, pair.latency / (is_to_switch ? 2 : 1));
    worst.bytes_per_second =
        worst.bytes_per_second == 0 ? pair.bytes_per_second : std::min(worst.bytes_per_second, pair.bytes_per_second);
  }
  return worst;
}

/// From `link lan` to the end of its properties: of the block, or before what comes next in it.
support::Span with_properties(support::Span link, const support::SourceManager& sources) {
  const std::string_view text = sources.text(link.file);
  size_t end = std::min(text.find('}', link.end), text.size());
  for (const std::string_view next : {" link ", "\tlink ", " memory ", "\tmemory ", " devices ", "\tdevices ", "//"}) {
    end = std::min(end, text.find(next, link.end));
  }
  end = std::min(text.find_last_not_of(" \t\r\n", end - 1) + 1, end);
  return {link.file, link.begin, static_cast<uint32_t>(end)};
}

}  // namespace

std::optional<MeasuredRules> with_measured_links(const ir::RuleSet& rules, const std::vector<PairFigures>& pairs,
                                                 const support::SourceManager& sources, const std::string& where,
                                                 support::Diagnostics& diags) {
  if (pairs.empty()) return diags.error_at(Code::RunFailed, where, "{}", "one host has no links to measure");
  const auto is_switch = [&](const std::string& name) {
    return std::any_of(rules.switches.begin(), rules.switches.end(),
                       [&](const ir::SwitchDecl& one) { return one.name == name; });
  };
  // The texts of links that change, by where they stand. A link that a shape was made of is one text for many links.
  std::map<uint32_t, std::pair<support::Span, std::string>> edits;
  int first = 0;
  for (const ir::HostDecl& host : rules.cluster->hosts) {
    for (const ir::Link& link : host.links) {
      // Not those to devices of the host.
      const bool is_to_switch = link.to != runtime::host_space(0);
      if (!link.span.is_valid() || (is_to_switch && !is_switch(link.to))) continue;
      const LinkFigures figures = figures_of(pairs, first, host.count, is_to_switch);
      const support::Span all = with_properties(link.span, sources);
      const auto text = syntax::with_figures(sources.text(all), figures.bytes_per_second, figures.latency);
      if (!text) return diags.error(Code::RunFailed, link.span, "the bandwidth is not a number that can be replaced");
      edits[all.begin] = {all, *text};
    }
    first += host.count;
  }
  if (edits.empty())
    return diags.error_at(Code::RunFailed, where, "{}",
                          "no host has a link to `host` or a switch; rings, tori and trees keep their figures");
  const support::FileId file = edits.begin()->second.first.file;
  MeasuredRules made{std::string(sources.name(file)), std::string(sources.text(file))};
  for (auto at = edits.rbegin(); at != edits.rend(); ++at) {  // the last first: places before it stay
    const support::Span& span = at->second.first;
    if (span.file == file) made.text.replace(span.begin, span.end - span.begin, at->second.second);
  }
  return made;
}

}  // namespace collage::driver
