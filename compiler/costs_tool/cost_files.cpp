// SPDX-License-Identifier: Apache-2.0
#include "compiler/costs_tool/cost_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "compiler/costs_tool/fields.h"
#include "runtime/core/joined.h"
#include "runtime/support/csv.h"
#include "runtime/support/utf8.h"

namespace collage::costs_tool {
namespace {

using Json = nlohmann::ordered_json;
using measure::CostRow;
using support::Code;
using support::CsvField;
using support::CsvRecord;
using support::Diagnostics;
using support::FileId;
using support::Span;

constexpr const char* kMagic = "collage_costs";
constexpr int kVersion = 1;

/// Returns nullopt for a text that is no number of a row.
std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns whether both formats and the database keep the text as it is; an error at its place otherwise.
bool check_text(const Field& field, std::string_view text, Span span, Diagnostics& diags) {
  const size_t wrong = support::find_not_utf8(text);
  if (wrong != std::string_view::npos) {
    return diags.error(Code::BadCostFile, span, "{} is not UTF-8: byte 0x{:02x}", field.name,
                       static_cast<unsigned char>(text[wrong]));
  }
  if (text.find('\0') == std::string_view::npos) return true;
  return diags.error(Code::BadCostFile, span, "{} holds a byte that is zero", field.name);
}

/// Returns whether all numbers of a row are possible; an error at the row otherwise.
bool check(const CostRow& row, Span span, Diagnostics& diags) {
  if (row.environment.empty() || row.candidate.empty())
    return diags.error(Code::BadCostFile, span, "a cost without its environment or candidate");
  const std::string problem = problem_of(row.measurement);
  if (problem.empty()) return true;
  const bool is_first = !diags.has_errors();
  auto error = diags.error(Code::BadCostFile, span, "{}", problem);
  if (is_first) error.note("nothing of the file was imported");
  return false;
}

std::optional<std::vector<CostRow>> read_csv(std::string_view text, FileId file, Diagnostics& diags) {
  const std::vector<CsvRecord> records = support::parse_csv(text);
  const auto span_of = [&](const CsvField& field) { return Span{file, field.begin, field.end}; };
  std::vector<const Field*> columns;
  for (const CsvField& name : records.empty() ? std::vector<CsvField>() : records[0]) {
    const auto known =
        std::find_if(fields().begin(), fields().end(), [&](const Field& f) { return f.name == name.text; });
    if (known == fields().end()) {
      diags.error(Code::BadCostFile, span_of(name), "unknown column `{}`", name.text);
      return std::nullopt;
    }
    if (std::find(columns.begin(), columns.end(), &*known) != columns.end()) {
      diags.error(Code::BadCostFile, span_of(name), "column `{}` is named twice", name.text);
      return std::nullopt;
    }
    columns.push_back(&*known);
  }
  if (columns.size() != fields().size()) {
    diags.error(Code::BadCostFile, Span{file, 0, 0}, "{} columns, need {}", columns.size(), fields().size())
        .note("`collagec costs export` writes all of them");
    return std::nullopt;
  }
  std::vector<CostRow> rows;
  bool is_good = true;
  for (size_t r = 1; r < records.size(); ++r) {
    const CsvRecord& record = records[r];
    const Span all = span_of(record.front()).to(span_of(record.back()));
    if (record.size() != columns.size()) {
      is_good = diags.error(Code::BadCostFile, all, "{} fields, need {}", record.size(), columns.size());
      continue;
    }
    CostRow& row = rows.emplace_back();
    bool is_read = true;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (!columns[c]->is_number) {
        is_read = check_text(*columns[c], record[c].text, span_of(record[c]), diags) && is_read;
        columns[c]->text_of(row) = record[c].text;
      } else if (std::optional<int64_t> number = whole_number(record[c].text)) {
        columns[c]->set_number(row, *number);
      } else {
        is_read = diags.error(Code::BadCostFile, span_of(record[c]), "`{}` is no whole number of 64 bits for {}",
                              record[c].text, columns[c]->name);
      }
    }
    is_good = is_read && check(row, all, diags) && is_good;
  }
  if (!is_good) return std::nullopt;
  return rows;
}

/// Returns where the objects in the list of costs begin and end: the parser of JSON does not say.
std::vector<Span> objects_in_list(std::string_view text, FileId file) {
  std::vector<Span> spans;
  int depth = 0;
  bool is_string = false;
  for (uint32_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_string) {
      if (c == '\\') ++at;
      is_string = c != '"';
    } else if (c == '"') {
      is_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth == 3 && c == '{') spans.push_back({file, at, at + 1});
    } else if (c == '}' || c == ']') {
      if (depth-- == 3 && c == '}' && !spans.empty()) spans.back().end = at + 1;
    }
  }
  return spans;
}

/// Returns the place of the value of a key of an object, or of the object.
Span value_span(std::string_view text, Span object, std::string_view key) {
  const std::string quoted = fmt::format("\"{}\":", key);
  const size_t at = text.substr(0, object.end).find(quoted, object.begin);
  if (at == std::string_view::npos) return {object.file, object.begin, object.begin + 1};
  const size_t begin = text.find_first_not_of(" \n", at + quoted.size());
  const size_t end = text.find_first_of(",}\n", begin);
  return {object.file, static_cast<uint32_t>(begin), static_cast<uint32_t>(std::min(end, text.size()))};
}

bool is_whole_number(const Json& value) {
  return value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
}

/// Returns what a message says of a value, which may be of any depth.
std::string short_text(const Json& value) {
  return value.is_structured() ? fmt::format("an {}", value.type_name()) : fmt::format("`{}`", value.dump());
}

std::optional<std::vector<CostRow>> read_json(std::string_view text, FileId file, Diagnostics& diags) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const auto at = static_cast<uint32_t>(std::min(text.size(), error.byte == 0 ? 0 : error.byte - 1));
    diags.error(Code::BadCostFile, Span{file, at, at}, "this is no JSON");
    return std::nullopt;
  } catch (const Json::out_of_range&) {  // a number beyond doubles; the parser does not say where
    diags.error(Code::BadCostFile, Span{file, 0, 1}, "a number is too large");
    return std::nullopt;
  }
  const Span start{file, 0, 1};
  if (!json.is_object() || !json.contains(kMagic) || json[kMagic] != kVersion || !json.contains("costs") ||
      !json["costs"].is_array()) {
    diags.error(Code::BadCostFile, start, "no file of costs: it needs `\"{}\": {}` and a list `costs`", kMagic,
                kVersion);
    return std::nullopt;
  }
  const std::vector<Span> spans = objects_in_list(text, file);
  std::vector<CostRow> rows;
  bool is_good = true;
  for (size_t r = 0; r < json["costs"].size(); ++r) {
    const Json& object = json["costs"][r];
    const Span span = r < spans.size() ? spans[r] : start;
    CostRow& row = rows.emplace_back();
    bool is_read = true;
    for (const Field& field : fields()) {
      const auto found = object.is_object() ? object.find(field.name) : object.end();
      if (found == object.end()) {
        is_read = diags.error(Code::BadCostFile, {file, span.begin, span.begin + 1}, "a cost without `{}`", field.name);
      } else if (field.is_number ? !is_whole_number(*found) : !found->is_string()) {
        is_read = diags.error(Code::BadCostFile, value_span(text, span, field.name), "{} is no {} for {}",
                              short_text(*found), field.is_number ? "whole number of 64 bits" : "text", field.name);
      } else if (field.is_number) {
        field.set_number(row, found->get<int64_t>());
      } else {
        field.text_of(row) = found->get<std::string>();
        is_read = check_text(field, field.text_of(row), value_span(text, span, field.name), diags) && is_read;
      }
    }
    is_good = is_read && check(row, value_span(text, span, "cost_ps"), diags) && is_good;
  }
  if (!is_good) return std::nullopt;
  return rows;
}

}  // namespace

std::string to_csv(const std::vector<CostRow>& rows) {
  std::string text = runtime::joined(fields(), ",", [](const Field& field) { return field.name; }) + "\n";
  for (const CostRow& row : rows) {
    text += runtime::joined(fields(), ",", [&](const Field& field) {
      return field.is_number ? std::to_string(field.number(row)) : support::csv_quoted(field.text_of(row));
    });
    text += "\n";
  }
  return text;
}

std::string to_json(const std::vector<CostRow>& rows) {
  std::string text = fmt::format("{{\"{}\": {}, \"costs\": [", kMagic, kVersion);
  for (const CostRow& row : rows) {
    Json object;
    for (const Field& field : fields()) {
      if (field.is_number) {
        object[std::string(field.name)] = field.number(row);
      } else {
        object[std::string(field.name)] = field.text_of(row);
      }
    }
    text += fmt::format("{}\n{}", &row == &rows.front() ? "" : ",",
                        object.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return text + "\n]}\n";
}

std::optional<std::vector<CostRow>> read_costs(const support::SourceManager& sources, FileId file, Diagnostics& diags) {
  const std::string_view text = sources.text(file);
  const size_t start = text.find_first_not_of(" \t\r\n");
  const bool is_json = start != std::string_view::npos && text[start] == '{';
  return is_json ? read_json(text, file, diags) : read_csv(text, file, diags);
}

}  // namespace collage::costs_tool
