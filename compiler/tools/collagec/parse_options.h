// SPDX-License-Identifier: Apache-2.0
// From the command line of `collagec` to a request, by the rows of the option table.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "compiler/request/requests.h"
#include "runtime/support/diagnostic.h"

namespace collage::tools {

/// What `collagec` answers itself, without a model.
struct Information {
  enum class Kind { Help, HelpAll, Version, Man, BashCompletion, Explain };
  Kind kind = Kind::Help;
  std::string code{};  ///< of Explain
};

/// The command line is wrong: one sentence that says how.
struct WrongUsage {
  std::string message;
};

struct CommandLine {
  request::Request request{};
  std::optional<Information> information{};
};

/// Values that are wrong are errors in `diags`.
std::variant<CommandLine, WrongUsage> parse_command_line(int argc, char** argv, support::Diagnostics& diags);

}  // namespace collage::tools
