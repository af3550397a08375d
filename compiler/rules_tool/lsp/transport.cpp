// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/transport.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>

namespace collage::rules_tool::lsp {
namespace {

constexpr size_t kMostHeader = 4096;
constexpr size_t kMostBody = size_t{64} << 20;

struct Header {
  std::optional<size_t> length;
  std::string why;      ///< why it is not a header
  size_t left_out = 0;  ///< bytes of a body that is too large to read
  bool is_end = false;
};

/// A line without its end; cut where it is longer than a header may be. Nothing at the end of the input.
std::optional<std::string> read_line(std::istream& in) {
  std::string line;
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return line;
    }
    if (line.size() < kMostHeader) line += static_cast<char>(c);
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

Header read_header(std::istream& in) {
  Header header;
  while (true) {
    std::optional<std::string> line = read_line(in);
    header.is_end = !line;
    if (!line || line->empty()) return header;
    size_t colon = line->find(':');
    if (colon == std::string::npos) {
      header.why = "a header line has no colon";
      continue;
    }
    if (lower(line->substr(0, colon)) != "content-length") continue;
    size_t begin = line->find_first_not_of(" \t", colon + 1);
    std::string_view digits = begin == std::string::npos ? "" : std::string_view(*line).substr(begin);
    size_t length = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    bool is_number = error == std::errc() && end == digits.data() + digits.size();
    if (is_number && length <= kMostBody) {
      header.length = length;
    } else if (error == std::errc::result_out_of_range || is_number) {
      header.why = "the message is too large";
      header.left_out = is_number ? length : 0;
    } else {
      header.why = "Content-Length is not a number";
    }
  }
}

/// Leaves out the next bytes, as far as there are any.
void leave_out(std::istream& in, size_t count) {
  constexpr auto kMost = static_cast<size_t>(std::numeric_limits<std::streamsize>::max() - 1);
  in.ignore(static_cast<std::streamsize>(std::min(count, kMost)));
}

}  // namespace

Incoming read_message(std::istream& in) {
  Header header = read_header(in);
  if (!header.why.empty()) {
    leave_out(in, header.left_out);
    return {Incoming::Kind::Bad, header.why};
  }
  if (header.is_end) return {};
  if (!header.length) return {Incoming::Kind::Bad, "a message has no Content-Length"};
  std::string body(*header.length, '\0');
  in.read(body.data(), static_cast<std::streamsize>(body.size()));
  if (static_cast<size_t>(in.gcount()) != body.size()) return {};
  return {Incoming::Kind::Message, std::move(body)};
}

void write_message(std::ostream& out, std::string_view body) {
  out << "Content-Length: " << body.size() << "\r\n\r\n" << body << std::flush;
}

}  // namespace collage::rules_tool::lsp
