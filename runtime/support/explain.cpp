// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/explain.h"

#include <cctype>

#include "runtime/support/print.h"

namespace collage::support {
namespace {

struct Example {
  std::string_view name;
  std::string_view cause;
  std::string_view fix;
};

constexpr Example kExamples[] = {
#define EXAMPLE(name, cause, fix) {#name, cause, fix},
#include "runtime/support/diagnostic_examples.def"
#undef EXAMPLE
};

/// `cg301`, `301` => `CG0301`
std::string normal_form(const std::string& text) {
  size_t digits = 0;
  std::string head;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) == 0) {
    head += static_cast<char>(std::toupper(static_cast<unsigned char>(text[digits++])));
  }
  std::string number = text.substr(digits);
  bool is_number = !number.empty() && number.size() <= 4 &&
                   number.find_first_not_of("0123456789") == std::string::npos && (head.empty() || head == "CG");
  return is_number ? "CG" + std::string(4 - number.size(), '0') + number : text;
}

}  // namespace

std::string explanation(Code code) {
  std::string text = fmt::format("{} {}\n  {}\n", code_text(code), code_name(code), code_explanation(code));
  for (const Example& example : kExamples) {
    if (example.name != code_name(code)) continue;
    text += fmt::format("example\n  {}\nfix\n  {}\n", example.cause, example.fix);
  }
  return text;
}

bool explain(const std::string& text) {
  std::optional<Code> code = parse_code(normal_form(text));
  if (code) {
    support::print("{}", explanation(*code));
    return true;
  }
  std::vector<std::string> known;
  for (Code each : all_codes()) {
    known.push_back(code_text(each));
    known.emplace_back(code_name(each));
  }
  std::string near = closest(normal_form(text), known);
  support::print(stderr, "error: no diagnostic has the code `{}`\n", text);
  if (!near.empty()) support::print(stderr, "note: did you mean `{}`?\n", near);
  return false;
}

}  // namespace collage::support
