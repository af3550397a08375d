// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "runtime/core/checked_size.h"

namespace collage::runtime {
namespace {

/// Asks for huge pages where the block contains them whole, so that it takes no more memory: touching small pages one
/// by one takes longer than writing them, and kernels that read weights need fewer address translations.
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

/// Bytes of elements that are made at once where they are not in memory: a multiple of every element's size.
constexpr size_t kPieceBytes = size_t{64} << 10;

struct alignas(kTensorAlignment) Piece {
  std::array<std::byte, kPieceBytes> bytes;
};

/// These bytes of the tensor, which are whole elements: where they lie, or made in `piece`.
const std::byte* look_at(const Tensor& tensor, size_t first, size_t count, Piece& piece) {
  if (tensor.is_made()) return tensor.data() + first;
  tensor.read(static_cast<int64_t>(first / size_of(tensor.dtype())), {piece.bytes.data(), count});
  return piece.bytes.data();
}

}  // namespace

/// Elements of which there is only the source at first.
struct Tensor::Late {
  std::shared_ptr<const ElementSource> source;
  std::once_flag once{};
  Tensor made{};
  std::atomic<std::byte*> first{nullptr};  ///< of `made`, once it is whole
};

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<const ElementSource> source)
    : dtype_(dtype), shape_(std::move(shape)), late_(std::make_shared<Late>(std::move(source))) {}

std::byte* Tensor::made() const {
  if (std::byte* first = late_->first.load(std::memory_order_acquire)) return first;
  std::call_once(late_->once, [&] {
    Tensor made(dtype_, shape_);
    if (bytes() > 0) late_->source->write(0, {made.data(), bytes()});
    late_->made = std::move(made);
    late_->first.store(late_->made.data(), std::memory_order_release);
  });
  return late_->first.load(std::memory_order_acquire);
}

bool Tensor::is_made() const {
  return late_ == nullptr || late_->first.load(std::memory_order_acquire) != nullptr;
}

void Tensor::read(int64_t first, std::span<std::byte> to) const {
  if (to.empty()) return;
  if (!is_made()) return late_->source->write(first, to);
  std::memcpy(to.data(), data() + static_cast<size_t>(first) * size_of(dtype_), to.size());
}

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
  read(0, {copy.data(), bytes()});
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
  if (a.is_made() && b.is_made()) return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  if (a.late_ != nullptr && b.late_ != nullptr &&
      (a.late_ == b.late_ || a.late_->source->makes_same(*b.late_->source))) {
    return true;
  }
  Piece left, right;
  for (size_t first = 0; first < a.bytes(); first += kPieceBytes) {
    const size_t count = std::min(kPieceBytes, a.bytes() - first);
    if (std::memcmp(look_at(a, first, count, left), look_at(b, first, count, right), count) != 0) return false;
  }
  return true;
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
