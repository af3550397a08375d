// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/place/strategies.h"
#include "runtime/core/joined.h"
#include "runtime/pool/pool.h"
#include "runtime/tools/command_line/run_options.h"

namespace collage::request {
namespace {

using enum CommandName;
using namespace tools;  // NOLINT: the options that collage-run has too

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const place::StrategyRow& row : place::strategy_rows()) names.emplace_back(row.name);
  return names;
}

/// `onnxruntime, litert, …`.
std::string policies_usage() {
  return runtime::joined(place::policy_strategies(), ", ",
                         [](const place::Strategy& one) { return place::to_string(one); });
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

template <typename Value>
Choice word(std::string_view text, Value value) {
  return {text, static_cast<int>(value)};
}

// NOLINTNEXTLINE: a function for each field
#define COLLAGE_AT(field)           \
  +[](Request & request) -> auto& { \
    return request.field;           \
  }

std::vector<OptionRow> make_table() {
  constexpr CommandSet kAll = CommandSet::all();
  /// Those that run what they compiled.
  constexpr CommandSet kRuns = Run | Check | Bench | Profile | Trace | VerifyCosts;
  /// Those that place a model once and for itself, and can write what they found.
  constexpr CommandSet kBuilds = kRuns | Compile;
  constexpr CommandSet kSearches = kAll - Diff;
  constexpr CommandSet kQuantises = kSearches - Simulate;
  /// Those whose objective is not fixed.
  constexpr CommandSet kAnyObjective = kAll - Why - WhyNot - Diff;
  const std::vector<std::string_view> kRanges = {"--calibrate or --calibration"};
  constexpr std::string_view kManyPlans =
      "each strategy finds another plan; `collagec MODEL --strategy NAME` writes that of one";
  constexpr std::string_view kIntegersMoveNodes = "a saved placement does not name the operators on integers";
  return {
#include "compiler/request/options.def"
  };
}

#undef COLLAGE_AT

bool has_flag(const OptionRow& row, std::string_view flag) {
  return row.flags == flag || (row.flags.starts_with(flag) && row.flags.substr(flag.size()).starts_with(',')) ||
         (row.flags.ends_with(flag) && row.flags.substr(0, row.flags.size() - flag.size()).ends_with(','));
}

}  // namespace

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = make_table();
  return table;
}

std::string_view name_of(const OptionRow& row) {
  return row.flags.substr(row.flags.rfind(',') + 1);
}

std::string_view short_name_of(const OptionRow& row) {
  return row.flags.substr(0, row.flags.find(','));
}

bool is_positional(const OptionRow& row) {
  return !row.flags.starts_with('-');
}

bool is_list(const OptionRow& row) {
  return std::holds_alternative<Place<std::vector<std::string>>>(row.place) ||
         std::holds_alternative<Place<std::vector<NamedFile>>>(row.place) ||
         std::holds_alternative<Place<std::vector<ir::ShapeBinding>>>(row.place) ||
         std::holds_alternative<Place<std::vector<std::vector<ir::ShapeBinding>>>>(row.place);
}

const OptionRow* find_option(std::string_view flag, CommandName command) {
  for (const OptionRow& row : option_table()) {
    if (!is_positional(row) && has_flag(row, flag) && row.commands.has(command)) return &row;
  }
  return nullptr;
}

std::vector<CommandName> commands_with(std::string_view flag) {
  std::vector<CommandName> names;
  for (const CommandRow& command : command_table()) {
    if (find_option(flag, command.name) != nullptr) names.push_back(command.name);
  }
  return names;
}

std::string_view why_not_taken(std::string_view flag, CommandName command) {
  for (const OptionRow& row : option_table()) {
    if (!has_flag(row, flag)) continue;
    for (const Refusal& refusal : row.refusals) {
      if (refusal.commands.has(command)) return refusal.why;
    }
  }
  return "";
}

void for_each_output(Request& request, const std::function<void(std::string&)>& change) {
  for (const OptionRow& row : option_table()) {
    if (row.files != Files::Written || !row.commands.has(request.command)) continue;
    if (const auto* path = std::get_if<Place<std::string>>(&row.place)) change((*path)(request));
    if (const auto* json = std::get_if<Place<JsonRequest>>(&row.place)) change((*json)(request).file);
  }
}

std::string with_infix(const std::string& path, const std::string& infix) {
  const bool is_stream = path.starts_with("/dev/") && !path.starts_with("/dev/shm/");
  if (path.empty() || is_stream) return path;
  const std::filesystem::path whole(path);
  return (whole.parent_path() / fmt::format("{}.{}{}", whole.stem().string(), infix, whole.extension().string()))
      .string();
}

}  // namespace collage::request
