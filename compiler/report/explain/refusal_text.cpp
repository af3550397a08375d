// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/refusal_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/joined.h"

namespace collage::report {
namespace {

using match::NearMiss;

/// Rules that met the same obstacle.
struct Line {
  NearMiss miss;  ///< the first; `needed` of all
  std::vector<const ir::Rule*> rules;
  std::vector<support::Span> spans;  ///< each line of a file once
};

/// `conv, conv_act (6), conv_clip`
std::string names_text(const std::vector<const ir::Rule*>& rules) {
  std::vector<std::pair<std::string, size_t>> families;
  for (const ir::Rule* rule : rules) {
    auto it = std::find_if(families.begin(), families.end(), [&](const auto& f) { return f.first == rule->family; });
    if (it == families.end()) {
      families.emplace_back(rule->family, 1);
    } else {
      ++it->second;
    }
  }
  std::string text;
  for (const auto& [family, count] : families) {
    if (count > 1) {
      runtime::add_to_list(text, fmt::format("{} ({})", family, count));
      continue;
    }
    auto member = std::find_if(rules.begin(), rules.end(), [&](const ir::Rule* r) { return r->family == family; });
    runtime::add_to_list(text, (*member)->name);
  }
  return text;
}

/// `rules/npu.rules:19, 38`
std::string places_text(const std::vector<support::Span>& spans, const support::SourceManager& sources) {
  constexpr size_t kShown = 3;
  std::string text;
  support::FileId file;
  std::vector<std::pair<int32_t, int>> shown;
  for (const support::Span& span : spans) {
    if (!span.is_valid()) continue;
    int line = sources.position(span.file, span.begin).line;
    std::pair<int32_t, int> place{span.file.index, line};
    if (std::find(shown.begin(), shown.end(), place) != shown.end()) continue;
    shown.push_back(place);
    if (shown.size() > kShown) continue;
    runtime::add_to_list(
        text, file == span.file ? std::to_string(line) : fmt::format("{}:{}", sources.name(span.file), line));
    file = span.file;
  }
  if (shown.size() > kShown) text += ", …";
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

std::vector<AnswerRow> refusal_rows(const ir::Backend& backend, const std::vector<NearMiss>& misses,
                                    const support::SourceManager& sources) {
  std::vector<Line> lines;
  for (const NearMiss& miss : misses) {
    auto it = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return line.miss.kind == miss.kind && line.miss.message == miss.message &&
             line.miss.needed.empty() == miss.needed.empty();
    });
    if (it == lines.end()) it = lines.insert(lines.end(), {miss, {}, {}});
    for (const ir::OpDef* op : miss.needed) {
      std::vector<const ir::OpDef*>& needed = it->miss.needed;
      if (std::find(needed.begin(), needed.end(), op) == needed.end()) needed.push_back(op);
    }
    it->rules.push_back(&backend.rules[static_cast<size_t>(miss.rule)]);
    it->spans.push_back(match::reason_span(backend, miss));
  }
  std::vector<AnswerRow> rows;
  for (const Line& line : lines) {
    rows.push_back({names_text(line.rules), match::reason_text(line.miss) + places_text(line.spans, sources)});
  }
  return rows;
}

}  // namespace collage::report
