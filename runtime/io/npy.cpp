// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/npy.h"

#include <charconv>
#include <cstring>

#include "runtime/io/element_formats.h"
#include "runtime/io/file_bytes.h"

namespace collage::runtime {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyType {
  std::string_view descr;
  DType dtype;
  size_t width;
};

constexpr NpyType kNpyTypes[] = {
#define DTYPE(Id, word, T, NAME, onnx, npy) {sizeof(T) == 1 ? "|" npy : "<" npy, DType::Id, sizeof(T)},
#include "runtime/core/dtypes.def"
};

/// A dtype that these files do not have has only a byte order.
constexpr size_t kDescrLength = 3;

const NpyType* find_type(std::string_view descr) {
  for (const NpyType& row : kNpyTypes) {
    if (row.descr.size() != kDescrLength || descr.size() != kDescrLength) continue;
    // One-byte types have no byte order, and some writers give them one.
    if (row.descr == descr || (row.width == 1 && row.descr.substr(1) == descr.substr(1))) return &row;
  }
  return nullptr;
}

/// The text after `'key':` in the header, which is a Python dict literal.
std::optional<std::string_view> field(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = quote + std::string(key) + quote;
    size_t at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    at = header.find_first_not_of(" :", at + quoted.size());
    if (at != std::string_view::npos) return header.substr(at);
  }
  return std::nullopt;
}

/// `(3, 4)`, `(3,)`, `()`
std::optional<Shape> parse_shape(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  size_t close = text.find(')');
  if (close == std::string_view::npos) return std::nullopt;
  text = text.substr(1, close - 1);
  Shape shape;
  while (true) {
    size_t at = text.find_first_not_of(" ,");
    if (at == std::string_view::npos) return shape;
    text.remove_prefix(at);
    int64_t dim = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc() || dim < 0 || shape.size() >= 64) return std::nullopt;
    shape.push_back(dim);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.starts_with('L')) text.remove_prefix(1);  // written by Python 2
  }
}

/// Column-major elements of `shape` => row-major.
Tensor from_fortran_order(const Tensor& reversed, const Shape& shape) {
  Tensor result(reversed.dtype(), shape);
  size_t width = size_of(reversed.dtype());
  std::vector<int64_t> index(shape.size(), 0);
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d) strides[d] = strides[d - 1] * shape[d - 1];
  int64_t source = 0;
  for (int64_t i = 0; i < result.count(); ++i) {
    std::memcpy(result.data() + static_cast<size_t>(i) * width, reversed.data() + static_cast<size_t>(source) * width,
                width);
    for (size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

size_t little_endian(std::string_view bytes) {
  size_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

Result<Tensor> parse_npy(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return Status::error("not a .npy file");
  int version = bytes[6];
  if (version < 1 || version > 3) return Status::error("unknown .npy version " + std::to_string(version));
  size_t width = version == 1 ? 2 : 4;
  size_t header_bytes = little_endian(bytes.substr(8, width));
  if (header_bytes > bytes.size() - 8 - width) return Status::error("the .npy header is cut off");
  std::string_view header = bytes.substr(8 + width, header_bytes);
  std::string_view data = bytes.substr(8 + width + header_bytes);

  auto descr = field(header, "descr");
  auto order = field(header, "fortran_order");
  auto shape_text = field(header, "shape");
  if (!descr || !order || !shape_text) return Status::error("the .npy header lacks descr, fortran_order or shape");
  std::string_view type = descr->size() > 1 ? descr->substr(1, descr->find(descr->front(), 1) - 1) : std::string_view();
  const NpyType* row = find_type(type);
  if (row == nullptr)
    return Status::error(".npy element type '" + std::string(type.substr(0, 20)) + "' is not supported");
  std::optional<Shape> shape = parse_shape(*shape_text);
  if (!shape) return Status::error("the .npy shape is malformed");
  std::optional<size_t> needed = checked_bytes(*shape, row->width);
  if (!needed || *needed != data.size()) {
    return Status::error("the .npy file has " + std::to_string(data.size()) + " bytes of elements, shape " +
                         to_string(*shape) + " needs " + (needed ? std::to_string(*needed) : "more than 1 TiB"));
  }
  Tensor tensor = tensor_from_bytes(row->dtype, *shape, data.data());
  bool is_fortran = order->starts_with("True");
  return is_fortran && shape->size() > 1 ? from_fortran_order(tensor, *shape) : tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.status();
  Result<Tensor> tensor = parse_npy(*bytes);
  if (!tensor) return Status::error("'" + path + "': " + tensor.message());
  return tensor;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  std::string_view descr;
  for (const NpyType& row : kNpyTypes) {
    if (row.dtype == tensor.dtype()) descr = row.descr;
  }
  if (descr.size() != kDescrLength) {
    return Status::error("a .npy file has no element type for " + std::string(name_of(tensor.dtype())));
  }
  std::string shape;
  for (int64_t dim : tensor.shape()) shape += std::to_string(dim) + ", ";
  if (tensor.shape().size() > 1) shape.resize(shape.size() - 2);
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Magic, version and length take 10 bytes; elements start at a multiple of 64.
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;
  return write_file(path, {start, {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()}});
}

}  // namespace collage::runtime
