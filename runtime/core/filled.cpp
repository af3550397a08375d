// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/filled.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace collage::runtime {
namespace {

/// Each copy doubles the filled part.
void fill(std::span<const std::byte> element, std::span<std::byte> all) {
  size_t filled = std::min(element.size(), all.size());
  std::copy_n(element.data(), filled, all.data());
  while (filled < all.size()) {
    const size_t piece = std::min(filled, all.size() - filled);
    std::copy_n(all.data(), piece, all.data() + filled);
    filled += piece;
  }
}

class FilledSource final : public ElementSource {
 public:
  explicit FilledSource(std::span<const std::byte> element) : element_(element.begin(), element.end()) {}

  void write(int64_t, std::span<std::byte> to) const override { fill(element_, to); }
  bool makes_same(const ElementSource& other) const override {
    const auto* filled = dynamic_cast<const FilledSource*>(&other);
    return filled != nullptr && element_ == filled->element_;
  }

 private:
  std::vector<std::byte> element_;
};

}  // namespace

Tensor filled_tensor(DType dtype, const Shape& shape, std::span<const std::byte> element) {
  Tensor tensor(dtype, shape);
  if (tensor.bytes() > 0) fill(element, {tensor.data(), tensor.bytes()});
  return tensor;
}

Tensor late_filled_tensor(DType dtype, const Shape& shape, std::span<const std::byte> element) {
  return Tensor(dtype, shape, std::make_shared<const FilledSource>(element));
}

}  // namespace collage::runtime
