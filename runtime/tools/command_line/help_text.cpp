// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {
namespace {

constexpr size_t kTextColumn = 28;
constexpr size_t kLineWidth = 100;

/// Columns that UTF-8 text takes on a terminal: continuation bytes take none.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Appends words, each line after the first indented to the column of the text.
void wrap(const std::string& words, size_t column, std::string* text) {
  size_t at = 0;
  while (at < words.size()) {
    const size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    if (at > 0 && column + 1 + width_of(word) > kLineWidth) {
      *text += "\n" + std::string(kTextColumn, ' ');
      column = kTextColumn;
    } else if (at > 0) {
      *text += " ";
      ++column;
    }
    *text += word;
    column += width_of(word);
    at = end + 1;
  }
  *text += "\n";
}

/// `does this` => `Does this.`
std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string names_and_value(const OptionText& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  return option.value.empty() ? text : text + " " + option.value;
}

void print_option(const OptionText& option, std::string* text) {
  std::string head = "  " + names_and_value(option);
  if (width_of(head) + 2 > kTextColumn) {
    *text += head + "\n" + std::string(kTextColumn, ' ');
  } else {
    *text += head + std::string(kTextColumn - width_of(head), ' ');
  }
  wrap(option.initial.empty() ? option.help : fmt::format("{} (default: {})", option.help, option.initial), kTextColumn,
       text);
}

}  // namespace

std::string help_text(const ProgramText& program, bool shows_all) {
  std::string text = fmt::format("Usage: {} {}\n\n{}\n", program.name, program.usage, sentence(program.purpose));
  std::vector<std::string> groups;
  for (const OptionText& option : program.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    std::string shown;
    for (const OptionText& option : program.options) {
      if (option.group == group && (option.is_common || shows_all)) print_option(option, &shown);
    }
    if (!shown.empty()) text += "\n" + group + "\n" + shown;
  }
  return text;
}

}  // namespace collage::tools
