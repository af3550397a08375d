// SPDX-License-Identifier: Apache-2.0
// The table of lowerings.
#include "compiler/codegen/lower/lowerings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

TEST(Lowerings, RowsAreSortedAndNameOperators) {
  const std::vector<std::string> rows = {
#define LOWERING(op, function) #op,
#include "compiler/codegen/lower/lowerings.def"
#undef LOWERING
  };
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  for (const std::string& op : rows) {
    EXPECT_NE(ir::find_op(op), nullptr) << op;
    const Lowering* lowering = find_lowering(op);
    ASSERT_NE(lowering, nullptr) << op;
    EXPECT_TRUE(lowering->accepts != nullptr && lowering->inner_dims != nullptr && lowering->lower != nullptr) << op;
  }
  EXPECT_EQ(find_lowering("Relu"), nullptr) << "it is pointwise";
}

}  // namespace
}  // namespace collage::codegen
