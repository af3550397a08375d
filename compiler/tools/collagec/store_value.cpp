// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/store_value.h"

#include <fmt/format.h>

namespace collage::tools {
namespace {

using driver::NamedFile;
using driver::Options;
using runner::parse_named_file;
using runner::parse_number;
using Texts = std::vector<std::string>;

/// Stores values into the field of a row; each overload reads one type and returns what is wrong, or "".
class Store {
 public:
  Store(const OptionRow& row, const Texts& texts, CommandLine* into) : row_(row), texts_(texts), into_(into) {}

  template <typename Value>
  std::string operator()(Value Options::*field) const {
    return read(into_->options.*field);
  }
  template <typename Value>
  std::string operator()(Value Information::*field) const {
    return read(into_->information.*field);
  }

 private:
  const std::string& text() const { return texts_.front(); }

  std::string read(std::string& into) const { return into = text(), ""; }
  std::string read(std::optional<std::string>& into) const { return into = text(), ""; }
  std::string read(double& into) const {
    std::optional<double> value = parse_number(text());
    if (!value) return fmt::format("`{}` is not a number or a fraction", text());
    into = *value;
    return out_of_range(*value);
  }
  std::string read(std::optional<double>& into) const { return read(into.emplace()); }
  std::string read(int& into) const { return read_whole(into); }
  std::string read(uint64_t& into) const { return read_whole(into); }
  template <typename Number>
  std::string read_whole(Number& into) const {
    std::optional<double> value = parse_number(text());
    if (!value) return fmt::format("`{}` is not a whole number", text());
    if (std::string wrong = out_of_range(*value); !wrong.empty()) return wrong;
    into = static_cast<Number>(*value);
    return static_cast<double>(into) == *value ? "" : fmt::format("`{}` is not a whole number", text());
  }
  std::string read(bool& into) const { return read_choice(into); }
  std::string read(driver::Emit& into) const { return read_choice(into); }
  std::string read(driver::CostMode& into) const { return read_choice(into); }
  std::string read(codegen::Numerics& into) const { return read_choice(into); }
  std::string read(quantize::RangeMethod& into) const { return read_choice(into); }
  template <typename Value>
  std::string read_choice(Value& into) const {
    std::string words;
    for (const Choice& choice : row_.choices) {
      if (choice.word == text()) return into = static_cast<Value>(choice.value), "";
      words += fmt::format("{}{}", words.empty() ? "" : ", ", choice.word);
    }
    return fmt::format("`{}` is none of {}", text(), words);
  }
  std::string read(std::vector<std::string>& into) const {
    into.insert(into.end(), texts_.begin(), texts_.end());
    return "";
  }
  std::string read(std::vector<NamedFile>& into) const {
    for (const std::string& text : texts_) into.push_back(parse_named_file(text));
    return "";
  }

  /// What is wrong with the number, or "". Not-a-number is in no range.
  std::string out_of_range(double value) const {
    if (!row_.range || (value >= row_.range->least && value <= row_.range->most)) return "";
    if (row_.range->most == kNoLimit)
      return fmt::format("`{}` is {}", text(), value < row_.range->least ? "negative" : "not finite");
    return fmt::format("`{}` is not between {} and {}", text(), row_.range->least, row_.range->most);
  }

  const OptionRow& row_;
  const Texts& texts_;
  CommandLine* into_;
};

/// The paths in the field of a row; none where its type holds no path.
struct PathsIn {
  const Options& options;

  template <typename Owner, typename Value>
  Texts operator()(Value Owner::*) const {
    return {};
  }
  Texts operator()(std::string Options::*field) const { return {options.*field}; }
  Texts operator()(std::optional<std::string> Options::*field) const { return {(options.*field).value_or("")}; }
  Texts operator()(std::vector<std::string> Options::*field) const { return options.*field; }
  Texts operator()(std::vector<NamedFile> Options::*field) const {
    Texts paths;
    for (const NamedFile& named : options.*field) paths.push_back(named.file);
    return paths;
  }
};

}  // namespace

std::vector<std::string> paths_of(const OptionRow& row, const Options& options) {
  return std::visit(PathsIn{options}, row.field);
}

std::string store(const OptionRow& row, const Texts& texts, CommandLine* into) {
  return std::visit(Store(row, texts, into), row.field);
}

void set_flag(const OptionRow& row, CommandLine* into) {
  if (const auto* option = std::get_if<bool Options::*>(&row.field)) into->options.** option = true;
  if (const auto* information = std::get_if<bool Information::*>(&row.field)) into->information.** information = true;
}

}  // namespace collage::tools
