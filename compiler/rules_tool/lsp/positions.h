// SPDX-License-Identifier: Apache-2.0
// Places in a text as the language server protocol counts them: lines from 0, columns in UTF-16 units from 0.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "compiler/support/source_manager.h"

namespace collage::rules_tool::lsp {

using Json = nlohmann::json;

/// `{line, character}` => offset. A place after the end of a line is its end, one after the text the end of the text.
uint32_t offset_at(std::string_view text, const Json& position);

Json position_of(std::string_view text, uint32_t offset);
Json range_of(std::string_view text, const support::Span& span);

/// `file:///a%20b.rules` => `/a b.rules`; other URIs stay as they are. And back.
std::string path_of(const std::string& uri);
std::string uri_of(const std::string& path);

}  // namespace collage::rules_tool::lsp
