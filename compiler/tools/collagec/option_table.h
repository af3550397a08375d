// SPDX-License-Identifier: Apache-2.0
// The options of `collagec`, a row each. The parser, `--help`, `--help-all`, the manual page and the completion are
// made from the rows: a new option is a field (request/options.h), a row, and its use.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/request/options.h"

namespace collage::tools {

/// Options that `collagec` answers itself, without a model.
struct Information {
  bool help = false;
  bool help_all = false;
  bool version = false;
  bool man = false;
  bool bash_completion = false;
  std::string explain;  ///< code of a diagnostic
};

/// A parsed command line.
struct CommandLine {
  driver::Options options;
  Information information;
};

/// Where a value is stored. The type decides how its text is read.
using Field =
    std::variant<bool driver::Options::*, int driver::Options::*, uint64_t driver::Options::*,
                 double driver::Options::*, std::optional<double> driver::Options::*, std::string driver::Options::*,
                 std::optional<std::string> driver::Options::*, std::vector<std::string> driver::Options::*,
                 std::vector<driver::NamedFile> driver::Options::*, driver::Emit driver::Options::*,
                 driver::CostMode driver::Options::*, codegen::Numerics driver::Options::*,
                 quantize::RangeMethod driver::Options::*, bool Information::*, std::string Information::*>;

enum class Group { Input, Placing, Quantising, Asking, Running, Measuring, Output, Help };

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

/// Whether the values name files, and what happens to them.
/// ReadRules: of a folder, its rule files.
enum class Files { None, Read, ReadRules, Written };

struct OptionRow {
  std::string_view flags;           ///< `-o,--output`; without a dash: the positional argument
  std::string_view old_flags = "";  ///< former names, still read and not shown
  Field field;
  Group group = Group::Output;
  bool is_common = false;       ///< shown by `--help`
  bool prints_text = false;     ///< in place of a package, so that `-o` names none
  std::string_view value = "";  ///< `FILE`; empty: a flag
  Files files = Files::None;
  std::string help;                           ///< without a full stop
  std::string initial = "";                   ///< the default, where the initial value of the field does not show it
  std::vector<Choice> choices = {};           ///< the only values
  std::vector<std::string> suggestions = {};  ///< values that the completion offers, of others too
  std::optional<Range> range = std::nullopt;
  int values = 1;                                   ///< how many follow the flag
  std::string_view environment = "";                ///< variable that is read where the option is not given
  std::string_view implies = "";                    ///< flag that it sets
  std::vector<std::string_view> stopped_by = {};    ///< options that end the compilation before this one is used
  std::vector<std::string_view> goes_on_with = {};  ///< those of `stopped_by` that do not: they use it
  std::vector<std::string_view> excludes = {};
  std::vector<std::string_view> needs = {};  ///< `--run`, `--objective=latency`, `--run or --bench`
};

/// The last and longest of the flags: `--output`.
std::string_view name_of(const OptionRow& row);

/// The default as text; empty for a flag and where there is none.
std::string initial_text(const OptionRow& row);

const std::vector<OptionRow>& option_table();

}  // namespace collage::tools
