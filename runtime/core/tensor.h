// SPDX-License-Identifier: Apache-2.0
// Dense row-major tensors in host memory: `Tensor` owns (copies share), `TensorView` points. The elements of a tensor
// that has an ElementSource are made when their address is first asked for; all copies then share them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "runtime/core/dtype.h"
#include "runtime/core/element_source.h"
#include "runtime/core/shape.h"

namespace collage::runtime {

/// Every tensor starts at such an address: a cache line, the widest vector.
inline constexpr size_t kTensorAlignment = 64;

struct TensorView {
  DType dtype = DType::F32;
  Shape shape;
  std::byte* data = nullptr;  ///< null: an absent optional operand

  bool is_absent() const { return data == nullptr; }
  int64_t count() const { return element_count(shape); }
  size_t bytes() const { return static_cast<size_t>(count()) * size_of(dtype); }

  template <typename T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data), static_cast<size_t>(count())};
  }
};

class Tensor {
 public:
  Tensor() = default;
  /// Elements are zero.
  Tensor(DType dtype, Shape shape);
  /// Elements that lie elsewhere, aligned to kTensorAlignment, and are never written: those of a mapped file.
  Tensor(DType dtype, Shape shape, std::shared_ptr<const std::byte> elements)
      : dtype_(dtype),
        shape_(std::move(shape)),
        storage_(std::const_pointer_cast<std::byte>(std::move(elements))),
        is_mapped_(true) {}
  /// Elements that `source` makes once they are needed.
  Tensor(DType dtype, Shape shape, std::shared_ptr<const ElementSource> source);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t count() const { return element_count(shape_); }
  size_t bytes() const { return static_cast<size_t>(count()) * size_of(dtype_); }
  /// Makes elements that are not made yet, once, whichever thread asks first. Throws std::bad_alloc where there is no
  /// memory for them.
  std::byte* data() const { return late_ == nullptr ? storage_.get() : made(); }
  bool is_empty_handle() const { return storage_ == nullptr && late_ == nullptr; }
  /// False where the elements are not in memory, and `data` would make them.
  bool is_made() const;
  /// Writes the elements from the index `first` on, as many as `to` has the bytes of. Where elements are not in
  /// memory, it makes only these.
  void read(int64_t first, std::span<std::byte> to) const;

  template <typename T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data()), static_cast<size_t>(count())};
  }

  TensorView view() const { return {dtype_, shape_, data()}; }

  /// The same elements under another shape of equal count; storage is shared.
  Tensor reshaped(Shape shape) const;
  /// A copy that does not share the storage.
  Tensor clone() const;
  /// Gives the memory of elements in a mapped file back to the system, which reads them again where they are touched.
  /// Does nothing to other elements.
  void release_pages() const;

 private:
  struct Late;
  friend bool identical(const Tensor& a, const Tensor& b);
  std::byte* made() const;

  DType dtype_ = DType::F32;
  Shape shape_;
  std::shared_ptr<std::byte> storage_;
  std::shared_ptr<Late> late_;  ///< instead of `storage_`
  bool is_mapped_ = false;      ///< from a file, and not written
};

/// Same dtype, shape and bits. Makes no elements but a few at a time.
bool identical(const Tensor& a, const Tensor& b);

/// Element `i` as a double, whatever the dtype.
double element_as_double(const TensorView& view, int64_t i);

/// Element `i` of an integer or bool tensor. A u64 of 2^63 or more wraps.
int64_t element_as_int(const TensorView& view, int64_t i);

}  // namespace collage::runtime
