// SPDX-License-Identifier: Apache-2.0
// Diagnostics as a JSON document (include/collage/compiler.h).
#include <nlohmann/json.hpp>

#include "compiler/api/texts.h"
#include "compiler/report/json_text.h"

using namespace collage;  // NOLINT: every definition below is of the global namespace
using nlohmann::ordered_json;

namespace {

ordered_json note_object(const support::Note& note, const support::SourceManager& sources) {
  ordered_json json = {{"message", note.message}};
  if (!note.span.is_valid()) return json;
  const support::LineColumn place = sources.position(note.span.file, note.span.begin);
  json["file"] = sources.name(note.span.file);
  json["line"] = place.line;
  json["column"] = place.column;
  return json;
}

ordered_json diagnostic_object(const support::DiagnosticRecord& record, const support::SourceManager& sources) {
  ordered_json json = {{"severity", record.severity == support::Severity::Error ? "error" : "warning"},
                       {"code", support::code_text(record.code)}};
  if (record.span.is_valid()) {
    const support::LineColumn begin = sources.position(record.span.file, record.span.begin);
    const support::LineColumn end = sources.position(record.span.file, record.span.end);
    json["file"] = sources.name(record.span.file);
    json["line"] = begin.line;
    json["column"] = begin.column;
    json["end_line"] = end.line;
    json["end_column"] = end.column;
    json["source"] = sources.line_at(record.span.file, record.span.begin);
  } else {
    json["file"] = record.where;
  }
  json["message"] = record.message;
  json["notes"] = ordered_json::array();
  for (const support::Note& note : record.notes) json["notes"].push_back(note_object(note, sources));
  return json;
}

}  // namespace

char* collage_diagnostics_json(collage_compiler* compiler) {
  if (compiler == nullptr) return nullptr;
  api::CompilerState& state = *compiler->state;
  return api::text_of(state, [&]() -> std::optional<std::string> {
    ordered_json list = ordered_json::array();
    for (const support::DiagnosticRecord& record : state.diags->records())
      list.push_back(diagnostic_object(record, state.sources));
    return report::printed(list);
  });
}
