// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/measure/worker.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

TEST(Environment, TextsAreReadBack) {
  Environment all;
  all.machine = "cpu model name X features fpu sse";
  all.build = "collage 0.1.0 llvm 19";
  all.threads = "2";
  all.numerics = "fast";
  all.code_for = "skylake";
  Environment external;
  external.program = "exec costs.py 0123";
  for (const Environment& environment :
       {all.of("host"), all.of("a version 1\nb version 2\nplans"), external.of("npu version 1")}) {
    const std::string text = to_text(environment);
    EXPECT_EQ(to_text(parse_environment(text)), text);
    EXPECT_EQ(parse_environment(text).subject, environment.subject) << text;
  }
  EXPECT_EQ(parse_environment(to_text(all.of("a version 1\nplans"))).backend(), "plans");
  EXPECT_EQ(parse_environment("nothing known").subject, "nothing known");
  EXPECT_FALSE(all.holds_here());
  EXPECT_TRUE(external.holds_here());
}

TEST(DescribeProgram, ChangesWithItsFiles) {
  const fs::path folder = fs::path(testing::TempDir()) / ("collage_program_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "costs.sh") << "one";
  const std::string before = describe_program("sh costs.sh", folder.string());
  EXPECT_EQ(before, describe_program("sh costs.sh", folder.string()));
  EXPECT_NE(before, describe_program("sh costs.sh --fast", folder.string()));
  std::ofstream(folder / "costs.sh") << "two";
  EXPECT_NE(before, describe_program("sh costs.sh", folder.string()));
  fs::remove_all(folder);
}

TEST(DescribeBuild, ChangesWithTheProgramAndTheLibraryThatHoldsItsCode) {
  const fs::path folder = fs::path(testing::TempDir()) / ("collage_build_" + std::to_string(::getpid()));
  const fs::path program = folder / "bin/collage-measure";
  fs::create_directories(program.parent_path());
  std::ofstream(program) << "one";
  const std::string first = describe_build(program.string());
  std::ofstream(program) << "two";
  const std::string second = describe_build(program.string());
  EXPECT_NE(first, second);
  const fs::path library = worker_library(program.string());
  if (!library.empty()) {
    fs::create_directories(library.parent_path());
    std::ofstream(library) << "three";
    EXPECT_NE(second, describe_build(program.string()));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace collage::measure
