// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/command_table.h"

#include <algorithm>

namespace collage::request {
namespace {

constexpr CommandRow kCommands[] = {
#define COMMAND(name, word, arguments, purpose, details) {CommandName::name, word, arguments, purpose, details},
#include "compiler/request/commands.def"
#undef COMMAND
};

}  // namespace

std::span<const CommandRow> command_table() {
  return kCommands;
}

const CommandRow& row_of(CommandName name) {
  return kCommands[static_cast<size_t>(name)];
}

const CommandRow* find_command(std::string_view word) {
  const auto row = std::find_if(std::begin(kCommands), std::end(kCommands),
                                [&](const CommandRow& one) { return !word.empty() && one.word == word; });
  return row == std::end(kCommands) ? nullptr : row;
}

std::string full_name(CommandName name) {
  const std::string_view word = row_of(name).word;
  return word.empty() ? "collagec" : "collagec " + std::string(word);
}

}  // namespace collage::request
