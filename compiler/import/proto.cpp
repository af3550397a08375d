// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/proto.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <type_traits>

#include "runtime/core/text.h"
#include "runtime/io/element_formats.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/mapped_bytes.h"

namespace collage::import {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;
using runtime::DType;
using runtime::Result;
using runtime::Status;
using runtime::Tensor;

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

/// The most elements of one tensor.
constexpr int64_t kMostElements = int64_t{1} << 36;

/// Raw little-endian elements, packed where they are less than a byte, whose byte count was checked.
Tensor tensor_of_bytes(DType dtype, const runtime::Shape& shape, const char* bytes) {
  Tensor tensor = runtime::unpack(dtype, shape, bytes);
  if (dtype != DType::Bool) return tensor;
  for (uint8_t& flag : tensor.as<uint8_t>()) flag = flag != 0 ? 1 : 0;
  return tensor;
}

/// Elements that `int32_data` holds in their raw form: bytes of packed elements, or the bits of one float each.
int64_t int32s_of(DType dtype, int64_t count) {
  return runtime::packed_bits(dtype) < 8 ? static_cast<int64_t>(runtime::packed_bytes(dtype, count)) : count;
}

template <typename To, typename Field>
void copy_field(const Field& field, Tensor& tensor) {
  auto out = tensor.as<To>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<To>(field.Get(static_cast<int>(i)));
}

Status fill_from_fields(const TensorProto& proto, Tensor& tensor) {
  const DType dtype = tensor.dtype();
  int64_t have = proto.int32_data_size();
  int64_t want = int32s_of(dtype, tensor.count());
  if (dtype == DType::F32) have = proto.float_data_size();
  if (dtype == DType::F64) have = proto.double_data_size();
  if (dtype == DType::I64) have = proto.int64_data_size();
  if (dtype == DType::U32 || dtype == DType::U64) have = proto.uint64_data_size();
  if (have != want) {
    return Status::error(
        fmt::format("tensor `{}` of shape {} has {} elements", proto.name(), runtime::to_string(tensor.shape()), have));
  }
  if (runtime::packed_bits(dtype) < 8) {
    std::string bytes;
    for (int32_t byte : proto.int32_data()) bytes += static_cast<char>(byte);
    tensor = runtime::unpack(dtype, tensor.shape(), bytes.data());
    return Status::ok();
  }
  if (dtype == DType::Bool) {
    for (int64_t i = 0; i < have; ++i) {
      tensor.as<uint8_t>()[static_cast<size_t>(i)] = proto.int32_data(static_cast<int>(i)) != 0 ? 1 : 0;
    }
    return Status::ok();
  }
  with_element_type(dtype, [&]<typename T>(runtime::Type<T>) {
    if constexpr (std::is_same_v<T, float>) {
      copy_field<T>(proto.float_data(), tensor);
    } else if constexpr (std::is_same_v<T, double>) {
      copy_field<T>(proto.double_data(), tensor);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      copy_field<T>(proto.int64_data(), tensor);
    } else if constexpr (std::is_same_v<T, uint32_t> || std::is_same_v<T, uint64_t>) {
      copy_field<T>(proto.uint64_data(), tensor);
    } else if constexpr (runtime::kIsNarrowFloat<T>) {
      copy_field<typename T::Bits>(proto.int32_data(), tensor);
    } else {
      copy_field<T>(proto.int32_data(), tensor);
    }
  });
  return Status::ok();
}

struct ExternalRange {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;  ///< -1: as many as the shape needs
};

Result<ExternalRange> external_range(const TensorProto& proto) {
  ExternalRange range;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") range.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    int64_t number = 0;
    const char* end = entry.value().data() + entry.value().size();
    auto [at, problem] = std::from_chars(entry.value().data(), end, number);
    if (problem != std::errc() || at != end || number < 0) {
      return Status::error(
          fmt::format("external data of `{}`: {} `{}` is not a size", proto.name(), entry.key(), entry.value()));
    }
    (entry.key() == "offset" ? range.offset : range.length) = number;
  }
  return range;
}

/// Returns whether the path is relative and without `..`: a model must not read files outside its folder.
bool stays_inside(const std::string& location) {
  std::filesystem::path path(location);
  if (location.empty() || path.is_absolute()) return false;
  for (const auto& part : path) {
    if (part == "..") return false;
  }
  return true;
}

/// A file of external data that has the `need` bytes at `offset`.
struct ExternalBytes {
  runtime::Descriptor file;
  uint64_t offset = 0;
  std::string path;
};

/// Opens where a tensor is stored in a separate file, if the model may read it.
Result<ExternalBytes> open_external(const TensorProto& proto, const ExternalData& external, uint64_t need) {
  Result<ExternalRange> range = external_range(proto);
  if (!range) return range.status();
  auto fail = [&proto](const std::string& why) {
    return Status::error(fmt::format("external data of `{}`: {}", proto.name(), why));
  };
  const std::filesystem::path path = std::filesystem::path(external.folder) / range->location;
  const support::FileAccess none;
  const support::FileAccess& access = external.access == nullptr ? none : *external.access;
  const auto outside = [&] {
    return fail(fmt::format("location `{}` is not inside the model's folder", range->location));
  };
  if (range->location.empty() || (!stays_inside(range->location) && !access.allows_outside())) return outside();
  if (range->length >= 0 && static_cast<uint64_t>(range->length) != need) {
    return fail(fmt::format("{} bytes for a tensor of {}", range->length, need));
  }
  Result<runtime::Descriptor> file = access.open(path.string(), external.folder);
  if (!file && file.message() == support::kOutside) return outside();
  if (!file) return fail(fmt::format("cannot read `{}`: {}", path.string(), file.message()));
  struct stat about {};
  if (::fstat(file->get(), &about) != 0)
    return fail(fmt::format("cannot read `{}`: {}", path.string(), std::strerror(errno)));
  const auto size = static_cast<uint64_t>(about.st_size);
  auto offset = static_cast<uint64_t>(range->offset);
  if (offset > size || need > size - offset) {
    return fail(fmt::format("{} bytes at {} of a file of {}", need, offset, size));
  }
  return ExternalBytes{std::move(*file), offset, path.string()};
}

/// Large tensors as the file has them, so that the system need not keep in memory what is not being read.
bool can_map(DType dtype, uint64_t offset, uint64_t need) {
  constexpr uint64_t kLeastMapped = uint64_t{16} << 20;
  return need >= kLeastMapped && dtype != DType::Bool && runtime::packed_bits(dtype) >= 8 &&
         offset % runtime::kTensorAlignment == 0;
}

/// Reads a tensor of `need` bytes that is stored in a separate file. Allocates only after the file is known to have
/// them.
Result<Tensor> external_tensor(const TensorProto& proto, DType dtype, const runtime::Shape& shape, uint64_t need,
                               const ExternalData& external) {
  Result<ExternalBytes> from = open_external(proto, external, need);
  if (!from) return from.status();
  if (can_map(dtype, from->offset, need)) {
    auto elements = runtime::map_bytes(from->file, from->offset, need, runtime::Paging::WhenTouched);
    if (elements) return Tensor(dtype, shape, std::move(*elements));
  }
  std::string bytes(need, '\0');
  for (size_t done = 0; done < need;) {
    const ssize_t got =
        ::pread(from->file.get(), bytes.data() + done, need - done, static_cast<off_t>(from->offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return Status::error(fmt::format("external data of `{}`: cannot read `{}`", proto.name(), from->path));
    done += static_cast<size_t>(got);
  }
  return tensor_of_bytes(dtype, shape, bytes.data());
}

/// The most elements that the message itself could hold: a claimed shape is trusted only as far as there is data for
/// it.
int64_t elements_present(const TensorProto& proto, DType dtype) {
  const int64_t per_byte = std::max<int64_t>(1, 8 / runtime::packed_bits(dtype));
  if (proto.has_raw_data()) {
    return static_cast<int64_t>(proto.raw_data().size() / size_of(dtype)) * per_byte;
  }
  return std::max<int64_t>({proto.float_data_size(), proto.int32_data_size() * per_byte, proto.int64_data_size(),
                            proto.double_data_size(), proto.uint64_data_size()});
}

/// Returns whether the field of the kind `type` is set.
bool holds(const AttributeProto& proto, AttributeProto::AttributeType type) {
  switch (type) {
    case AttributeProto::FLOAT: return proto.has_f();
    case AttributeProto::INT: return proto.has_i();
    case AttributeProto::STRING: return proto.has_s();
    case AttributeProto::TENSOR: return proto.has_t();
    case AttributeProto::FLOATS: return proto.floats_size() > 0;
    case AttributeProto::INTS: return proto.ints_size() > 0;
    case AttributeProto::STRINGS: return proto.strings_size() > 0;
    default: return true;
  }
}

/// The first kind whose field is set; UNDEFINED if none is that an operator of a graph can have.
AttributeProto::AttributeType type_held(const AttributeProto& proto) {
  for (const auto type : {AttributeProto::FLOAT, AttributeProto::INT, AttributeProto::STRING, AttributeProto::TENSOR,
                          AttributeProto::FLOATS, AttributeProto::INTS, AttributeProto::STRINGS}) {
    if (holds(proto, type)) return type;
  }
  return AttributeProto::UNDEFINED;
}

Status parse_stream(google::protobuf::io::CodedInputStream& coded, google::protobuf::MessageLite& message) {
  coded.SetTotalBytesLimit(INT_MAX);
  if (message.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage()) return Status::ok();
  return Status::error(
      fmt::format("is damaged near byte {}, or is not a protobuf file of this kind", coded.CurrentPosition()));
}

}  // namespace

Status parse_file(const std::string& path, google::protobuf::MessageLite& message) {
  const Result<runtime::Descriptor> file = runtime::open_to_read(path);
  if (!file) return Status::error(fmt::format("cannot read: {}", file.message()));
  google::protobuf::io::FileInputStream stream(file->get());
  google::protobuf::io::CodedInputStream coded(&stream);
  Status status = parse_stream(coded, message);
  if (stream.GetErrno() != 0) return Status::error(fmt::format("cannot read: {}", std::strerror(stream.GetErrno())));
  return status;
}

Status parse_bytes(std::string_view bytes, google::protobuf::MessageLite& message) {
  if (bytes.size() > INT_MAX) {
    return Status::error(fmt::format("has {} bytes, more than a message of protobuf can have", bytes.size()));
  }
  google::protobuf::io::CodedInputStream coded(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  return parse_stream(coded, message);
}

std::optional<DType> dtype_of(int element) {
  return runtime::dtype_of_onnx(element);
}

std::string element_name(int element) {
  if (!onnx::TensorProto_DataType_IsValid(element)) return fmt::format("element type {}", element);
  return onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(element));
}

int element_of(DType dtype) {
  return runtime::onnx_of(dtype);
}

onnx::TensorProto header_of(const Tensor& tensor, const std::string& name) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(element_of(tensor.dtype()));
  for (int64_t dim : tensor.shape()) proto.add_dims(dim);
  return proto;
}

onnx::TensorProto proto_of(const Tensor& tensor, const std::string& name) {
  TensorProto proto = header_of(tensor, name);
  proto.set_raw_data(runtime::pack(tensor));
  return proto;
}

std::optional<int64_t> element_count_of(const runtime::Shape& shape) {
  int64_t count = 1;
  bool is_empty = false;
  for (int64_t dim : shape) {
    if (dim < 0 || (dim > 0 && count > kMostElements / dim)) return std::nullopt;
    is_empty = is_empty || dim == 0;
    if (dim > 0) count *= dim;
  }
  return is_empty ? 0 : count;
}

Result<Tensor> tensor_of(const TensorProto& proto, const ExternalData& external) {
  std::optional<DType> dtype = dtype_of(proto.data_type());
  if (!dtype) {
    return Status::error(fmt::format("tensor `{}` has elements of {}, which are not supported", proto.name(),
                                     element_name(proto.data_type())));
  }
  if (proto.has_segment()) return Status::error(fmt::format("tensor `{}` is stored in segments", proto.name()));
  runtime::Shape shape(proto.dims().begin(), proto.dims().end());
  const std::optional<int64_t> count = element_count_of(shape);
  if (!count) {
    return Status::error(
        fmt::format("tensor `{}` has the impossible shape {}", proto.name(), runtime::to_string(shape)));
  }
  bool is_external = proto.data_location() == TensorProto::EXTERNAL;
  uint64_t need = runtime::packed_bytes(*dtype, *count);
  if (!is_external && proto.has_raw_data() && proto.raw_data().size() != need) {
    return Status::error(fmt::format("tensor `{}` of shape {} has {} bytes of data, needs {}", proto.name(),
                                     runtime::to_string(shape), proto.raw_data().size(), need));
  }
  if (!is_external && elements_present(proto, *dtype) < *count) {
    return Status::error(fmt::format("tensor `{}` of shape {} has {} elements", proto.name(), runtime::to_string(shape),
                                     elements_present(proto, *dtype)));
  }
  if (is_external) return external_tensor(proto, *dtype, shape, need, external);
  if (proto.has_raw_data()) return tensor_of_bytes(*dtype, shape, proto.raw_data().data());
  Tensor tensor(*dtype, shape);
  Status status = fill_from_fields(proto, tensor);
  if (!status) return status;
  return tensor;
}

Result<runtime::AttrValue> attribute_of(const AttributeProto& proto, const ExternalData& external) {
  using runtime::AttrValue;
  if (proto.has_ref_attr_name() && !proto.ref_attr_name().empty()) {
    return Status::error(fmt::format("attribute `{}` refers to an attribute of a function", proto.name()));
  }
  // Models before IR version 2 do not state the type: the field that is set implies it.
  const auto held = type_held(proto);
  const auto type = proto.type() == AttributeProto::UNDEFINED ? held : proto.type();
  if (held != AttributeProto::UNDEFINED && !holds(proto, type)) {
    return Status::error(fmt::format("attribute `{}` states the kind {}, and its value is of kind {}", proto.name(),
                                     onnx::AttributeProto_AttributeType_Name(type),
                                     onnx::AttributeProto_AttributeType_Name(held)));
  }
  switch (type) {
    case AttributeProto::FLOAT: return AttrValue(runtime::shortest_double(proto.f()));
    case AttributeProto::INT: return AttrValue(int64_t{proto.i()});
    case AttributeProto::STRING: return AttrValue(proto.s());
    case AttributeProto::INTS: return AttrValue(runtime::Ints(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS: return AttrValue(runtime::Strings(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::FLOATS: {
      runtime::Floats floats;
      for (float value : proto.floats()) floats.push_back(runtime::shortest_double(value));
      return AttrValue(std::move(floats));
    }
    case AttributeProto::TENSOR: {
      Result<Tensor> tensor = tensor_of(proto.t(), external);
      if (!tensor) return tensor.status();
      return AttrValue(std::move(*tensor));
    }
    default:
      return Status::error(fmt::format("attribute `{}` is of kind {}, which is not supported", proto.name(),
                                       onnx::AttributeProto_AttributeType_Name(type)));
  }
}

}  // namespace collage::import
