// SPDX-License-Identifier: Apache-2.0
// The commands of `collagec` that work on a model, and sets of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace collage::request {

enum class CommandName {
#define COMMAND(name, word, arguments, purpose, details) name,
#include "compiler/request/commands.def"
#undef COMMAND
};

struct CommandRow {
  CommandName name;
  std::string_view word;       ///< `why-not`; of the first command empty
  std::string_view arguments;  ///< for help: `MODEL NODES BACKEND [-r RULES…]`
  std::string_view purpose;    ///< without a full stop: `compares all strategies in a table`
  std::string_view details;    ///< more sentences, or none
};

std::span<const CommandRow> command_table();

const CommandRow& row_of(CommandName name);
/// Returns null where no command is called so.
const CommandRow* find_command(std::string_view word);
/// `collagec why-not`, `collagec`
std::string full_name(CommandName name);

class CommandSet {
 public:
  constexpr CommandSet() = default;
  constexpr CommandSet(CommandName name) : bits_(uint32_t{1} << static_cast<unsigned>(name)) {}  // NOLINT: implicit

  static constexpr CommandSet all() { return CommandSet(~uint32_t{0}); }
  constexpr bool has(CommandName name) const { return (bits_ & CommandSet(name).bits_) != 0; }
  constexpr CommandSet operator|(CommandSet other) const { return CommandSet(bits_ | other.bits_); }
  constexpr CommandSet operator-(CommandSet other) const { return CommandSet(bits_ & ~other.bits_); }

 private:
  constexpr explicit CommandSet(uint32_t bits) : bits_(bits) {}

  uint32_t bits_ = 0;
};

constexpr CommandSet operator|(CommandName a, CommandName b) {
  return CommandSet(a) | CommandSet(b);
}

}  // namespace collage::request
