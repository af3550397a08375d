// SPDX-License-Identifier: Apache-2.0
// Declares `OpDef define_NAME()` for every row of ops.def. The table fills in the name.
#pragma once

#include "compiler/ir/ops/op_def.h"

namespace collage::ir::ops {

#define OP(name) OpDef define_##name();
#include "compiler/ir/ops/ops.def"
#undef OP

}  // namespace collage::ir::ops
