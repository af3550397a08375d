// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/lower/lowerings.h"

namespace collage::codegen {

const Lowering* find_lowering(std::string_view op) {
  using Row = const Lowering& (*)();
  static constexpr Row rows[] = {
      arg_max_lowering,
      arg_min_lowering,
      average_pool_lowering,
      conv_integer_lowering,
      conv_lowering,
      conv_transpose_lowering,
      cum_prod_lowering,
      cum_sum_lowering,
      dynamic_quantize_lowering,
      gemm_lowering,
      grid_sample_lowering,
      group_normalization_lowering,
      instance_normalization_lowering,
      layer_normalization_lowering,
      log_softmax_lowering,
      lrn_lowering,
      matmul_integer_lowering,
      matmul_lowering,
      max_pool_lowering,
      qlinear_conv_lowering,
      qlinear_matmul_lowering,
      resize_lowering,
      softmax_lowering,
      top_k_lowering,
      transpose_lowering,
  };
  for (Row row : rows) {
    if (row().op == op) return &row();
  }
  if (const Lowering* reduction = reduction_lowering(op)) return reduction;
  if (const Lowering* recurrence = recurrent_lowering(op)) return recurrence;
  if (const Lowering* indexing = indexing_lowering(op)) return indexing;
  return movement_lowering(op);
}

}  // namespace collage::codegen
