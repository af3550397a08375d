// SPDX-License-Identifier: Apache-2.0
// Random choices of tests, the same for the same seed.
#pragma once

#include <random>
#include <vector>

namespace collage::runtime::test {

class Chooser {
 public:
  explicit Chooser(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int>(all.size())))];
  }

 private:
  std::mt19937 random_;
};

}  // namespace collage::runtime::test
