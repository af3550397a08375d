// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace collage::rules_tool {
namespace {

using Json = nlohmann::ordered_json;

void add_place(const support::SourceManager& sources, const support::Span& span, Json* entry) {
  if (!span.is_valid()) return;
  const support::LineColumn at = sources.position(span.file, span.begin);
  (*entry)["file"] = sources.name(span.file);
  (*entry)["line"] = at.line;
  (*entry)["column"] = at.column;
}

/// Characters that XML 1.0 has no way to write become `?`.
std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\n': result += "&#10;"; break;
      default: result += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c;
    }
  }
  return result;
}

}  // namespace

Json diagnostics_json(const support::Diagnostics& diags) {
  std::vector<const support::DiagnosticRecord*> order;
  for (const auto& record : diags.records()) order.push_back(&record);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->span.file.index, a->span.begin) < std::pair(b->span.file.index, b->span.begin);
  });
  Json all = Json::array();
  for (const support::DiagnosticRecord* record : order) {
    Json entry = {{"severity", record->severity == support::Severity::Error ? "error" : "warning"},
                  {"code", support::code_text(record->code)}};
    add_place(diags.sources(), record->span, &entry);
    if (!record->where.empty()) entry["where"] = record->where;
    entry["message"] = record->message;
    Json notes = Json::array();
    for (const support::Note& note : record->notes) {
      Json item = Json::object();
      add_place(diags.sources(), note.span, &item);
      item["message"] = note.message;
      notes.push_back(std::move(item));
    }
    if (!notes.empty()) entry["notes"] = std::move(notes);
    if (all.empty() || all.back() != entry) all.push_back(std::move(entry));
  }
  return all;
}

Json tests_json(const support::SourceManager& sources, const std::vector<RuleTestOutcome>& outcomes) {
  Json all = Json::array();
  for (const RuleTestOutcome& outcome : outcomes) {
    for (const TestResult& test : outcome.tests) {
      Json entry = {{"backend", outcome.backend},
                    {"rule", outcome.rule},
                    {"at", location_text(test.span, sources)},
                    {"kind", test.expects_match ? "ok" : "no"},
                    {"passed", test.passed}};
      if (!test.passed) entry["message"] = test.message;
      all.push_back(std::move(entry));
    }
  }
  return all;
}

std::string junit_text(const support::SourceManager& sources, const std::vector<RuleTestOutcome>& outcomes) {
  int count = 0, failed = 0;
  for (const RuleTestOutcome& outcome : outcomes) {
    count += outcome.passed + outcome.failed;
    failed += outcome.failed;
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"collage-rules\" tests=\"{}\" failures=\"{}\">\n", count, failed);
  for (const RuleTestOutcome& outcome : outcomes) {
    text += fmt::format("  <testsuite name=\"{} {}\" tests=\"{}\" failures=\"{}\">\n", escaped(outcome.backend),
                        escaped(outcome.rule), outcome.passed + outcome.failed, outcome.failed);
    for (const TestResult& test : outcome.tests) {
      text += fmt::format("    <testcase classname=\"{}.{}\" name=\"{} {}\"", escaped(outcome.backend),
                          escaped(outcome.rule), test.expects_match ? "ok" : "no",
                          escaped(location_text(test.span, sources)));
      if (test.passed) {
        text += "/>\n";
        continue;
      }
      const std::string first = test.message.substr(0, test.message.find('\n'));
      text += fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n", escaped(first),
                          escaped(test.message));
    }
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace collage::rules_tool
