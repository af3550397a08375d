// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/parse_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "compiler/request/option_values.h"
#include "compiler/tools/collagec/check_options.h"
#include "compiler/tools/collagec/describe.h"
#include "runtime/core/host_capabilities.h"
#include "runtime/tools/command_line/run_options.h"

namespace collage::tools {
namespace {

using request::CommandName;
using request::OptionRow;
using Words = std::vector<std::string>;

/// `collagec run`, `collagec bench` and `collagec compare`
std::string names_text(const std::vector<CommandName>& commands) {
  std::string text;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (i > 0) text += i + 1 == commands.size() ? " and " : ", ";
    text += "`" + request::full_name(commands[i]) + "`";
  }
  return text;
}

/// So many commands a message names.
constexpr size_t kMostNamed = 4;

/// `--output=FILE`  =>  `--output`
std::string flag_of(const std::string& word) {
  return word.substr(0, word.find('='));
}

class Parser {
 public:
  Parser(Words words, support::Diagnostics& diags) : words_(std::move(words)), diags_(diags) {
    parsed_.request.settings.threads = runtime::host_capabilities().processors;
  }

  std::variant<CommandLine, WrongUsage> parse() {
    take_command();
    for (; at_ < words_.size() && wrong_.empty() && !parsed_.information; ++at_) take(words_[at_]);
    if (parsed_.information) {
      if (parsed_.information->kind == Information::Kind::Help) wrong_ = unknown_command();
      if (wrong_.empty()) return parsed_;
    }
    if (wrong_.empty()) wrong_ = place_positionals();
    parsed_.request.settings.has_own_threads = given_.contains(kThreadsOption.flag);
    if (wrong_.empty()) read_environment();
    if (wrong_.empty() && !diags_.has_errors()) wrong_ = wrong_combination(parsed_.request, given_);
    if (!wrong_.empty()) return WrongUsage{wrong_};
    return parsed_;
  }

 private:
  void take_command() {
    if (words_.empty()) return;
    if (const request::CommandRow* row = request::find_command(words_.front())) {
      parsed_.request.command = row->name;
      at_ = 1;
    }
  }

  void take(const std::string& word) {
    if (word.size() < 2 || word[0] != '-') return positionals_.push_back(word);
    if (const auto kind = find_information(flag_of(word))) return take_information(*kind, word);
    const bool is_long = word.starts_with("--");
    // `-oFILE` is `-o FILE`.
    const std::string flag = is_long ? flag_of(word) : word.substr(0, 2);
    const OptionRow* row = request::find_option(flag, parsed_.request.command);
    if (row == nullptr) {
      wrong_ = not_taken(flag_of(word));
      return;
    }
    std::optional<std::string> attached;
    if (word.size() > flag.size()) attached = word.substr(flag.size() + (is_long || word[2] == '=' ? 1 : 0));
    give(*row, attached);
  }

  void take_information(Information::Kind kind, const std::string& word) {
    Information information{kind, {}};
    if (kind == Information::Kind::Explain) {
      const bool is_attached = word.find('=') != std::string::npos;
      if (!is_attached && at_ + 1 == words_.size()) {
        wrong_ = "--explain needs the code of a diagnostic: CG0102";
        return;
      }
      information.code = is_attached ? word.substr(word.find('=') + 1) : words_[++at_];
    }
    parsed_.information = information;
  }

  void give(const OptionRow& row, const std::optional<std::string>& attached) {
    const std::string name(name_of(row));
    if (!row.value.empty() && !request::is_list(row) && given_.contains(name_of(row))) {
      wrong_ = fmt::format("{} is given twice", name);
      return;
    }
    given_.insert(name_of(row));
    if (row.value.empty()) {
      if (attached) wrong_ = fmt::format("{} takes no value", name);
      return request::set_flag(row, parsed_.request);
    }
    Words texts;
    if (attached) texts.push_back(*attached);
    const bool is_optional = row.value.starts_with('[') && row.value.ends_with(']') && row.value[1] == '=';
    if (!is_optional) {
      const auto is_wanted = [&] {
        return row.values == request::kAllThatFollow ? texts.empty() || !begins_option(at_ + 1)
                                                     : texts.size() < static_cast<size_t>(row.values);
      };
      while (is_wanted() && at_ + 1 < words_.size() && !names_option(words_[at_ + 1])) texts.push_back(words_[++at_]);
      if (texts.empty() || texts.size() < static_cast<size_t>(std::max(row.values, 1))) {
        wrong_ = fmt::format("{} needs a value: {}", name, row.value);
        return;
      }
    }
    request::set_values(row, texts, name, parsed_.request, diags_);
  }

  bool begins_option(size_t at) const { return at >= words_.size() || words_[at].starts_with('-'); }

  /// A value may begin with a dash, but is no option.
  static bool names_option(const std::string& word) {
    const bool is_flag = word.starts_with("--") || (word.size() == 2 && word[0] == '-');
    return is_flag && (find_information(flag_of(word)) || !request::commands_with(flag_of(word)).empty());
  }

  std::string not_taken(const std::string& flag) const {
    const std::string self = request::full_name(parsed_.request.command);
    if (const std::string_view why = request::why_not_taken(flag, parsed_.request.command); !why.empty())
      return fmt::format("`{}` takes no {}: {}", self, flag, why);
    if (const std::vector<CommandName> others = request::commands_with(flag); !others.empty()) {
      const std::string of = others.size() > kMostNamed ? "" : ": it is an option of " + names_text(others);
      return fmt::format("`{}` takes no {}{}", self, flag, of);
    }
    const std::string word = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
    if (const request::CommandRow* row = request::find_command(word))
      return fmt::format("unknown option `{}`; `{}` is a command: `collagec {} {}`", flag, word, word, row->arguments);
    Words names;
    for (const OptionRow& row : request::option_table()) {
      if (!is_positional(row) && row.commands.has(parsed_.request.command)) names.emplace_back(name_of(row));
    }
    const std::string closest = support::closest(flag, names);
    if (closest.empty()) return fmt::format("unknown option `{}`", flag);
    return fmt::format("unknown option `{}`; did you mean `{}`?", flag, closest);
  }

  /// Stores the words that are no options. Returns what is wrong, or "".
  std::string place_positionals() {
    if (positionals_.empty() && words_.empty()) return "a model is needed: `collagec MODEL`";
    if (std::string wrong = unknown_command(); !wrong.empty()) return wrong;
    std::vector<const OptionRow*> rows;
    size_t wanted = 0;
    for (const OptionRow& row : request::option_table()) {
      if (!is_positional(row) || !row.commands.has(parsed_.request.command)) continue;
      rows.push_back(&row);
      wanted += static_cast<size_t>(row.values);
    }
    if (positionals_.size() < wanted) take_model_of_rules();
    const std::string_view arguments = request::row_of(parsed_.request.command).arguments;
    const std::string usage = fmt::format("`{} {}`", request::full_name(parsed_.request.command), arguments);
    if (positionals_.empty() || positionals_.front().empty()) return "a model is needed: " + usage;
    if (positionals_.size() < wanted) return "an argument is missing: " + usage;
    if (positionals_.size() > wanted) {
      const std::string& word = positionals_[wanted];
      if (request::find_command(word) == nullptr) return fmt::format("unexpected argument `{}`", word);
      return fmt::format("unexpected argument `{}`: a command comes first: `collagec {} {}`", word, word,
                         positionals_.front());
    }
    size_t next = 0;
    for (const OptionRow* row : rows) {
      const auto begin = positionals_.begin() + static_cast<std::ptrdiff_t>(next);
      next += static_cast<size_t>(row->values);
      const Words texts(begin, positionals_.begin() + static_cast<std::ptrdiff_t>(next));
      if (!request::set_values(*row, texts, std::string(row->flags), parsed_.request, diags_)) return "";
      given_.insert(row->flags);
    }
    return "";
  }

  /// `collagec rnu model.ir`: a first word that is no file where a command may stand.
  std::string unknown_command() const {
    const bool may_be_command = parsed_.request.command == CommandName::Compile && !positionals_.empty() &&
                                positionals_.front() == words_.front() &&
                                positionals_.front().find_first_of("./") == std::string::npos;
    if (!may_be_command) return "";
    const std::string& word = positionals_.front();
    std::error_code error;
    if (word.empty() || std::filesystem::exists(word, error)) return "";
    if (word == "compile" || word == "build") return fmt::format("`{}` is no command: `collagec MODEL` compiles", word);
    if (find_information("--" + word)) return fmt::format("unknown command `{0}`; did you mean `--{0}`?", word);
    const std::string closest = support::closest(word, all_command_words());
    if (!closest.empty()) return fmt::format("unknown command `{}`; did you mean `{}`?", word, closest);
    // Alone it may be a model that is not there.
    const bool is_alone = positionals_.size() == 1 && !parsed_.information;
    return is_alone ? "" : fmt::format("unknown command `{}`; `collagec --help` lists them", word);
  }

  /// `-r` takes every word after it; a model among them is not a rule file.
  void take_model_of_rules() {
    const auto is_model = [](const std::string& path) {
      const std::string extension = std::filesystem::path(path).extension().string();
      std::error_code error;
      return !extension.empty() && extension != ".rules" && !std::filesystem::is_directory(path, error);
    };
    Words& rules = parsed_.request.rules;
    const auto model = std::find_if(rules.begin(), rules.end(), is_model);
    if (model == rules.end()) return;
    positionals_.insert(positionals_.begin(), *model);
    rules.erase(model);
  }

  void read_environment() {
    for (const OptionRow& row : request::option_table()) {
      if (row.environment.empty() || !row.commands.has(parsed_.request.command) || given_.contains(name_of(row)))
        continue;
      const char* text = std::getenv(std::string(row.environment).c_str());  // NOLINT: one thread
      if (text == nullptr || *text == '\0') continue;
      request::set_values(row, {text}, std::string(name_of(row)), parsed_.request, diags_);
    }
  }

  Words words_;
  size_t at_ = 0;
  support::Diagnostics& diags_;
  CommandLine parsed_;
  Words positionals_;
  std::set<std::string_view> given_;
  std::string wrong_;
};

}  // namespace

std::variant<CommandLine, WrongUsage> parse_command_line(int argc, char** argv, support::Diagnostics& diags) {
  return Parser(Words(argv + 1, argv + argc), diags).parse();
}

}  // namespace collage::tools
