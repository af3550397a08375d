// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/stated_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/request/option_values.h"

namespace collage::request {
namespace {

/// A model that was quantised is not made again: the certificate states that it was.
constexpr const char* kQuantised = "--calibrate";
constexpr const char* kQuantisedWords = "operators compute in integers where that pays";

const OptionRow* find(const std::string& flag) {
  const std::vector<OptionRow>& table = option_table();
  const auto row = std::find_if(table.begin(), table.end(), [&](const OptionRow& option) {
    return !option.stated.empty() && short_name_of(option) == flag;
  });
  return row == table.end() ? nullptr : &*row;
}

}  // namespace

StatedOptions stated_options(const Request& request) {
  StatedOptions stated;
  for (const OptionRow& row : option_table()) {
    if (row.stated.empty()) continue;
    // The usual word is not stated.
    const bool is_left_out = !row.choices.empty() && !is_given(row, request);
    std::vector<std::string> values = is_left_out ? std::vector<std::string>() : texts_of(row, request);
    if (!values.empty()) stated.emplace_back(short_name_of(row), std::move(values));
  }
  if (request.quantize.is_asked()) stated.push_back({kQuantised, {"yes"}});
  return stated;
}

std::string set_stated_options(const StatedOptions& options, Request& request) {
  for (const auto& [flag, values] : options) {
    const OptionRow* row = find(flag);
    if (row == nullptr) return fmt::format("it states an option `{}`, which is not known", flag);
    if (row->value.empty()) {
      set_flag(*row, request);
      continue;
    }
    support::SourceManager sources;
    support::Diagnostics unheard(sources);
    const bool is_right = (is_list(*row) || values.size() == 1) && set_values(*row, values, flag, request, unheard);
    if (!is_right) return fmt::format("what it states of `{}` cannot be read", flag);
  }
  return "";
}

std::vector<std::string> in_words(const StatedOptions& options) {
  std::vector<std::string> lines;
  for (const auto& [flag, values] : options) {
    const OptionRow* row = find(flag);
    const std::string_view words = row != nullptr ? row->stated : flag == kQuantised ? kQuantisedWords : "?";
    for (const std::string& value : values) lines.push_back(fmt::format("{} {}: {}", flag, value, words));
  }
  return lines;
}

}  // namespace collage::request
