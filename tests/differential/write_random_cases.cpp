// SPDX-License-Identifier: Apache-2.0
// write_random_cases FOLDER COUNT: random models with random rule files (random_case.h), as case_N.ir and case_N.rules.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/differential/random_case.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  constexpr uint64_t kFirstSeed = 21'000'000;
  constexpr int kMostNodes = 30;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    const collage::testing::RandomCase random = collage::testing::random_case(kFirstSeed + i, kMostNodes);
    const std::string name = "case_" + std::to_string(i);
    std::ofstream(folder / (name + ".ir")) << random.model;
    std::ofstream(folder / (name + ".rules")) << random.rules;
  }
  return 0;
}
