// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/option_table.h"

#include <fmt/format.h>

#include "compiler/place/objectives/objective.h"
#include "compiler/place/problem/search_options.h"
#include "compiler/place/strategies.h"
#include "runtime/pool/pool.h"
#include "runtime/tools/command_line/run_options.h"

namespace collage::tools {
namespace {

using driver::CostMode;
using driver::Emit;
using driver::Options;

std::string word_of(const OptionRow& row, int value) {
  for (const Choice& choice : row.choices) {
    if (choice.value == value) return std::string(choice.word);
  }
  return "";
}

/// Texts of initial values; empty where the value says that nothing was given.
std::string text_of(const OptionRow& row, bool value) {
  return word_of(row, value ? 1 : 0);
}
std::string text_of(const OptionRow&, int value) {
  return value == 0 ? "" : std::to_string(value);
}
std::string text_of(const OptionRow&, uint64_t value) {
  return value == 0 ? "" : std::to_string(value);
}
std::string text_of(const OptionRow&, double value) {
  return fmt::format("{}", value);
}
std::string text_of(const OptionRow&, const std::string& value) {
  return value;
}
std::string text_of(const OptionRow& row, Emit value) {
  return word_of(row, static_cast<int>(value));
}
std::string text_of(const OptionRow& row, CostMode value) {
  return word_of(row, static_cast<int>(value));
}
std::string text_of(const OptionRow& row, codegen::Numerics value) {
  return word_of(row, static_cast<int>(value));
}
std::string text_of(const OptionRow& row, quantize::RangeMethod value) {
  return word_of(row, static_cast<int>(value));
}
template <typename List>
std::string text_of(const OptionRow&, const List&) {
  return "";
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const place::StrategyRow& row : place::strategy_rows()) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> objective_names() {
  std::vector<std::string> names;
  for (const place::Objective* one : place::all_objectives()) names.emplace_back(one->name);
  return names;
}

std::vector<Choice> numerics_choices() {
  std::vector<Choice> choices;
  for (const codegen::NumericsRow& row : codegen::kNumericsRows) {
    choices.push_back({row.name, static_cast<int>(row.numerics)});
  }
  return choices;
}

std::vector<Choice> range_choices() {
  std::vector<Choice> choices;
  for (const quantize::RangeMethodRow& row : quantize::kRangeMethodRows) {
    choices.push_back({row.name, static_cast<int>(row.method)});
  }
  return choices;
}

std::vector<OptionRow> make_table() {
  // The options that end a compilation early.
  const std::vector<std::string_view> kTables = {"--compare", "--diff-placements"};
  const std::vector<std::string_view> kStages = {"--emit", "--diff-placements"};
  const std::vector<std::string_view> kStagesAndJson = {"--emit", "--diff-placements", "--json"};
  const std::vector<std::string_view> kAll = {"--emit", "--compare", "--diff-placements", "--json"};
  const std::vector<std::string_view> kRanges = {"--calibrate or --calibration"};
  return {
#include "compiler/tools/collagec/options.def"
  };
}

struct InitialText {
  const OptionRow& row;
  template <typename Value>
  std::string operator()(Value Options::*field) const {
    return text_of(row, Options().*field);
  }
  template <typename Value>
  std::string operator()(Value Information::*) const {
    return "";
  }
};

}  // namespace

std::string_view name_of(const OptionRow& row) {
  return row.flags.substr(row.flags.rfind(',') + 1);
}

std::string initial_text(const OptionRow& row) {
  return row.initial.empty() ? std::visit(InitialText{row}, row.field) : row.initial;
}

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = make_table();
  return table;
}

}  // namespace collage::tools
