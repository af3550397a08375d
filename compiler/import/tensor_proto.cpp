// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor_proto.h"

#include <fmt/format.h>

#include <filesystem>

#include "compiler/import/proto.h"
#include "runtime/io/file_bytes.h"

namespace collage::import {
namespace {

using runtime::DType;
using runtime::Result;
using runtime::Status;

int element_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return onnx::TensorProto::FLOAT;
    case DType::F64: return onnx::TensorProto::DOUBLE;
    case DType::I8: return onnx::TensorProto::INT8;
    case DType::U8: return onnx::TensorProto::UINT8;
    case DType::I16: return onnx::TensorProto::INT16;
    case DType::I32: return onnx::TensorProto::INT32;
    case DType::I64: return onnx::TensorProto::INT64;
    case DType::Bool: return onnx::TensorProto::BOOL;
  }
  return onnx::TensorProto::UNDEFINED;
}

}  // namespace

Result<runtime::Tensor> read_tensor_pb(const std::string& path) {
  onnx::TensorProto proto;
  Status status = parse_file(path, proto);
  if (!status) return Status::error(fmt::format("{}: {}", path, status.message()));
  Result<runtime::Tensor> tensor = tensor_of(proto, std::filesystem::path(path).parent_path().string());
  if (!tensor) return Status::error(fmt::format("{}: {}", path, tensor.message()));
  return tensor;
}

Status write_tensor_pb(const runtime::Tensor& tensor, const std::string& name, const std::string& path) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(element_of(tensor.dtype()));
  for (int64_t dim : tensor.shape()) proto.add_dims(dim);
  proto.set_raw_data(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) return Status::error(fmt::format("{}: the tensor is too large", path));
  return runtime::write_file(path, {bytes});
}

}  // namespace collage::import
