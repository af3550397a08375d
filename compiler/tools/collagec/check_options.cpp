// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/check_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/request/option_values.h"
#include "runtime/tools/command_line/file_uses.h"

namespace collage::tools {
namespace {

using request::CommandName;
using request::Files;
using request::OptionRow;

class Check {
 public:
  Check(const request::Request& request, const std::set<std::string_view>& given) : request_(request), given_(given) {}

  std::string run() const {
    for (const OptionRow& row : request::option_table()) {
      if (!is_taken(row) || !given_.contains(name_of(row))) continue;
      if (row.files == Files::Written && names_no_file(row))
        return fmt::format("{} needs the name of a file", name_of(row));
      for (const request::Exclusion& other : row.excludes) {
        if (given_.contains(other.option))
          return fmt::format("{} and {} exclude each other: {}", name_of(row), other.option, other.why);
      }
      for (std::string_view condition : row.needs) {
        if (!holds(condition)) return fmt::format("{} needs {}", name_of(row), condition);
      }
    }
    if (request_.command == CommandName::Bisect && request_.output.empty())
      return "the part that differs needs a folder: `-o FOLDER`";
    if (request_.emit == request::Emit::Onnx && request_.output.empty())
      return "--emit=onnx writes a binary file: name it by `-o FILE.onnx`";
    if (std::string message = text_in_package(); !message.empty()) return message;
    return overwritten();
  }

 private:
  bool is_taken(const OptionRow& row) const { return row.commands.has(request_.command); }

  /// `--ranges`: given; `--objective=latency`: has this value; `run`: the command; `--ranges or --save`: one of them.
  bool holds(std::string_view condition) const {
    constexpr std::string_view kOr = " or ";
    if (const size_t at = condition.find(kOr); at != std::string_view::npos)
      return holds(condition.substr(0, at)) || holds(condition.substr(at + kOr.size()));
    if (!condition.starts_with('-')) return request::row_of(request_.command).word == condition;
    const size_t equals = condition.find('=');
    if (equals == std::string_view::npos) return given_.contains(condition);
    const OptionRow* row = request::find_option(condition.substr(0, equals), request_.command);
    return row != nullptr && texts_of(*row, request_) == std::vector{std::string(condition.substr(equals + 1))};
  }

  /// `--report ''`
  bool names_no_file(const OptionRow& row) const {
    if (std::holds_alternative<request::Place<request::JsonRequest>>(row.place)) return false;
    const std::vector<std::string> paths = paths_of(row, request_);
    return std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return path.empty(); });
  }

  /// `simulate -o m.collage`
  std::string text_in_package() const {
    using enum CommandName;
    if (std::filesystem::path(request_.output).extension() != ".collage") return "";
    const CommandName command = request_.command;
    const bool is_text_command = command == Why || command == WhyNot || command == Diff || command == Simulate;
    if (!is_text_command && request_.emit == request::Emit::All) return "";
    const std::string why = is_text_command ? fmt::format("`{}` compiles nothing", request::full_name(command))
                                            : "--emit stops before anything is compiled";
    return fmt::format("{}, so that there is no package to write: give `{}` another ending than .collage", why,
                       request_.output);
  }

  std::string overwritten() const {
    std::vector<FileUse> read, written;
    for (const OptionRow& row : request::option_table()) {
      if (row.files == Files::None || !is_taken(row)) continue;
      const std::string_view name = name_of(row);
      const std::string option(name == "MODEL" ? "the model" : is_positional(row) ? "the command" : name);
      for (const std::string& path : paths_of(row, request_)) {
        if (path.empty()) continue;
        (row.files == Files::Written ? written : read)
            .push_back({option, path, row.files == Files::ReadRules ? ".rules" : ""});
      }
    }
    return overwritten_file(read, written);
  }

  const request::Request& request_;
  const std::set<std::string_view>& given_;
};

}  // namespace

std::string wrong_combination(const request::Request& request, const std::set<std::string_view>& given) {
  return Check(request, given).run();
}

}  // namespace collage::tools
