// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace collage::rules_tool::lsp {
namespace {

constexpr std::string_view kScheme = "file://";

/// UTF-16 units of the character that starts with `c`; 0 inside of one.
uint32_t units(char c) {
  auto byte = static_cast<unsigned char>(c);
  if ((byte & 0xc0U) == 0x80U) return 0;
  return byte >= 0xf0U ? 2 : 1;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

uint32_t offset_at(std::string_view text, const Json& position) {
  auto line = position.at("line").get<int64_t>();
  auto character = position.at("character").get<int64_t>();
  size_t at = 0;
  for (; line > 0; --line) {
    size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return static_cast<uint32_t>(text.size());
    at = end + 1;
  }
  for (int64_t column = 0; at < text.size() && text[at] != '\n' && text[at] != '\r'; ++at) {
    uint32_t width = units(text[at]);
    if (width > 0 && column >= character) break;
    column += width;
  }
  return static_cast<uint32_t>(at);
}

Json position_of(std::string_view text, uint32_t offset) {
  std::string_view before = text.substr(0, offset);
  size_t line_end = before.rfind('\n');
  size_t begin = line_end == std::string_view::npos ? 0 : line_end + 1;
  uint32_t column = 0;
  for (char c : before.substr(begin)) column += units(c);
  return {{"line", std::count(before.begin(), before.end(), '\n')}, {"character", column}};
}

Json range_of(std::string_view text, const support::Span& span) {
  return {{"start", position_of(text, span.begin)}, {"end", position_of(text, span.end)}};
}

uint32_t utf16_length(std::string_view text) {
  uint32_t length = 0;
  for (char c : text) length += units(c);
  return length;
}

Positions::Positions(std::string_view text) : text_(text), lines_{0} {
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1))
    lines_.push_back(static_cast<uint32_t>(end + 1));
  uint32_t units = 0;
  for (size_t begin = 0; begin <= text.size(); begin += kBlock) {
    units_.push_back(units);
    units += utf16_length(text.substr(begin, kBlock));
  }
}

uint32_t Positions::line_of(uint32_t offset) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), offset);
  return static_cast<uint32_t>(after - lines_.begin() - 1);
}

uint32_t Positions::column_of(uint32_t offset) const {
  return units_before(offset) - units_before(lines_[line_of(offset)]);
}

uint32_t Positions::units_before(uint32_t offset) const {
  const uint32_t block = offset / kBlock;
  return units_[block] + utf16_length(text_.substr(size_t{block} * kBlock, offset % kBlock));
}

Json Positions::position(uint32_t offset) const {
  return {{"line", line_of(offset)}, {"character", column_of(offset)}};
}

Json Positions::range(const support::Span& span) const {
  return {{"start", position(span.begin)}, {"end", position(span.end)}};
}

std::string path_of(const std::string& uri) {
  if (!uri.starts_with(kScheme)) return uri;
  std::string path;
  for (size_t i = kScheme.size(); i < uri.size(); ++i) {
    bool is_code = uri[i] == '%' && i + 2 < uri.size() && hex_digit(uri[i + 1]) >= 0 && hex_digit(uri[i + 2]) >= 0;
    path += is_code ? static_cast<char>(hex_digit(uri[i + 1]) * 16 + hex_digit(uri[i + 2])) : uri[i];
    if (is_code) i += 2;
  }
  return path;
}

std::string uri_of(const std::string& path) {
  if (!path.starts_with('/')) return path;
  std::string uri(kScheme);
  for (char c : path) {
    bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json start_of_file(const std::string& uri, const std::string& named) {
  const std::filesystem::path folder = std::filesystem::path(path_of(uri)).parent_path();
  const std::string path = (folder / named).lexically_normal().string();
  if (!path.starts_with('/')) return nullptr;
  return {{"uri", uri_of(path)}, {"range", range_of("", {})}};
}

}  // namespace collage::rules_tool::lsp
