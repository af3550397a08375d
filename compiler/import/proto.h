// SPDX-License-Identifier: Apache-2.0
// ONNX's protobuf messages <-> our tensors and attributes. For this folder and `export/` only.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/attributes.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/support/file_access.h"

namespace collage::import {

/// Reads a whole message. Damaged bytes give a failure, never a crash.
runtime::Status parse_file(const std::string& path, google::protobuf::MessageLite& message);
/// The same for a message in memory.
runtime::Status parse_bytes(std::string_view bytes, google::protobuf::MessageLite& message);

/// Returns the dtype of ONNX's element type `element`; nullopt for unsupported types.
std::optional<runtime::DType> dtype_of(int element);
/// `FLOAT16`, or `element type 99`.
std::string element_name(int element);

/// ONNX's element type for `dtype`.
int element_of(runtime::DType dtype);

/// How many elements; a dimension of 0 counts as 1 in the check against `kMostElements`. Returns nullopt for a shape
/// that no tensor in a file can have.
std::optional<int64_t> element_count_of(const runtime::Shape& shape);

/// Name, element type and shape, without elements.
onnx::TensorProto header_of(const runtime::Tensor& tensor, const std::string& name);
onnx::TensorProto proto_of(const runtime::Tensor& tensor, const std::string& name);

/// Where files of external data are searched, and which of them may be read: those in `folder`, and what `access` adds.
struct ExternalData {
  ExternalData(std::string model_folder, const support::FileAccess* files = nullptr)  // NOLINT: implicit on purpose
      : folder(std::move(model_folder)), access(files) {}

  std::string folder;
  const support::FileAccess* access = nullptr;
};

runtime::Result<runtime::Tensor> tensor_of(const onnx::TensorProto& proto, const ExternalData& external);

runtime::Result<runtime::AttrValue> attribute_of(const onnx::AttributeProto& proto, const ExternalData& external);

}  // namespace collage::import
