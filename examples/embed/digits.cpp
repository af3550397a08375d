// SPDX-License-Identifier: Apache-2.0
// Compiles and runs the digits model. Start it in examples/digits.
#include <algorithm>
#include <collage/collage.hpp>
#include <cstdio>

int main() try {
  collage::Compiler compiler;
  collage::Executable executable = compiler.set("costs", "estimate").load("digits.ir").place().build();
  collage::Session session(executable);
  collage::Tensor images("test_images.npy"), labels("test_labels.npy");
  long right = 0, count = static_cast<long>(labels.port().shape[0]);
  for (long i = 0; i < count; ++i) {
    float scores[10];
    session.run({images.data<float>() + 64 * i}, {scores});
    right += std::max_element(scores, scores + 10) - scores == labels.data<std::int64_t>()[i];
  }
  std::printf("accuracy %.1f %% (%ld of %ld)\n", 100.0 * right / count, right, count);
} catch (const collage::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
