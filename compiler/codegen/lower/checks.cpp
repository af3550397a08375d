// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/lower/checks.h"

#include <string>

#include "compiler/codegen/kernel/epilogue.h"

namespace collage::codegen {

LoweredCheck make_check(const LoweringContext& context, std::string_view op, int64_t extent, LoweredCheck::Kind kind) {
  context.temporaries.push_back(sizeof(int64_t));
  return {std::string(op), static_cast<int>(context.temporaries.size()) - 1, extent, kind};
}

KernelSketch clear_checks(const LoweringContext& context, const std::vector<LoweredCheck>& checks) {
  KernelBuilder builder(context);
  Nest& nest = builder.nest();
  const Expr i = nest.begin_for("i", nest.task_begin(), nest.task_end());
  for (const LoweredCheck& check : checks) {
    nest.store_int(builder.temporary_buffer(check.temporary, "found", true), i, int_const(0));
  }
  nest.end_for();
  return builder.finish(1, 1);
}

}  // namespace collage::codegen
