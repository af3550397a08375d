// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/io/element_formats.h"
#include "runtime/io/file_bytes.h"

namespace collage::runtime {
namespace {

using nlohmann::json;

/// The format's own limit.
constexpr size_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxHeaderDepth = 8;
constexpr size_t kMaxRank = 64;

struct SafetensorsType {
  std::string_view name;
  DType dtype;
  size_t width;
};

constexpr SafetensorsType kSafetensorsTypes[] = {
#define DTYPE(Id, word, T, NAME, onnx, npy) {#NAME, DType::Id, sizeof(T)},
#include "runtime/core/dtypes.def"
};

/// Elements of less than a byte are packed in these files in ways that are not settled.
bool has_whole_bytes(DType dtype) {
  return packed_bits(dtype) >= 8;
}

/// The parser of JSON and the destructor of its result recurse; this keeps both shallow.
bool is_deeper_than(std::string_view text, size_t limit) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > limit) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

std::optional<std::vector<int64_t>> int_list(const json& entry, const char* key) {
  auto it = entry.find(key);
  if (it == entry.end() || !it->is_array()) return std::nullopt;
  std::vector<int64_t> list;
  for (const json& item : *it) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > uint64_t{1} << 48) return std::nullopt;
    list.push_back(item.get<int64_t>());
  }
  return list;
}

/// Bytes of the data that a tensor takes.
using Extent = std::pair<size_t, size_t>;

/// The format has no holes and no tensors that share bytes.
bool is_gapless(std::vector<Extent> extents, size_t bytes) {
  std::sort(extents.begin(), extents.end());
  size_t at = 0;
  for (const auto& [begin, end] : extents) {
    if (begin != at) return false;
    at = end;
  }
  return at == bytes;
}

Result<Tensor> read_entry(const std::string& name, const json& entry, std::string_view data,
                          std::vector<Extent>* extents) {
  auto fail = [&](const std::string& what) { return Status::error("tensor '" + name + "': " + what); };
  if (!entry.is_object()) return fail("its header entry is no object");
  auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) return fail("no dtype");
  const auto& type_name = dtype->get_ref<const std::string&>();
  const SafetensorsType* type = nullptr;
  for (const SafetensorsType& row : kSafetensorsTypes) {
    if (row.name == type_name && has_whole_bytes(row.dtype)) type = &row;
  }
  if (type == nullptr) return fail("dtype " + type_name.substr(0, 20) + " is not supported");
  auto shape = int_list(entry, "shape");
  auto offsets = int_list(entry, "data_offsets");
  if (!shape || shape->size() > kMaxRank) return fail("its shape is malformed");
  if (!offsets || offsets->size() != 2) return fail("its data_offsets are malformed");
  auto begin = static_cast<size_t>((*offsets)[0]);
  auto end = static_cast<size_t>((*offsets)[1]);
  if (begin > end || end > data.size()) return fail("its data_offsets lie outside the file");
  std::optional<size_t> needed = checked_bytes(*shape, type->width);
  if (!needed || *needed != end - begin)
    return fail("its shape " + to_string(*shape) + " does not fit its data_offsets");
  extents->emplace_back(begin, end);
  return tensor_from_bytes(type->dtype, *shape, data.data() + begin);
}

}  // namespace

Result<NamedTensors> parse_safetensors(std::string_view bytes) {
  if (bytes.size() < 8) return Status::error("not a .safetensors file");
  uint64_t header_bytes = 0;
  for (size_t i = 8; i-- > 0;) header_bytes = header_bytes << 8 | static_cast<unsigned char>(bytes[i]);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - 8) {
    return Status::error("not a .safetensors file, or its header is cut off");
  }
  std::string_view header = bytes.substr(8, header_bytes);
  std::string_view data = bytes.substr(8 + header_bytes);
  if (is_deeper_than(header, kMaxHeaderDepth)) return Status::error("the .safetensors header nests too deep");
  json root = json::parse(header, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return Status::error("the .safetensors header is no JSON object");
  NamedTensors tensors;
  std::vector<Extent> extents;
  for (const auto& [name, entry] : root.items()) {
    if (name == "__metadata__") continue;
    Result<Tensor> tensor = read_entry(name, entry, data, &extents);
    if (!tensor) return tensor.status();
    tensors.emplace(name, *tensor);
  }
  if (!is_gapless(std::move(extents), data.size()))
    return Status::error("its tensors leave bytes out, or share some: the file is damaged");
  return tensors;
}

Result<NamedTensors> read_safetensors(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.status();
  Result<NamedTensors> tensors = parse_safetensors(*bytes);
  if (!tensors) return Status::error("'" + path + "': " + tensors.message());
  return tensors;
}

Result<FileReplacement> stage_safetensors(const std::string& path, const NamedTensors& tensors) {
  json root = json::object();
  std::vector<std::span<const char>> pieces(1);
  size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    std::string_view type_name;
    for (const SafetensorsType& row : kSafetensorsTypes) {
      if (row.dtype == tensor.dtype() && has_whole_bytes(row.dtype)) type_name = row.name;
    }
    if (type_name.empty()) {
      return Status::error("a .safetensors file has no element type for " + std::string(name_of(tensor.dtype())));
    }
    root[name] = {{"dtype", type_name}, {"shape", tensor.shape()}, {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
    pieces.emplace_back(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  }
  // Names need not be UTF-8; whatever is not is replaced, rather than thrown at.
  std::string header = root.dump(-1, ' ', false, json::error_handler_t::replace);
  header.resize((header.size() + 7) / 8 * 8, ' ');  // elements are aligned to 8 bytes
  std::string start;
  for (size_t i = 0; i < 8; ++i) start += static_cast<char>(header.size() >> (8 * i) & 0xff);
  start += header;
  pieces[0] = start;
  return FileReplacement::write(path, pieces);
}

Status write_safetensors(const std::string& path, const NamedTensors& tensors) {
  Result<FileReplacement> file = stage_safetensors(path, tensors);
  Status status = file ? file->commit() : file.status();
  return status ? status : Status::error("cannot write '" + path + "': " + status.message());
}

}  // namespace collage::runtime
