// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/diagnostics.h"

#include <set>

namespace collage::rules_tool::lsp {
namespace {

class Converter {
 public:
  Converter(const support::SourceManager& sources, support::FileId file, const std::string& uri)
      : sources_(sources), file_(file), uri_(uri), positions_(sources.text(file)) {}

  Json convert(const support::DiagnosticRecord& record) const {
    std::string message = record.message;
    Json related = Json::array();
    for (const support::Note& note : record.notes) {
      if (has_place(note.span)) {
        related.push_back({{"location", location(note.span)}, {"message", note.message}});
      } else {
        message += "\nnote: " + note.message;
      }
    }
    support::Span span{file_, 0, 0};
    const bool is_here = record.span.is_valid() && record.span.file == file_;
    if (is_here) {
      span = record.span;
    } else if (has_place(record.span)) {
      related.push_back({{"location", location(record.span)}, {"message", record.message}});
    }
    Json result = {{"range", positions_.range(span)},
                   {"severity", record.severity == support::Severity::Error ? kErrorSeverity : kWarningSeverity},
                   {"code", support::code_text(record.code)},
                   {"source", "collage-rules"},
                   {"message", message},
                   {"relatedInformation", std::move(related)}};
    Json fixes = Json::array();
    for (const support::Fix& fix : record.fixes) {
      if (fix.span.file != file_) continue;
      fixes.push_back({{"range", positions_.range(fix.span)}, {"newText", fix.text}});
    }
    if (!fixes.empty()) result["data"] = {{"fixes", std::move(fixes)}};
    return result;
  }

 private:
  /// A place that an editor can show: models of tests are in no file.
  bool has_place(const support::Span& span) const {
    return span.is_valid() && (span.file == file_ || sources_.name(span.file).starts_with('/'));
  }

  Json location(const support::Span& span) const {
    if (span.file == file_) return {{"uri", uri_}, {"range", positions_.range(span)}};
    const std::string path(sources_.name(span.file));
    return {{"uri", uri_of(path)}, {"range", range_of(sources_.text(span.file), span)}};
  }

  const support::SourceManager& sources_;
  support::FileId file_;
  const std::string& uri_;
  Positions positions_;
};

}  // namespace

Json protocol_diagnostics(const support::Diagnostics& diags, support::FileId file, const std::string& uri) {
  const Converter converter(diags.sources(), file, uri);
  Json all = Json::array();
  std::set<std::string> seen;  // members of a family report the same
  for (const support::DiagnosticRecord& record : diags.records()) {
    Json one = converter.convert(record);
    if (seen.insert(one.dump(-1, ' ', false, Json::error_handler_t::replace)).second) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace collage::rules_tool::lsp
