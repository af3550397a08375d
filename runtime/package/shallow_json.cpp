// SPDX-License-Identifier: Apache-2.0
#include "runtime/package/shallow_json.h"

namespace collage::runtime {
namespace {

using nlohmann::json;

constexpr int kMostDepth = 64;

/// Reads to the end, unless something is wrong before.
class DepthGuard : public json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, const json::string_t&) override { return true; }
  bool string(json::string_t&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMostDepth; }
  bool key(json::string_t&) override { return true; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return ++depth_ <= kMostDepth; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  int depth_ = 0;
};

}  // namespace

std::optional<json> parse_shallow(std::span<const char> bytes, json::input_format_t format) {
  DepthGuard guard;
  if (!json::sax_parse(bytes.begin(), bytes.end(), &guard, format)) return std::nullopt;
  json document = format == json::input_format_t::json ? json::parse(bytes.begin(), bytes.end(), nullptr, false)
                                                       : json::from_cbor(bytes.begin(), bytes.end(), true, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

}  // namespace collage::runtime
