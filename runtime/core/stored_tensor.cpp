// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/stored_tensor.h"

namespace collage::runtime {
namespace {

DType dtype_of_size(size_t bytes) {
  return bytes == 1 ? DType::U8 : bytes == 2 ? DType::I16 : bytes == 4 ? DType::I32 : DType::I64;
}

}  // namespace

void rewrite(DType dtype, const Shape& shape, const std::byte* from, const TensorForm& from_form, std::byte* to,
             const TensorForm& to_form) {
  if (from_form.layout == to_form.layout) {
    convert_storage(dtype, element_count(shape), from, from_form.storage, to, to_form.storage);
    return;
  }
  // A reorder moves elements unchanged, as any dtype of their size. The storage is converted before it.
  Tensor converted;
  auto* source = const_cast<std::byte*>(from);  // a view is not const, a reorder's source is only read
  if (from_form.storage != to_form.storage) {
    converted = Tensor(dtype_of_size(element_size(dtype, to_form.storage)), shape);
    convert_storage(dtype, element_count(shape), from, from_form.storage, converted.data(), to_form.storage);
    source = converted.data();
  }
  const DType moved = dtype_of_size(element_size(dtype, to_form.storage));
  reorder({moved, shape, source}, from_form.layout, {moved, shape, to}, to_form.layout);
}

}  // namespace collage::runtime
