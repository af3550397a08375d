// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/core/checked_size.h"

namespace collage::runtime {
namespace {

/// Of what a large block holds whole, so that it takes no more memory: first touching small pages one by one takes
/// longer than writing them, and every kernel that reads weights has fewer addresses to translate.
void ask_for_huge_pages([[maybe_unused]] std::byte* first, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr size_t kHugePage = size_t{2} << 20;
  if (bytes < 2 * kHugePage) return;
  const auto address = reinterpret_cast<uintptr_t>(first);
  const size_t skipped = align_up(address, kHugePage) - address;
  const size_t whole = (bytes - skipped) / kHugePage * kHugePage;
  ::madvise(first + skipped, whole, MADV_HUGEPAGE);  // a kernel that has none ignores it
#endif
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  // Room to align, and at least one element. Large blocks come from the system as zeros: calloc does not touch them.
  const size_t room = align_up(bytes() + 1, kTensorAlignment) + kTensorAlignment;
  void* memory = std::calloc(1, room);
  if (memory == nullptr) throw std::bad_alloc();
  const auto address = reinterpret_cast<uintptr_t>(memory);
  auto* first = static_cast<std::byte*>(memory) + (align_up(address, kTensorAlignment) - address);
  ask_for_huge_pages(first, bytes());
  storage_ = std::shared_ptr<std::byte>(first, [memory](std::byte*) { std::free(memory); });
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::clone() const {
  Tensor copy(dtype_, shape_);
  if (bytes() > 0) std::memcpy(copy.data(), data(), bytes());
  return copy;
}

void Tensor::release_pages() const {
  if (!is_mapped_) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(data());
  const size_t skipped = align_up(address, page) - address;
  if (bytes() < skipped + page) return;
  ::madvise(data() + skipped, (bytes() - skipped) / page * page, MADV_DONTNEED);
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

double element_as_double(const TensorView& view, int64_t i) {
  auto at = static_cast<size_t>(i);
  if (view.dtype == DType::Bool) return view.as<uint8_t>()[at] != 0 ? 1.0 : 0.0;
  return with_element_type(view.dtype, [&]<typename T>(Type<T>) { return static_cast<double>(view.as<T>()[at]); });
}

int64_t element_as_int(const TensorView& view, int64_t i) {
  if (view.dtype == DType::I64) return view.as<int64_t>()[static_cast<size_t>(i)];
  if (view.dtype == DType::U64) return static_cast<int64_t>(view.as<uint64_t>()[static_cast<size_t>(i)]);
  return static_cast<int64_t>(element_as_double(view, i));
}

}  // namespace collage::runtime
