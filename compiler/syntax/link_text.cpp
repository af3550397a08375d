// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/link_text.h"

#include <fmt/format.h>

#include <cctype>

namespace collage::syntax {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

struct Range {
  size_t begin = 0, end = 0;
};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Where the word of a property stands, with a blank after it; npos: the text has none.
size_t find_property(std::string_view text, std::string_view word) {
  size_t at = text.find(word);
  for (; at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool starts = at == 0 || !is_word(text[at - 1]);
    if (starts && end < text.size() && is_blank(text[end])) break;
  }
  return at;
}

/// The end of a number at `at`, as the scanner reads it: `10`, `1.5`, `8.31e+03`.
size_t end_of_number(std::string_view text, size_t at) {
  const auto skip_digits = [&](size_t i) {
    while (i < text.size() && (is_digit(text[i]) || text[i] == '.')) ++i;
    return i;
  };
  const size_t end = skip_digits(at);
  if (end == at || end == text.size() || (text[end] != 'e' && text[end] != 'E')) return end;
  size_t exponent = end + 1;
  if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
  return exponent < text.size() && is_digit(text[exponent]) ? skip_digits(exponent) : end;
}

/// Where the number with its unit stands that is the value of a property; nullopt where there is none.
std::optional<Range> value_of(std::string_view text, std::string_view word) {
  const size_t at = find_property(text, word);
  if (at == std::string_view::npos) return std::nullopt;
  Range range{at + word.size(), 0};
  while (range.begin < text.size() && is_blank(text[range.begin])) ++range.begin;
  size_t end = end_of_number(text, range.begin);
  if (end == range.begin) return std::nullopt;
  while (end < text.size() && is_blank(text[end])) ++end;
  const size_t unit = end;
  while (end < text.size() && (is_word(text[end]) || text[end] == '/')) ++end;
  if (end == unit) return std::nullopt;
  range.end = end;
  return range;
}

}  // namespace

std::optional<std::string> with_figures(std::string_view link, double bytes_per_second, double latency_seconds) {
  const std::string bandwidth = fmt::format("{:.3g} GB/s", bytes_per_second / 1e9);
  const std::string latency = fmt::format("{:.3g} us", latency_seconds * 1e6);
  const std::optional<Range> rate = value_of(link, "bandwidth");
  if (!rate) return std::nullopt;
  const std::optional<Range> time = value_of(link, "latency");
  if (!time && find_property(link, "latency") != std::string_view::npos) return std::nullopt;
  std::string text(link);
  if (time && time->begin > rate->begin) text.replace(time->begin, time->end - time->begin, latency);
  text.replace(rate->begin, rate->end - rate->begin, time ? bandwidth : bandwidth + " latency " + latency);
  if (time && time->begin < rate->begin) text.replace(time->begin, time->end - time->begin, latency);
  return text;
}

}  // namespace collage::syntax
