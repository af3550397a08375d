// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/input/tensor_files.h"

#include <algorithm>
#include <filesystem>

#include "compiler/import/tensor_proto.h"
#include "compiler/sema/constants.h"
#include "runtime/io/npy.h"
#include "runtime/io/picture.h"

namespace collage::driver {
namespace {

using ir::Tensor;
using support::Code;

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension;
}

bool is_picture(const std::string& extension) {
  static constexpr std::string_view kPictures[] = {".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".pnm"};
  return std::find(std::begin(kPictures), std::end(kPictures), extension) != std::end(kPictures);
}

/// The model's shape, or that shape with another leading dimension where the model's is 1.
bool fits(const ir::Shape& shape, const ir::Shape& wanted) {
  if (shape == wanted) return true;
  return !wanted.empty() && wanted[0] == 1 && shape.size() == wanted.size() && shape[0] > 0 &&
         std::equal(shape.begin() + 1, shape.end(), wanted.begin() + 1);
}

std::optional<Tensor> unwrap(runtime::Result<Tensor> result, const std::string& option, const std::string& path,
                             support::Diagnostics& diags) {
  if (result) return *result;
  bool names_file = result.message().find(path) != std::string::npos;
  return diags.error_at(Code::BadTensorFile, option, "{}{}", names_file ? "" : path + ": ", result.message());
}

}  // namespace

std::optional<Tensor> read_any_tensor(const std::string& path, const std::string& option, support::Diagnostics& diags) {
  std::string extension = extension_of(path);
  if (extension == ".npy") return unwrap(runtime::read_npy(path), option, path, diags);
  if (extension == ".pb") return unwrap(import::read_tensor_pb(path), option, path, diags);
  return diags.error_at(Code::BadTensorFile, option, "{}: a tensor is read from .npy or .pb", path);
}

std::optional<Tensor> read_tensor_file(const std::string& path, const ir::TensorType& wanted, double scale,
                                       const std::string& option, support::Diagnostics& diags) {
  if (path == "random") return random_tensor(wanted, 1);
  if (is_picture(extension_of(path))) {
    std::optional<Tensor> picture = unwrap(runtime::read_picture(path), option, path, diags);
    if (!picture) return std::nullopt;
    if (wanted.dtype != runtime::DType::F32) {
      return diags.error_at(Code::InputMismatch, option, "{}: a picture gives f32, the model wants {}", path,
                            to_string(wanted));
    }
    return unwrap(runtime::picture_to_input(*picture, wanted.shape, scale), option, path, diags);
  }
  std::optional<Tensor> tensor = read_any_tensor(path, option, diags);
  if (!tensor) return std::nullopt;
  if (tensor->dtype() == wanted.dtype && fits(tensor->shape(), wanted.shape)) return tensor;
  return diags.error_at(Code::InputMismatch, option, "{} holds {}, the model wants {}", path,
                        to_string(ir::TensorType{tensor->dtype(), tensor->shape()}), to_string(wanted));
}

bool can_write_tensor_file(const std::string& path, const std::string& name, support::Diagnostics& diags) {
  std::string option = name.empty() ? "--save" : "--save " + name;
  std::string extension = extension_of(path);
  if (extension != ".npy" && extension != ".pb") {
    return diags.error_at(Code::BadTensorFile, option, "{}: a tensor is written to .npy or .pb", path);
  }
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return true;
  return diags.error_at(Code::CannotWrite, option, "{}: `{}` is no folder", path, folder.string());
}

bool write_tensor_file(const std::string& path, const std::string& name, const Tensor& tensor,
                       support::Diagnostics& diags) {
  if (!can_write_tensor_file(path, name, diags)) return false;
  std::string extension = extension_of(path);
  runtime::Status status =
      extension == ".npy" ? runtime::write_npy(path, tensor) : import::write_tensor_pb(tensor, name, path);
  if (status) return true;
  return diags.error_at(Code::CannotWrite, "--save " + name, "{}: {}", path, status.message());
}

Tensor random_tensor(const ir::TensorType& type, uint64_t seed) {
  if (is_float(type.dtype)) return sema::make_random(type, seed);
  return Tensor(type.dtype, type.shape);
}

}  // namespace collage::driver
