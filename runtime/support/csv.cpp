// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/csv.h"

#include <algorithm>

namespace collage::support {
namespace {

/// Reads the field that begins at `*at`, up to the comma, line end or end of text after it.
CsvField take_field(std::string_view text, size_t* at) {
  CsvField field;
  field.begin = static_cast<uint32_t>(*at);
  const bool is_quoted = *at < text.size() && text[*at] == '"';
  if (is_quoted) {
    for (++*at; *at < text.size(); ++*at) {
      if (text[*at] == '"') {
        if (*at + 1 >= text.size() || text[*at + 1] != '"') break;
        ++*at;
      }
      field.text += text[*at];
    }
    if (*at < text.size()) ++*at;
  }
  while (*at < text.size() && text[*at] != ',' && text[*at] != '\n' && text[*at] != '\r') field.text += text[(*at)++];
  field.end = static_cast<uint32_t>(*at);
  return field;
}

/// Returns where the line ends that begins at `begin`, if it is empty or a comment; else `begin`.
size_t skip_line(std::string_view text, size_t begin, bool has_comments) {
  size_t at = begin;
  if (has_comments) at = std::min(text.find_first_not_of(" \t", begin), text.size());
  if (at == text.size()) return at;
  if (has_comments && text[at] == '#') return std::min(text.find_first_of("\n\r", at), text.size());
  return text[at] == '\n' || text[at] == '\r' ? at + 1 : begin;
}

std::vector<CsvRecord> parse(std::string_view text, bool has_comments) {
  std::vector<CsvRecord> records;
  size_t at = 0;
  while (at < text.size()) {
    if (const size_t end = skip_line(text, at, has_comments); end != at) {
      at = end;
      continue;
    }
    CsvRecord& record = records.emplace_back();
    record.push_back(take_field(text, &at));
    while (at < text.size() && text[at] == ',') {
      ++at;
      record.push_back(take_field(text, &at));
    }
  }
  return records;
}

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text) {
  return parse(text, false);
}

std::vector<CsvRecord> parse_csv_with_comments(std::string_view text) {
  return parse(text, true);
}

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace collage::support
