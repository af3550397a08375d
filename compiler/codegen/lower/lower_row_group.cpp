// SPDX-License-Identifier: Apache-2.0
// Groups over rows: a task is one row of the last dimension, with all its passes.
#include <algorithm>

#include "compiler/codegen/kernel/row_program.h"
#include "compiler/codegen/lower/lowerings.h"

namespace collage::codegen {
namespace {

/// Least number of elements times steps for a separate thread.
constexpr int64_t kGrainSteps = 32768;

}  // namespace

std::vector<KernelSketch> lower_row_group(const LoweringContext& context, const Group& group) {
  const ir::DType number = context.graph.value(group.stored.front()).type.dtype;
  KernelBuilder builder(context, number);
  Nest& nest = builder.nest();
  RowProgram program(builder, group.nodes, group.stored, group.rows);
  const int64_t elements = program.scratch_elements();
  const int scratch = elements == 0 ? -1 : builder.scratch_buffer(static_cast<size_t>(elements) * nest.number_bytes());
  const Expr task = nest.begin_for("row", nest.task_begin(), nest.task_end());
  program.emit(split_outer(nest, program.space(), task), scratch, int_const(0));
  nest.end_for();
  const int64_t work = std::max<int64_t>(1, group.rows.back() * program.work());
  std::vector<KernelSketch> kernels;
  kernels.push_back(builder.finish(program.space().outer_count(), kGrainSteps / work));
  return kernels;
}

}  // namespace collage::codegen
