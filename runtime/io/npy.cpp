// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

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

std::string_view descr_of(DType dtype) {
  const NpyType* row = std::ranges::find(kNpyTypes, dtype, &NpyType::dtype);
  return row == std::end(kNpyTypes) ? std::string_view() : row->descr;
}

/// What the header says: a Python dict of exactly these three keys, in any order.
struct NpyHeader {
  std::optional<std::string> descr;
  std::optional<bool> is_fortran;
  std::optional<Shape> shape;
};

/// Reads the dict. Whatever numpy would not read is an error: a header with a damaged byte is not guessed at.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  std::optional<NpyHeader> read() {
    NpyHeader header;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const std::optional<std::string> key = read_string();
      if (!key || !take(':') || !read_value(*key, &header)) return std::nullopt;
      if (take(',')) continue;
      if (!take('}')) return std::nullopt;
      break;
    }
    skip_blanks();
    if (!rest_.empty()) return std::nullopt;
    return header;
  }

 private:
  bool read_value(const std::string& key, NpyHeader* header) {
    if (key == "descr" && !header->descr) {
      // `[('a', '<f4')]` describes records; its text becomes the unsupported type.
      header->descr = peek() == '[' ? read_list() : read_string();
      return header->descr.has_value();
    }
    if (key == "fortran_order" && !header->is_fortran) return read_bool(&header->is_fortran);
    if (key == "shape" && !header->shape) return read_shape(&header->shape);
    return false;
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  char peek() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> read_list() {
    const size_t end = rest_.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(0, end + 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::optional<std::string> read_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool read_bool(std::optional<bool>* value) {
    *value = take_word("True");
    return **value || take_word("False");
  }

  /// `(3, 4)`, `(3,)`, `()`; Python 2 wrote `(3L, 4L)`.
  bool read_shape(std::optional<Shape>* shape) {
    constexpr size_t kMostDimensions = 64;
    Shape& dims = shape->emplace();
    if (!take('(')) return false;
    bool has_comma = false;
    while (!take(')')) {
      int64_t dim = 0;
      skip_blanks();
      auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      if (error != std::errc() || dim < 0 || dims.size() == kMostDimensions) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      take_word("L");
      dims.push_back(dim);
      const bool goes_on = take(',');
      has_comma = has_comma || goes_on;
      if (!goes_on && peek() != ')') return false;
    }
    return dims.size() != 1 || has_comma;  // `(3)` is a number
  }

  std::string_view rest_;
};

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

  const std::optional<NpyHeader> read = HeaderReader(header).read();
  if (!read || !read->descr || !read->is_fortran || !read->shape)
    return Status::error("the .npy header is damaged: it holds descr, fortran_order and shape, and nothing else");
  const std::string_view type = *read->descr;
  const NpyType* row = find_type(type);
  if (row == nullptr)
    return Status::error(".npy element type '" + std::string(type.substr(0, 20)) + "' is not supported");
  const std::optional<Shape>& shape = read->shape;
  std::optional<size_t> needed = checked_bytes(*shape, row->width);
  if (!needed || *needed != data.size()) {
    return Status::error("the .npy file has " + std::to_string(data.size()) + " bytes of elements, shape " +
                         to_string(*shape) + " needs " + (needed ? std::to_string(*needed) : "more than 1 TiB"));
  }
  Tensor tensor = tensor_from_bytes(row->dtype, *shape, data.data());
  return *read->is_fortran && shape->size() > 1 ? from_fortran_order(tensor, *shape) : tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.status();
  Result<Tensor> tensor = parse_npy(*bytes);
  if (!tensor) return Status::error("'" + path + "': " + tensor.message());
  return tensor;
}

bool has_npy_type(DType dtype) {
  return descr_of(dtype).size() == kDescrLength;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  const std::string_view descr = descr_of(tensor.dtype());
  if (!has_npy_type(tensor.dtype())) {
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
