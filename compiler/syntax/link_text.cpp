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

/// Where the number with its unit stands that follows the word; nullopt where there is none.
std::optional<Range> value_after(std::string_view text, std::string_view word) {
  size_t at = text.find(word);
  while (at != std::string_view::npos) {
    const bool starts = at == 0 || !is_word(text[at - 1]);
    size_t end = at + word.size();
    if (starts && end < text.size() && is_blank(text[end])) break;
    at = text.find(word, at + 1);
  }
  if (at == std::string_view::npos) return std::nullopt;
  Range range{at + word.size(), at + word.size()};
  while (range.begin < text.size() && is_blank(text[range.begin])) ++range.begin;
  size_t end = range.begin;
  while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) ++end;
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
  const std::optional<Range> rate = value_after(link, "bandwidth");
  if (!rate) return std::nullopt;
  const std::optional<Range> time = value_after(link, "latency");
  if (!time && link.find("latency") != std::string_view::npos) return std::nullopt;
  std::string text(link);
  if (time && time->begin > rate->begin) text.replace(time->begin, time->end - time->begin, latency);
  text.replace(rate->begin, rate->end - rate->begin, time ? bandwidth : bandwidth + " latency " + latency);
  if (time && time->begin < rate->begin) text.replace(time->begin, time->end - time->begin, latency);
  return text;
}

}  // namespace collage::syntax
