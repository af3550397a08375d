// SPDX-License-Identifier: Apache-2.0
// What libraries keep of constants, over the steps of a plan put together by hand.
#include "compiler/plan/library_memory.h"

#include <gtest/gtest.h>

#include "runtime/libraries/library.h"

namespace collage::plan {
namespace {

using runtime::DType;
using runtime::Tensor;

/// x w with a constant w of 12 elements.
runtime::LibraryCall product(const std::string& library, const Tensor& w) {
  runtime::LibraryCall call;
  call.library = library;
  call.program.values = {{DType::F32, {2, 3}, {}}, {DType::F32, {3, 4}, w}, {DType::F32, {2, 4}, {}}};
  call.program.ops = {{"MatMul", {}, {0, 1}, {2}}};
  call.program.inputs = {0};
  call.program.outputs = {2};
  return call;
}

/// Partitions on the host, one for each call.
runtime::Plan plan_of(std::vector<runtime::LibraryCall> calls) {
  runtime::Plan plan;
  plan.spaces.resize(2);
  plan.spaces[0].name = "host";
  plan.spaces[1].name = "npu[0]";
  for (runtime::LibraryCall& call : calls) {
    runtime::PlanPartition& partition = plan.partitions.emplace_back();
    partition.instance = "host";
    plan.steps.emplace_back(runtime::LibraryStep{static_cast<int>(plan.partitions.size()) - 1, std::move(call)});
  }
  return plan;
}

TEST(LibraryMemory, ConstantsOfSeveralProgramsCountOnce) {
  if (!runtime::has_library("openblas")) GTEST_SKIP() << "this build has no OpenBLAS";
  const Tensor w(DType::F32, {3, 4}), other(DType::F32, {3, 4});
  const auto memory =
      library_memory(plan_of({product("openblas", w), product("openblas", w), product("openblas", other)}), 1);
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0].constants, 2 * w.bytes());
  EXPECT_EQ(memory[0].packed, 0u);
  EXPECT_FALSE(memory[0].is_least);
  EXPECT_EQ(memory[1].constants, 0u);
}

TEST(LibraryMemory, CopiesCountForEachProgram) {
  if (!runtime::has_library("xnnpack")) GTEST_SKIP() << "this build has no XNNPACK";
  const Tensor w(DType::F32, {3, 4});
  const auto memory = library_memory(plan_of({product("xnnpack", w), product("xnnpack", w)}), 1);
  EXPECT_EQ(memory[0].constants, w.bytes());
  EXPECT_EQ(memory[0].packed, 2 * w.bytes());
  EXPECT_TRUE(memory[0].is_least);
}

TEST(LibraryMemory, OfALibraryThatIsNotHereIsWhatItIsGiven) {
  const Tensor w(DType::F32, {3, 4});
  for (const char* library : {"nolib", "plugin:/nowhere/libx.so"}) {
    const auto memory = library_memory(plan_of({product(library, w)}), 1);
    EXPECT_EQ(memory[0].constants, w.bytes()) << library;
    EXPECT_TRUE(memory[0].is_least) << library;
  }
}

}  // namespace
}  // namespace collage::plan
