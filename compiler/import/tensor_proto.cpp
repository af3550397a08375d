// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor_proto.h"

#include <fmt/format.h>

#include <filesystem>

#include "compiler/import/proto.h"
#include "runtime/io/file_bytes.h"

namespace collage::import {

using runtime::Result;
using runtime::Status;

Result<runtime::Tensor> read_tensor_pb(const std::string& path) {
  onnx::TensorProto proto;
  Status status = parse_file(path, proto);
  if (!status) return Status::error(fmt::format("{}: {}", path, status.message()));
  Result<runtime::Tensor> tensor = tensor_of(proto, std::filesystem::path(path).parent_path().string());
  if (!tensor) return Status::error(fmt::format("{}: {}", path, tensor.message()));
  return tensor;
}

Status write_tensor_pb(const runtime::Tensor& tensor, const std::string& name, const std::string& path) {
  std::string bytes;
  if (!proto_of(tensor, name).SerializeToString(&bytes))
    return Status::error(fmt::format("{}: the tensor is too large", path));
  return runtime::write_file(path, {bytes});
}

}  // namespace collage::import
