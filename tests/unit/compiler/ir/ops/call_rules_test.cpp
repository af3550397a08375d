// SPDX-License-Identifier: Apache-2.0
// The runtime has a table of what calls of reference kernels must have; shape functions are in the compiler. The table
// says nothing else than they do.
#include <gtest/gtest.h>

#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/check_call.h"
#include "runtime/kernels/kernel.h"

namespace collage::ir {
namespace {

TEST(CallRules, AreThoseOfTheOperators) {
  for (const runtime::CallRow& row : runtime::call_rows()) {
    const OpDef* def = find_op(row.op);
    ASSERT_NE(def, nullptr) << row.op;
    EXPECT_FALSE(runtime::find_reference_kernel(row.op) == nullptr) << row.op;
    EXPECT_EQ(row.operands, def->min_inputs) << row.op;
    if (row.is_pointwise) {
      EXPECT_TRUE(def->is_pointwise) << row.op;
    }
  }
}

}  // namespace
}  // namespace collage::ir
