// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/tensor_files.h"

#include <algorithm>
#include <filesystem>

#include "runtime/core/random.h"
#include "runtime/io/element_formats.h"
#include "runtime/io/npy.h"
#include "runtime/io/picture.h"
#include "runtime/support/write_file.h"

namespace collage::runner {
namespace {

using runtime::Tensor;
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
bool fits(const runtime::Shape& shape, const runtime::Shape& wanted) {
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

const TensorFormat* format_of(const std::string& extension, const TensorFormats& formats) {
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const TensorFormat& format) { return format.extension == extension; });
  return found == formats.end() ? nullptr : &*found;
}

/// `.npy or .pb`
std::string extensions(const TensorFormats& formats) {
  std::string text = ".npy";
  for (const TensorFormat& format : formats) text += " or " + format.extension;
  return text;
}

}  // namespace

bool is_tensor_file(const std::string& path, const TensorFormats& formats) {
  const std::string extension = extension_of(path);
  return extension == ".npy" || format_of(extension, formats) != nullptr;
}

std::optional<Tensor> read_any_tensor(const std::string& path, const TensorFormats& formats, const std::string& option,
                                      support::Diagnostics& diags) {
  const std::string extension = extension_of(path);
  if (extension == ".npy") return unwrap(runtime::read_npy(path), option, path, diags);
  const TensorFormat* format = format_of(extension, formats);
  if (format != nullptr) return unwrap(format->read(path), option, path, diags);
  return diags.error_at(Code::BadTensorFile, option, "{}: a tensor is read from {}", path, extensions(formats));
}

std::optional<Tensor> read_tensor_file(const std::string& path, const RunRequest& request, const TensorKind& wanted,
                                       const std::string& option, support::Diagnostics& diags) {
  if (path == "random") return random_tensor(wanted, 1);
  if (is_picture(extension_of(path))) {
    std::optional<Tensor> picture = unwrap(runtime::read_picture(path), option, path, diags);
    if (!picture) return std::nullopt;
    if (wanted.dtype != runtime::DType::F32) {
      return diags.error_at(Code::InputMismatch, option, "{}: a picture gives f32, the model wants {}", path,
                            to_string(wanted));
    }
    return unwrap(runtime::picture_to_input(*picture, wanted.shape, request.scale), option, path, diags);
  }
  const auto known = request.read.find(path);
  std::optional<Tensor> tensor =
      known != request.read.end() ? known->second : read_any_tensor(path, request.formats, option, diags);
  if (!tensor) return std::nullopt;
  if (tensor->dtype() == wanted.dtype && fits(tensor->shape(), wanted.shape)) return tensor;
  if (std::optional<Tensor> wide = runtime::widened(*tensor, wanted.dtype)) {
    if (fits(wide->shape(), wanted.shape)) return wide;
  }
  return diags.error_at(Code::InputMismatch, option, "{} holds {}, the model wants {}", path,
                        to_string(kind_of(*tensor)), to_string(wanted));
}

bool can_write_tensor_file(const std::string& path, const TensorFormats& formats, const std::string& name,
                           support::Diagnostics& diags) {
  const std::string option = name.empty() ? "--save" : "--save " + name;
  const std::string extension = extension_of(path);
  if (extension != ".npy" && format_of(extension, formats) == nullptr) {
    return diags.error_at(Code::BadTensorFile, option, "{}: a tensor is written to {}", path, extensions(formats));
  }
  return support::can_write(path, option, diags);
}

bool write_tensor_file(const std::string& path, const TensorFormats& formats, const std::string& name,
                       const Tensor& tensor, support::Diagnostics& diags) {
  if (!can_write_tensor_file(path, formats, name, diags)) return false;
  const TensorFormat* format = format_of(extension_of(path), formats);
  const runtime::Status status =
      format == nullptr ? runtime::write_npy(path, tensor) : format->write(tensor, name, path);
  if (status) return true;
  return diags.error_at(Code::CannotWrite, "--save " + name, "{}: {}", path, status.message());
}

Tensor random_tensor(const TensorKind& kind, uint64_t seed) {
  if (is_float(kind.dtype)) return runtime::random_tensor(kind.dtype, kind.shape, seed);
  return Tensor(kind.dtype, kind.shape);
}

}  // namespace collage::runner
