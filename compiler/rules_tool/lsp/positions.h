// SPDX-License-Identifier: Apache-2.0
// Places in a text as the language server protocol counts them: lines from 0, columns in UTF-16 units from 0.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/source_manager.h"

namespace collage::rules_tool::lsp {

using Json = nlohmann::json;

/// `{line, character}` => offset. A place after the end of a line is its end, one after the text the end of the text.
uint32_t offset_at(std::string_view text, const Json& position);

Json position_of(std::string_view text, uint32_t offset);
Json range_of(std::string_view text, const support::Span& span);

/// Length of a text in UTF-16 units.
uint32_t utf16_length(std::string_view text);

/// The places of one text, for many questions: the lines are looked for once.
class Positions {
 public:
  /// `text` must outlive it.
  explicit Positions(std::string_view text);

  uint32_t line_of(uint32_t offset) const;
  /// The column in UTF-16 units; as fast in a line of megabytes.
  uint32_t column_of(uint32_t offset) const;
  Json range(const support::Span& span) const;

 private:
  Json position(uint32_t offset) const;
  /// UTF-16 units of the text before a place.
  uint32_t units_before(uint32_t offset) const;

  static constexpr uint32_t kBlock = 256;

  std::string_view text_;
  std::vector<uint32_t> lines_;  ///< where each begins
  std::vector<uint32_t> units_;  ///< UTF-16 units before each block of `kBlock` bytes
};

/// `file:///a%20b.rules` => `/a b.rules`; other URIs stay as they are. And back.
std::string path_of(const std::string& uri);
std::string uri_of(const std::string& path);

/// `Location` of the start of a file that the document `uri` names, `include "a.rules"`; null if the document is in no
/// folder.
Json start_of_file(const std::string& uri, const std::string& named);

}  // namespace collage::rules_tool::lsp
