// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/parse_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/tools/collagec/store_value.h"
#include "runtime/core/host_capabilities.h"
#include "runtime/support/check.h"
#include "runtime/support/diagnostic.h"
#include "runtime/tools/command_line/file_uses.h"

namespace collage::tools {
namespace {

std::string_view heading(Group group) {
  switch (group) {
    case Group::Input: return "Input";
    case Group::Placing: return "Placing";
    case Group::Quantising: return "Quantising";
    case Group::Asking: return "Asking";
    case Group::Running: return "Running";
    case Group::Measuring: return "Measuring";
    case Group::Output: return "Output";
    case Group::Help: return "Help";
  }
  return "";
}

bool is_positional(const OptionRow& row) {
  return !row.flags.starts_with('-');
}

/// Fields that collect the values of every occurrence.
bool is_list(const OptionRow& row) {
  return std::holds_alternative<std::vector<std::string> driver::Options::*>(row.field) ||
         std::holds_alternative<std::vector<driver::NamedFile> driver::Options::*>(row.field);
}

class Parser {
 public:
  Parser() {
    app_.set_help_flag();
    app_.allow_extras();
    parsed_.options.threads = runtime::host_capabilities().processors;
    for (const OptionRow& row : option_table()) add(row);
  }

  std::variant<CommandLine, WrongUsage> parse(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return WrongUsage{error.what()};
    }
    if (std::vector<std::string> unknown = app_.remaining(); !unknown.empty())
      return WrongUsage{unexpected(unknown[0])};
    if (parsed_.options.model.empty()) parsed_.options.model = take_model();
    if (std::string message = wrong_combination(); !message.empty()) return WrongUsage{message};
    return parsed_;
  }

 private:
  void add(const OptionRow& row) {
    std::string flags(row.flags);
    if (!row.old_flags.empty()) flags += "," + std::string(row.old_flags);
    if (row.value.empty()) {
      app_.add_flag_callback(flags, [this, &row] { give(row), set_flag(row, &parsed_); });
      return;
    }
    CLI::Option* option = app_.add_option(
        is_positional(row) ? "model" : flags,
        [this, &row](const CLI::results_t& texts) {
          give(row);
          std::string wrong = store(row, texts, &parsed_);
          if (!wrong.empty()) throw CLI::ValidationError(std::string(name_of(row)), wrong);
          return true;
        },
        "");
    option->type_name(std::string(row.value));
    if (!row.environment.empty()) option->envname(std::string(row.environment));
    expect_values(row, option);
  }

  static void expect_values(const OptionRow& row, CLI::Option* option) {
    if (row.values > 1) {
      option->expected(row.values);
    } else if (is_list(row)) {
      // One value for each occurrence, so that a model after an option is not taken for another value.
      option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(row.values == kAllThatFollow);
    } else if (std::holds_alternative<std::optional<std::string> driver::Options::*>(row.field)) {
      option->expected(0, 1);
    }
  }

  static std::string unexpected(const std::string& argument) {
    if (!argument.starts_with('-')) return fmt::format("unexpected argument `{}`", argument);
    std::vector<std::string> names;
    for (const OptionRow& row : option_table()) names.emplace_back(name_of(row));
    const std::string closest = support::closest(argument.substr(0, argument.find('=')), names);
    if (closest.empty()) return fmt::format("unknown option `{}`", argument);
    return fmt::format("unknown option `{}`; did you mean `{}`?", argument, closest);
  }

  void give(const OptionRow& row) {
    given_.insert(name_of(row));
    if (row.implies.empty()) return;
    given_.insert(row.implies);
    set_flag(row_of(row.implies), &parsed_);
  }

  static const OptionRow& row_of(std::string_view name) {
    const std::vector<OptionRow>& table = option_table();
    const auto row = std::find_if(table.begin(), table.end(), [&](const OptionRow& r) { return name_of(r) == name; });
    COLLAGE_CHECK(row != table.end(), "no option {}", name);
    return *row;
  }

  bool is_given(std::string_view name) const { return given_.contains(name); }

  /// Given, and not kept from ending the compilation.
  bool stops(std::string_view name) const {
    const std::vector<std::string_view>& others = row_of(name).goes_on_with;
    return is_given(name) &&
           std::none_of(others.begin(), others.end(), [this](std::string_view other) { return is_given(other); });
  }

  /// `--run`: given; `--objective=latency`: has this value; `--run or --bench`: one of them holds.
  bool holds(std::string_view condition) const {
    constexpr std::string_view kOr = " or ";
    if (const size_t at = condition.find(kOr); at != std::string_view::npos) {
      return holds(condition.substr(0, at)) || holds(condition.substr(at + kOr.size()));
    }
    const size_t equals = condition.find('=');
    if (equals == std::string_view::npos) return is_given(condition);
    const auto* field = std::get_if<std::string driver::Options::*>(&row_of(condition.substr(0, equals)).field);
    return field != nullptr && parsed_.options.**field == condition.substr(equals + 1);
  }

  /// What is wrong with the options given, one sentence, or "".
  std::string wrong_combination() const {
    for (const OptionRow& row : option_table()) {
      if (!is_given(name_of(row))) continue;
      if (row.files == Files::Written && names_no_file(row))
        return fmt::format("{} needs the name of a file", name_of(row));
      for (std::string_view other : row.stopped_by) {
        if (stops(other)) return fmt::format("{} stops before {}", other, name_of(row));
      }
      for (std::string_view other : row.excludes) {
        if (is_given(other)) return fmt::format("{} and {} exclude each other", name_of(row), other);
      }
      for (std::string_view condition : row.needs) {
        if (!holds(condition)) return fmt::format("{} needs {}", name_of(row), condition);
      }
    }
    if (parsed_.options.emit == driver::Emit::Onnx && parsed_.options.output.empty())
      return "--emit=onnx writes a binary file: name it by `-o FILE.onnx`";
    if (std::string message = text_in_package(); !message.empty()) return message;
    return overwritten_files();
  }

  /// `--simulate -o m.collage`
  std::string text_in_package() const {
    const std::string& output = parsed_.options.output;
    if (std::filesystem::path(output).extension() != ".collage") return "";
    for (const OptionRow& row : option_table()) {
      if (!row.prints_text || !is_given(name_of(row))) continue;
      return fmt::format("{} writes no package: give `{}` another ending than .collage", name_of(row), output);
    }
    return "";
  }

  /// `--report ''`
  bool names_no_file(const OptionRow& row) const {
    const std::vector<std::string> paths = paths_of(row, parsed_.options);
    return std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return path.empty(); });
  }

  std::string overwritten_files() const {
    std::vector<FileUse> read, written;
    for (const OptionRow& row : option_table()) {
      if (row.files == Files::None) continue;
      const std::string option(is_positional(row) ? "the model" : name_of(row));
      for (const std::string& path : paths_of(row, parsed_.options)) {
        if (path.empty()) continue;
        (row.files == Files::Written ? written : read)
            .push_back({option, path, row.files == Files::ReadRules ? ".rules" : ""});
      }
    }
    return overwritten_file(read, written);
  }

  /// `-r` takes every word after it; a model among them is not a rule file.
  std::string take_model() {
    std::vector<std::string>& rules = parsed_.options.rules;
    auto is_model = [](const std::string& path) {
      const std::string extension = std::filesystem::path(path).extension().string();
      std::error_code error;
      return !extension.empty() && extension != ".rules" && !std::filesystem::is_directory(path, error);
    };
    auto it = std::find_if(rules.begin(), rules.end(), is_model);
    if (it == rules.end()) return "";
    std::string model = *it;
    rules.erase(it);
    return model;
  }

  CLI::App app_;
  CommandLine parsed_;
  std::set<std::string_view> given_;
};

OptionText describe(const OptionRow& row) {
  OptionText text;
  for (std::string_view rest = row.flags; !rest.empty();) {
    const size_t comma = rest.find(',');
    text.names.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  if (!is_positional(row)) text.value = row.value;
  text.help = row.help;
  text.initial = initial_text(row);
  text.group = heading(row.group);
  text.is_common = row.is_common;
  for (const Choice& choice : row.choices) text.choices.emplace_back(choice.word);
  text.choices.insert(text.choices.end(), row.suggestions.begin(), row.suggestions.end());
  return text;
}

}  // namespace

std::variant<CommandLine, WrongUsage> parse_command_line(int argc, char** argv) {
  return Parser().parse(argc, argv);
}

ProgramText describe_collagec() {
  ProgramText text;
  text.name = "collagec";
  text.purpose = "finds the fastest way to run a model over several backends together, compiles it and runs it";
  text.usage = "MODEL -r RULES… [OPTION…]";
  for (const OptionRow& row : option_table()) text.options.push_back(describe(row));
  return text;
}

}  // namespace collage::tools
