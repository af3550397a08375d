// SPDX-License-Identifier: Apache-2.0
// The settings of a request, a row of options.def each. The command line of `collagec` with its help, manual page and
// completion, `collage_compiler_set`, the options that a certificate states, and those that a reproducer repeats are
// made from the rows: a new setting is a row, its use and a test.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/request/command_table.h"
#include "compiler/request/requests.h"

namespace collage::request {

template <typename Value>
using Place = Value& (*)(Request&);

/// Where a value lies. The type decides how it is read and printed (option_values.cpp).
using AnyPlace = std::variant<Place<bool>, Place<int>, Place<uint64_t>, Place<double>, Place<std::optional<double>>,
                              Place<std::string>, Place<std::optional<std::string>>, Place<std::vector<std::string>>,
                              Place<std::vector<NamedFile>>, Place<std::vector<ir::ShapeBinding>>,
                              Place<std::vector<std::vector<ir::ShapeBinding>>>, Place<const place::Objective*>,
                              Place<Emit>, Place<CostMode>, Place<codegen::Numerics>, Place<quantize::RangeMethod>,
                              Place<quantize::WeightScales>, Place<JsonRequest>>;

/// Input to Measuring: shown by name alone on the help page of a command.
enum class Group { Arguments, Input, Placing, Quantising, Host, Costs, Running, Output };

/// A word that stands for a value of an enumeration, or of a bool.
struct Choice {
  std::string_view word;
  int value = 0;
};

inline constexpr double kNoLimit = std::numeric_limits<double>::max();

struct Range {
  double least = 0;
  double most = kNoLimit;
};

inline constexpr int kAllThatFollow = -1;

/// Whether the values name files, and what happens to them. ReadRules: of a folder, its rule files.
enum class Files { None, Read, ReadRules, Written };

/// An option that cannot be given too.
struct Exclusion {
  std::string_view option;  ///< `--report`
  std::string_view why;     ///< after a colon
};

/// Commands that do not take the option.
struct Refusal {
  CommandSet commands;
  std::string_view why;  ///< after a colon
};

struct OptionRow {
  std::string_view flags;  ///< `-o,--output`; without a dash: positional arguments
  AnyPlace place;
  CommandSet commands = CommandSet::all();
  Group group = Group::Output;
  bool is_common = false;       ///< shown by `collagec --help`
  std::string_view value = "";  ///< `FILE`; empty: a flag
  Files files = Files::None;
  std::string help;                           ///< without a full stop
  std::string brief = "";                     ///< what `collagec --help` says in its place
  std::string initial = "";                   ///< the default, where the initial value does not show it
  std::vector<Choice> choices = {};           ///< the only values
  std::vector<std::string> suggestions = {};  ///< values that the completion offers, of others too
  /// Any other text is a path: one that is nearly a suggestion is an error.
  bool is_word_or_path = false;
  std::optional<Range> range = std::nullopt;
  int values = 1;                     ///< how many follow the flag
  bool is_list_of_words = false;      ///< `npu,host` are two values
  std::string_view environment = "";  ///< variable that is read where the option is not given
  bool is_setting = false;            ///< of `collage_compiler_set` too, by the name without dashes
  std::string_view stated = "";       ///< what it means in a certificate; empty: the problem does not depend on it
  bool is_of_parts = false;           ///< what compiles a part of the model alone needs it as well
  bool needs_whole_plan = false;      ///< not for a model that runs in stages
  std::vector<Exclusion> excludes = {};
  std::vector<std::string_view> needs = {};  ///< `--calibrate`, `--objective=latency`, `run or --calibrate`
  std::vector<Refusal> refusals = {};        ///< of commands where a user may expect it
};

const std::vector<OptionRow>& option_table();

/// The last and longest of the flags: `--output`.
std::string_view name_of(const OptionRow& row);
/// The first of the flags: `-o`.
std::string_view short_name_of(const OptionRow& row);
bool is_positional(const OptionRow& row);
/// Whether the values of every occurrence are kept.
bool is_list(const OptionRow& row);

/// The row of a flag that the command takes. Null: there is none.
const OptionRow* find_option(std::string_view flag, CommandName command);
/// The commands that take the flag.
std::vector<CommandName> commands_with(std::string_view flag);

/// Why the command does not take the flag; empty: no row says so.
std::string_view why_not_taken(std::string_view flag, CommandName command);

/// Calls `change` for each path of a file that the request writes, but for those of `--save`.
void for_each_output(Request& request, const std::function<void(std::string&)>& change);

/// `a.plan` and `stage2`  =>  `a.stage2.plan`. Streams and empty paths stay.
std::string with_infix(const std::string& path, const std::string& infix);

}  // namespace collage::request
