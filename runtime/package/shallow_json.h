// SPDX-License-Identifier: Apache-2.0
// JSON and CBOR from files: no input may exhaust the stack of the reader, which recurses.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

namespace collage::runtime {

/// Returns nullopt for bytes that are not one whole document, or that nest deeper than any plan does. May throw what
/// the standard library throws where memory ends.
std::optional<nlohmann::json> parse_shallow(std::span<const char> bytes, nlohmann::json::input_format_t format);

}  // namespace collage::runtime
