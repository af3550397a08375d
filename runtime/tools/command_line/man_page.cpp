// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "include/collage/version.h"
#include "runtime/core/joined.h"
#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {
namespace {

/// Text that troff shows as it is: `\` and hyphens escaped, no control character at the start of a line.
std::string escaped(const std::string& text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string sentences_of(const ProgramText& command) {
  return command.details.empty() ? command.purpose : command.purpose + ". " + command.details;
}

/// Those that are common; with `shows_all` the others, too.
void print_options(const std::vector<OptionText>& options, bool shows_all, std::string* page) {
  std::string group;
  for (const OptionText& option : options) {
    if (!option.is_common && !shows_all) continue;
    if (option.group != group) *page += fmt::format(".SS {}\n", escaped(option.group));
    group = option.group;
    std::string names =
        runtime::joined(option.names, ", ", [](const auto& name) { return "\\fB" + escaped(name) + "\\fR"; });
    if (!option.value.empty()) names += " \\fI" + escaped(option.value) + "\\fR";
    *page += fmt::format(".TP\n{}\n{}.\n", names, escaped(option.help));
    if (!option.initial.empty()) *page += fmt::format("Default: {}.\n", escaped(option.initial));
  }
}

}  // namespace

std::string man_page(const ProgramText& program) {
  std::string page = fmt::format(".TH {0} 1 \"\" \"collage {1}\" \"Collage\"\n.SH NAME\n{0} \\- {2}\n", program.name,
                                 COLLAGE_VERSION, escaped(program.purpose));
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR {}\n.SH OPTIONS\n", program.name, escaped(program.usage));
  print_options(program.options, true, &page);
  for (const ProgramText& command : program.commands) {
    page += fmt::format(".SH {0} {1}\n\\fB{0} {1}\\fR {2}\n.PP\n{3}\n", escaped(program.name), escaped(command.name),
                        escaped(command.usage), escaped(sentences_of(command)));
    print_options(command.options, false, &page);
  }
  page += fmt::format(".SH EXIT STATUS\n{}.\n", escaped(kExitCodes));
  return page;
}

}  // namespace collage::tools
