// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/buffer_table.h"

#include <gtest/gtest.h>

#include <numeric>

namespace collage::plan {
namespace {

using runtime::DType;
using runtime::Tensor;

Tensor packed(int64_t count, float first) {
  Tensor tensor(DType::F32, {count});
  std::iota(tensor.as<float>().begin(), tensor.as<float>().end(), first);
  return tensor;
}

class Buffers : public ::testing::Test {
 protected:
  Buffers() { plan_.spaces.push_back({"host", 0, 0, 0}); }

  ir::Graph graph_;
  runtime::Plan plan_;
  BufferTable table_{graph_, plan_};
};

TEST_F(Buffers, EqualConstantsLieOnce) {
  const runtime::BufferId first = table_.add_constant("p0.packed0", packed(5000, 1));
  const size_t bytes = plan_.spaces[0].constant_bytes;
  EXPECT_EQ(table_.add_constant("p1.packed0", packed(5000, 1)), first);
  EXPECT_EQ(plan_.spaces[0].constant_bytes, bytes);
  EXPECT_EQ(plan_.constants.size(), 1u);
}

TEST_F(Buffers, ConstantsThatDifferAnywhereLieApart) {
  const runtime::BufferId first = table_.add_constant("a", packed(5000, 1));
  for (size_t changed : {size_t{1}, size_t{2500}, size_t{4999}}) {
    Tensor data = packed(5000, 1);
    data.as<float>()[changed] = -1;
    EXPECT_NE(table_.add_constant("b", std::move(data)), first) << changed;
  }
  Tensor integers(DType::I32, {5000});
  EXPECT_NE(table_.add_constant("c", packed(4999, 1)), first);
  EXPECT_NE(table_.add_constant("d", std::move(integers)), first);
  EXPECT_NE(table_.add_constant("e", packed(5000, 1), "npu[0]"), first);
  EXPECT_EQ(table_.add_constant("f", packed(5000, 1), "npu[0]"), table_.add_constant("g", packed(5000, 1), "npu[0]"));
}

TEST_F(Buffers, ConstantsWithoutElementsAreEqual) {
  EXPECT_EQ(table_.add_constant("a", packed(0, 1)), table_.add_constant("b", packed(0, 2)));
}

}  // namespace
}  // namespace collage::plan
