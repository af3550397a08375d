// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/option_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/request/bindings.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::request {
namespace {

using support::Code;
using Texts = std::vector<std::string>;
using Bindings = std::vector<ir::ShapeBinding>;
using Buckets = std::vector<Bindings>;

/// Reads values; each overload reads one type into the place and returns what is wrong, or "".
class Reader {
 public:
  Reader(const OptionRow& row, const Texts& texts, const std::string& where, support::Diagnostics& diags)
      : row_(row), texts_(texts), where_(where), diags_(diags) {}

  std::string read(std::string& into) const {
    if (row_.is_word_or_path) {
      const std::string near = support::closest(text(), row_.suggestions);
      const bool is_word = near.empty() || near == text() || text().find_first_of("./") != std::string::npos;
      if (!is_word)
        return fmt::format("`{}` is not `{}`, and no path: a file of this name is `./{}`", text(), near, text());
    }
    return into = text(), "";
  }
  std::string read(std::optional<std::string>& into) const { return into = text(), ""; }
  std::string read(double& into) const {
    const std::optional<double> value = runner::parse_number(text());
    if (!value) return fmt::format("`{}` is not a number or a fraction", text());
    into = *value;
    return out_of_range(*value);
  }
  std::string read(std::optional<double>& into) const { return read(into.emplace()); }
  std::string read(int& into) const { return read_whole(into); }
  std::string read(uint64_t& into) const { return read_whole(into); }
  std::string read(Texts& into) const {
    for (const std::string& text : texts_) {
      if (row_.is_list_of_words) {
        const Texts words = runtime::split(text, ',');
        into.insert(into.end(), words.begin(), words.end());
      } else {
        into.push_back(text);
      }
    }
    return "";
  }
  std::string read(std::vector<NamedFile>& into) const {
    for (const std::string& text : texts_) into.push_back(runner::parse_named_file(text));
    return "";
  }
  std::string read(Bindings& into) const {
    std::string wrong;
    for (size_t i = 0; i < texts_.size() && wrong.empty(); ++i) wrong = add_bindings(texts_[i], where_, into);
    return wrong;
  }
  std::string read(Buckets& into) const {
    std::string wrong;
    for (size_t i = 0; i < texts_.size() && wrong.empty(); ++i) wrong = add_buckets(texts_[i], into);
    return wrong;
  }
  std::string read(const place::Objective*& into) const {
    if (const place::Objective* objective = place::parse_objective(text(), where_, diags_)) into = objective;
    return "";
  }
  std::string read(JsonRequest& into) const { return into = {true, texts_.empty() ? "" : text()}, ""; }
  /// bool, and enumerations.
  template <typename Value>
  std::string read(Value& into) const {
    for (const Choice& choice : row_.choices) {
      if (choice.word == text()) return into = static_cast<Value>(choice.value), "";
    }
    return fmt::format("`{}` is none of {}", text(),
                       runtime::joined(row_.choices, ", ", [](const Choice& choice) { return choice.word; }));
  }

 private:
  const std::string& text() const { return texts_.front(); }

  template <typename Number>
  std::string read_whole(Number& into) const {
    const std::optional<double> value = runner::parse_number(text());
    if (!value) return fmt::format("`{}` is not a whole number", text());
    if (std::string wrong = out_of_range(*value); !wrong.empty()) return wrong;
    into = static_cast<Number>(*value);
    return static_cast<double>(into) == *value ? "" : fmt::format("`{}` is not a whole number", text());
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
  const std::string& where_;
  support::Diagnostics& diags_;
};

/// Prints values as they would be given; each overload prints one type.
struct Printer {
  const OptionRow& row;

  Texts print(const std::string& value) const { return value.empty() ? Texts() : Texts{value}; }
  Texts print(const std::optional<std::string>& value) const { return value ? Texts{*value} : Texts(); }
  Texts print(double value) const { return {fmt::format("{}", value)}; }
  Texts print(const std::optional<double>& value) const { return value ? print(*value) : Texts(); }
  Texts print(int value) const { return value == 0 ? Texts() : Texts{std::to_string(value)}; }
  Texts print(uint64_t value) const { return value == 0 ? Texts() : Texts{std::to_string(value)}; }
  Texts print(const Texts& value) const { return value; }
  Texts print(const std::vector<NamedFile>& value) const {
    Texts texts;
    for (const NamedFile& named : value)
      texts.push_back(named.name.empty() ? named.file : named.name + "=" + named.file);
    return texts;
  }
  Texts print(const Bindings& value) const {
    Texts texts;
    for (const ir::ShapeBinding& binding : value) texts.push_back(to_string(binding));
    return texts;
  }
  /// Prints a text for each specialisation: `batch=8 seq=1`.
  Texts print(const Buckets& value) const {
    Texts texts;
    for (const Bindings& bucket : value) texts.push_back(fmt::format("{}", fmt::join(print(bucket), " ")));
    return texts;
  }
  Texts print(const place::Objective* value) const { return {std::string(value->name)}; }
  Texts print(const JsonRequest& value) const { return value.is_asked ? Texts{value.file} : Texts(); }
  /// bool, and enumerations. A flag that is set has one empty text.
  template <typename Value>
  Texts print(Value value) const {
    if (row.choices.empty()) return static_cast<int>(value) != 0 ? Texts{""} : Texts();
    for (const Choice& choice : row.choices) {
      if (choice.value == static_cast<int>(value)) return {std::string(choice.word)};
    }
    return {};
  }
};

/// Places are functions of a request that may be changed; what only reads gets a copy of it.
Texts texts_in(const OptionRow& row, Request request) {
  return std::visit([&](auto place) { return Printer{row}.print(place(request)); }, row.place);
}

struct Clear {
  Request& request;

  template <typename Item>
  void operator()(Place<std::vector<Item>> place) const {
    place(request).clear();
  }
  template <typename Value>
  void operator()(Place<Value>) const {}
};

/// `true` and `false` are the words of a flag.
const std::vector<Choice> kFlagWords = {{"false", 0}, {"true", 1}};

}  // namespace

bool set_values(const OptionRow& row, const Texts& texts, const std::string& where, Request& request,
                support::Diagnostics& diags) {
  const size_t errors = diags.error_count();
  const std::string wrong = std::visit(
      [&](auto place) {
        auto& at = place(request);
        auto read = at;
        std::string problem = Reader(row, texts, where, diags).read(read);
        if (problem.empty()) at = std::move(read);
        return problem;
      },
      row.place);
  if (!wrong.empty()) diags.error_at(Code::BadOption, where, "{}", wrong);
  return diags.error_count() == errors;
}

bool set_by_name(const std::string& name, const std::string& text, Request& request, support::Diagnostics& diags) {
  std::vector<std::string> names;
  for (const OptionRow& row : option_table()) {
    if (!row.is_setting) continue;
    names.emplace_back(name_of(row).substr(2));
    if (names.back() != name) continue;
    if (is_list(row) && text.empty()) return std::visit(Clear{request}, row.place), true;
    if (!row.value.empty()) return set_values(row, {text}, name, request, diags);
    OptionRow flag = row;
    flag.choices = kFlagWords;
    return set_values(flag, {text}, name, request, diags);
  }
  return diags.error_at(Code::BadOption, name, "no such setting").did_you_mean(support::closest(name, names));
}

void set_flag(const OptionRow& row, Request& request) {
  if (const auto* place = std::get_if<Place<bool>>(&row.place)) (*place)(request) = true;
}

Texts texts_of(const OptionRow& row, const Request& request) {
  return texts_in(row, request);
}

bool is_given(const OptionRow& row, const Request& request) {
  return texts_in(row, request) != texts_in(row, {});
}

std::string initial_text(const OptionRow& row) {
  if (!row.initial.empty()) return row.initial;
  const Texts texts = texts_in(row, {});
  return texts.empty() ? "" : texts.front();
}

Texts paths_of(const OptionRow& row, const Request& request) {
  if (std::holds_alternative<Place<std::vector<NamedFile>>>(row.place)) {
    Request copy = request;
    Texts paths;
    for (const NamedFile& named : std::get<Place<std::vector<NamedFile>>>(row.place)(copy)) {
      for (std::string& path : runner::files_meant(named)) paths.push_back(std::move(path));
    }
    return paths;
  }
  return texts_of(row, request);
}

}  // namespace collage::request
