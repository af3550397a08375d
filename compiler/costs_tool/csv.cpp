// SPDX-License-Identifier: Apache-2.0
#include "compiler/costs_tool/csv.h"

namespace collage::costs_tool {
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

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text) {
  std::vector<CsvRecord> records;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\n' || text[at] == '\r') {
      ++at;
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

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace collage::costs_tool
