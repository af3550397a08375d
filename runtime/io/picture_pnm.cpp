// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <optional>

#include "runtime/io/picture_formats.h"

namespace collage::runtime {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/// The next decimal number, after white space and comments (`# …` to the end of the line).
std::optional<int64_t> next_number(std::string_view& text) {
  for (;;) {
    while (!text.empty() && is_space(text[0])) text.remove_prefix(1);
    if (text.empty() || text[0] != '#') break;
    size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  }
  int64_t number = 0;
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

Result<Tensor> decode_pnm(std::string_view bytes) {
  char kind = bytes[1];
  int64_t channels = kind == '3' || kind == '6' ? 3 : 1;
  std::string_view text = bytes.substr(2);
  std::optional<int64_t> width = next_number(text);
  std::optional<int64_t> height = width ? next_number(text) : std::nullopt;
  std::optional<int64_t> top = height ? next_number(text) : std::nullopt;
  if (!top || *width < 1 || *height < 1 || *top < 1 || *top > 65535) return Status::error("damaged PNM: bad header");
  if (*width > kMostPixels || *height > kMostPixels / *width) return Status::error("the picture is too large");
  int64_t count = *width * *height * channels;
  bool is_binary = kind == '5' || kind == '6';
  int64_t width_of_value = *top > 255 ? 2 : 1;
  if (is_binary) {
    if (text.empty() || !is_space(text[0])) return Status::error("damaged PNM: bad header");
    text.remove_prefix(1);
    if (static_cast<int64_t>(text.size()) < count * width_of_value) return Status::error("damaged PNM: it ends early");
  } else if (static_cast<int64_t>(text.size()) < count) {
    return Status::error("damaged PNM: it ends early");
  }
  Tensor picture(DType::U8, {*height, *width, channels});
  auto out = picture.as<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = 0;
    if (is_binary) {
      auto byte = [text](int64_t at) {
        return static_cast<int64_t>(static_cast<uint8_t>(text[static_cast<size_t>(at)]));
      };
      value = width_of_value == 1 ? byte(i) : byte(2 * i) * 256 + byte(2 * i + 1);
    } else {
      std::optional<int64_t> number = next_number(text);
      if (!number) return Status::error("damaged PNM: it ends early");
      value = *number;
    }
    if (value > *top) return Status::error("damaged PNM: a value is larger than the header says");
    out[static_cast<size_t>(i)] = static_cast<uint8_t>((value * 255 + *top / 2) / *top);
  }
  return picture;
}

}  // namespace collage::runtime
