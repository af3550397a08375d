// SPDX-License-Identifier: Apache-2.0
// Tensors whose elements are made when they are needed: the same bits as those made at once, made once, and not at all
// by who only compares or reads parts.
#include "runtime/core/element_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/core/element.h"
#include "runtime/core/filled.h"
#include "runtime/core/random.h"

namespace collage::runtime {
namespace {

/// Element i is i; counts how often it is asked for all of them.
class CountingSource final : public ElementSource {
 public:
  explicit CountingSource(int64_t count) : count_(count) {}

  void write(int64_t first, std::span<std::byte> to) const override {
    const auto count = static_cast<int64_t>(to.size() / sizeof(int32_t));
    if (count == count_) ++whole_;
    auto* elements = reinterpret_cast<int32_t*>(to.data());
    for (int64_t i = 0; i < count; ++i) elements[i] = static_cast<int32_t>(first + i);
  }
  bool makes_same(const ElementSource& other) const override { return this == &other; }
  int whole() const { return whole_; }

 private:
  int64_t count_;
  mutable std::atomic<int> whole_{0};
};

constexpr DType kRandom[] = {DType::F32, DType::F64, DType::F16, DType::BF16,
                             DType::I8,  DType::U16, DType::I32, DType::I64};

TEST(LateTensor, HasTheBitsOfOneThatIsMadeAtOnce) {
  for (DType dtype : kRandom) {
    const double low = is_float(dtype) ? -0.5 : 3, high = is_float(dtype) ? 0.25 : 90;
    const Shape shape{37, 11, 5};
    const Tensor at_once = random_tensor(dtype, shape, 7, low, high);
    const Tensor late = late_random_tensor(dtype, shape, 7, low, high);
    EXPECT_FALSE(late.is_made());
    ASSERT_EQ(late.bytes(), at_once.bytes());
    EXPECT_EQ(std::memcmp(late.data(), at_once.data(), at_once.bytes()), 0) << name_of(dtype);
    EXPECT_TRUE(late.is_made());
  }
}

TEST(LateTensor, APartIsMadeAlone) {
  const Tensor at_once = random_tensor(DType::F16, {64, 100}, 9);
  const Tensor late = late_random_tensor(DType::F16, {64, 100}, 9);
  std::vector<std::byte> part(2 * 1000);
  late.read(321, part);
  EXPECT_FALSE(late.is_made());
  EXPECT_EQ(std::memcmp(part.data(), at_once.data() + size_t{2} * 321, part.size()), 0);
  late.data();
  std::vector<std::byte> again(part.size());
  late.read(321, again);
  EXPECT_EQ(part, again);
}

TEST(LateTensor, ThreadsAndCopiesShareElementsThatAreMadeOnce) {
  constexpr int64_t kCount = 200'000;
  const auto source = std::make_shared<CountingSource>(kCount);
  const Tensor tensor(DType::I32, {kCount}, source);
  const Tensor other = tensor.reshaped({kCount / 2, 2});
  std::vector<std::byte*> addresses(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < addresses.size(); ++i) {
    threads.emplace_back([&, i] { addresses[i] = (i % 2 == 0 ? tensor : other).data(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::byte* address : addresses) EXPECT_EQ(address, addresses.front());
  EXPECT_EQ(source->whole(), 1);
  EXPECT_EQ(other.as<int32_t>()[kCount - 1], kCount - 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % kTensorAlignment, 0U);
}

TEST(LateTensor, IsComparedWithoutBeingMade) {
  // No machine has room for these.
  const Shape shape{1'000'000, 1'000'000};
  const Tensor a = late_random_tensor(DType::F16, shape, 1), b = late_random_tensor(DType::F16, shape, 1);
  EXPECT_TRUE(identical(a, b));
  EXPECT_FALSE(identical(a, late_random_tensor(DType::F16, shape, 2)));
  EXPECT_FALSE(identical(a, late_random_tensor(DType::F16, shape, 1, -1, 2)));
  EXPECT_FALSE(a.is_made());
  // Against elements that are there, and of another kind of source.
  const Shape small{300, 301};
  const Tensor late = late_random_tensor(DType::F32, small, 5);
  EXPECT_TRUE(identical(late, random_tensor(DType::F32, small, 5)));
  Tensor changed = random_tensor(DType::F32, small, 5);
  changed.as<float>().back() += 1;
  EXPECT_FALSE(identical(late, changed));
  EXPECT_FALSE(late.is_made());
}

TEST(LateTensor, AFilledOneHasTheSameElementEverywhere) {
  const float half = 0.5F;
  const auto element = std::as_bytes(std::span(&half, 1));
  const Tensor late = late_filled_tensor(DType::F32, {1000, 77}, element);
  const Tensor at_once = filled_tensor(DType::F32, {1000, 77}, element);
  EXPECT_TRUE(identical(late, at_once));
  EXPECT_TRUE(all_elements(late, [](double x) { return x == 0.5; }));
  EXPECT_FALSE(all_elements(late, [](double x) { return x == 1; }));
  EXPECT_FALSE(late.is_made());
  EXPECT_TRUE(all_elements(at_once, [](double x) { return x == 0.5; }));
  EXPECT_EQ(late.as<float>()[76'999], 0.5F);
  EXPECT_EQ(filled_tensor(DType::F32, {0, 4}, element).bytes(), 0U);
}

TEST(LateTensor, IsNoEmptyHandleAndACloneIsItsOwn) {
  const Tensor late = late_random_tensor(DType::I8, {10}, 3, -5, 5);
  EXPECT_FALSE(late.is_empty_handle());
  const Tensor clone = late.clone();
  EXPECT_FALSE(late.is_made());
  EXPECT_TRUE(clone.is_made());
  EXPECT_TRUE(identical(late, clone));
  EXPECT_NE(clone.data(), late.data());
}

}  // namespace
}  // namespace collage::runtime
