// SPDX-License-Identifier: Apache-2.0
// A chain works on blocks of bytes. Each link knows the element size and shape of what it is given, so decoding first
// works out the shapes from left to right, then undoes the links from right to left.
#include "runtime/encodings/encodings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "runtime/core/checked_size.h"
#include "runtime/core/text.h"

namespace collage::runtime {
namespace {

using Bytes = std::vector<std::byte>;

/// What a link of the chain is given. After `rle` there are only bytes: a shape of -1 dimensions.
struct Form {
  size_t element = 4;
  bool is_float = true;  ///< f32
  Shape shape;
  bool is_packed = false;  ///< the number of bytes depends on the data

  size_t bytes() const { return static_cast<size_t>(element_count(shape)) * element; }
};

struct Encoding {
  std::string_view name;
  std::vector<int> permutation;  ///< of a layout; otherwise empty
  Bytes (*encode)(const Bytes&) = nullptr;
  Result<Bytes> (*decode)(const Bytes&, size_t expected) = nullptr;
};

Bytes encode_bf16(const Bytes& from) {
  Bytes to(from.size() / 2);
  for (size_t i = 0; i < from.size() / 4; ++i) {
    float value;
    std::memcpy(&value, &from[4 * i], 4);
    value = round_to_bf16(value);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    auto half = static_cast<uint16_t>(bits >> 16);
    std::memcpy(&to[2 * i], &half, 2);
  }
  return to;
}

Result<Bytes> decode_bf16(const Bytes& from, size_t expected) {
  if (from.size() * 2 != expected) return Status::error("bf16: the number of bytes is wrong");
  Bytes to(expected);
  for (size_t i = 0; i < from.size() / 2; ++i) {
    uint16_t half;
    std::memcpy(&half, &from[2 * i], 2);
    uint32_t bits = static_cast<uint32_t>(half) << 16;
    std::memcpy(&to[4 * i], &bits, 4);
  }
  return to;
}

/// A run: its length in one byte, and the byte that is repeated.
constexpr size_t kLongestRun = 255, kRunBytes = 2;

/// Pairs of a count (1 to 255) and a byte: `00 00 00 7f => 03 00 01 7f`.
Bytes encode_rle(const Bytes& from) {
  Bytes to;
  for (size_t i = 0; i < from.size();) {
    size_t end = i + 1;
    while (end < from.size() && end - i < kLongestRun && from[end] == from[i]) ++end;
    to.push_back(static_cast<std::byte>(end - i));
    to.push_back(from[i]);
    i = end;
  }
  return to;
}

Result<Bytes> decode_rle(const Bytes& from, size_t expected) {
  Bytes to;
  if (from.size() % kRunBytes != 0) return Status::error("rle: a run without its byte");
  for (size_t i = 0; i < from.size(); i += kRunBytes) {
    auto count = static_cast<size_t>(from[i]);
    if (count == 0 || count > expected - to.size()) return Status::error("rle: a run of an impossible length");
    to.insert(to.end(), count, from[i + 1]);
  }
  if (to.size() != expected) return Status::error("rle: bytes are missing");
  return to;
}

const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> rows = {
#define COLLAGE_PERMUTED(name, rank, ...) {#name, {__VA_ARGS__}, nullptr, nullptr},
#define COLLAGE_ENCODING(name, encode, decode) {#name, {}, encode, decode},
#include "runtime/encodings/encoding_list.def"
#undef COLLAGE_ENCODING
#undef COLLAGE_PERMUTED
  };
  return rows;
}

const Encoding* find(std::string_view name) {
  for (const Encoding& row : encodings()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Shape permuted(const Shape& shape, const std::vector<int>& permutation) {
  Shape result;
  for (int dimension : permutation) result.push_back(shape[static_cast<size_t>(dimension)]);
  return result;
}

/// `shape` is that of `from`; `to`'s dimension i is its dimension permutation[i].
Bytes permute(const Bytes& from, const Shape& shape, size_t element, const std::vector<int>& permutation) {
  Bytes to(from.size());
  std::vector<size_t> strides(shape.size(), element);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<size_t>(shape[i]);
  Shape order = permuted(shape, permutation);
  Shape index(shape.size(), 0);
  for (size_t at = 0; at < to.size(); at += element) {
    size_t source = 0;
    for (size_t i = 0; i < index.size(); ++i)
      source += static_cast<size_t>(index[i]) * strides[static_cast<size_t>(permutation[i])];
    std::memcpy(&to[at], &from[source], element);
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < order[i]) break;
      index[i] = 0;
    }
  }
  return to;
}

std::vector<int> inverse(const std::vector<int>& permutation) {
  std::vector<int> result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[static_cast<size_t>(permutation[i])] = static_cast<int>(i);
  return result;
}

/// The form after the link, or the reason why the link cannot follow.
Result<Form> next_form(const Encoding& link, Form form) {
  std::string name(link.name);
  if (form.is_packed) return Status::error("`" + name + "` cannot follow `rle`");
  if (!link.permutation.empty()) {
    if (form.shape.size() != link.permutation.size()) {
      return Status::error("`" + name + "` needs " + std::to_string(link.permutation.size()) +
                           " dimensions, the constant has " + std::to_string(form.shape.size()));
    }
    form.shape = permuted(form.shape, link.permutation);
  } else if (link.name == "bf16") {
    if (!form.is_float) return Status::error("`bf16` needs a constant of f32");
    form.element = 2;
    form.is_float = false;
  } else {
    form.is_packed = true;
  }
  return form;
}

struct Link {
  const Encoding* encoding;
  Form before;
};

Result<std::vector<Link>> links_of(std::string_view chain, DType dtype, const Shape& shape) {
  Form form{size_of(dtype), dtype == DType::F32, shape, false};
  std::vector<Link> links;
  for (const std::string& name : split(std::string(chain), '+')) {
    const Encoding* encoding = find(name);
    if (encoding == nullptr) return Status::error("there is no encoding `" + name + "`");
    links.push_back({encoding, form});
    Result<Form> next = next_form(*encoding, form);
    if (!next) return next.status();
    form = std::move(*next);
  }
  return links;
}

}  // namespace

std::vector<std::string> encoding_names() {
  std::vector<std::string> names;
  for (const Encoding& row : encodings()) names.emplace_back(row.name);
  return names;
}

bool is_known_encoding(std::string_view name) {
  return find(name) != nullptr;
}

bool is_lossy(std::string_view chain) {
  std::vector<std::string> names = split(std::string(chain), '+');
  return std::find(names.begin(), names.end(), "bf16") != names.end();
}

std::string encoding_misfit(DType dtype, const Shape& shape, std::string_view chain) {
  Result<std::vector<Link>> links = links_of(chain, dtype, shape);
  return links ? "" : links.message();
}

size_t least_encoded_bytes(DType dtype, const Shape& shape, std::string_view chain) {
  const size_t plain = static_cast<size_t>(element_count(shape)) * size_of(dtype);
  const Result<std::vector<Link>> links = links_of(chain, dtype, shape);
  if (!links || links->empty()) return plain;
  const Link& last = links->back();
  const Result<Form> form = next_form(*last.encoding, last.before);
  if (!form) return plain;
  return form->is_packed ? (last.before.bytes() + kLongestRun - 1) / kLongestRun * kRunBytes : form->bytes();
}

Result<std::vector<std::byte>> encode_constant(const Tensor& constant, std::string_view chain) {
  Result<std::vector<Link>> links = links_of(chain, constant.dtype(), constant.shape());
  if (!links) return links.status();
  Bytes bytes(constant.data(), constant.data() + constant.bytes());
  for (const Link& link : *links) {
    bytes = link.encoding->permutation.empty()
                ? link.encoding->encode(bytes)
                : permute(bytes, link.before.shape, link.before.element, link.encoding->permutation);
  }
  return bytes;
}

Result<Tensor> decode_constant(std::span<const std::byte> bytes, DType dtype, const Shape& shape,
                               std::string_view chain) {
  if (!checked_bytes(dtype, shape)) return Status::error("a constant of an impossible shape");
  Result<std::vector<Link>> links = links_of(chain, dtype, shape);
  if (!links) return links.status();
  Bytes block(bytes.begin(), bytes.end());
  for (auto link = links->rbegin(); link != links->rend(); ++link) {
    size_t expected = link->before.bytes();
    if (!link->encoding->permutation.empty()) {
      if (block.size() != expected) return Status::error("the number of encoded bytes is wrong");
      block = permute(block, permuted(link->before.shape, link->encoding->permutation), link->before.element,
                      inverse(link->encoding->permutation));
      continue;
    }
    Result<Bytes> decoded = link->encoding->decode(block, expected);
    if (!decoded) return decoded.status();
    block = std::move(*decoded);
  }
  Tensor tensor(dtype, shape);
  if (block.size() != tensor.bytes()) return Status::error("the number of encoded bytes is wrong");
  std::copy(block.begin(), block.end(), tensor.data());
  return tensor;
}

float round_to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) {
    bits = (bits | 0x00400000U) & 0xffff0000U;
  } else {
    bits = (bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U;
  }
  std::memcpy(&value, &bits, 4);
  return value;
}

}  // namespace collage::runtime
