// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/amx_conv.h"

#include "compiler/codegen/generators/amx_gemm.h"
#include "compiler/codegen/generators/direct_conv.h"
#include "compiler/codegen/kernel/epilogue.h"

namespace collage::codegen {
namespace {

WeightMatrix weights_of(const LoweringContext& context, const ConvProblem& p) {
  const runtime::Tensor& weights = p.own_weights ? *p.own_weights : context.graph.value(p.w).constant->data;
  const float* from = weights.as<float>().data() + weight_index(p, 0, 0, 0, weight_taps(p).front());
  const int64_t by_out = weight_index(p, 0, 1, 0, 0) - weight_index(p, 0, 0, 0, 0);
  const int64_t by_in = weight_index(p, 0, 0, 1, 0) - weight_index(p, 0, 0, 0, 0);
  return {p.in_channels, p.out_channels, [=](int64_t k, int64_t column) { return from[column * by_out + k * by_in]; }};
}

}  // namespace

bool takes_amx_conv(const LoweringContext& context, ir::NodeId node, const ConvProblem& p) {
  const bool has_rows = p.is_flattened && p.groups == 1 && !p.transposed && p.x_strides[1] == 1 &&
                        p.x_strides[4] == p.in_channels &&
                        (p.batch == 1 || p.x_strides[0] == p.in_channels * p.in_plane());
  return context.isa.tile_obstacle.empty() && has_rows && takes_direct_conv(context.graph, node) &&
         safe_range(weights_of(context, p)).has_value();
}

KernelSketch generate_amx_conv(const LoweringContext& context, const Group& group, const ConvProblem& p) {
  KernelBuilder builder(context);
  Nest& nest = builder.nest();
  Epilogue epilogue(builder, group, {context.graph.value(context.graph.first_output(group.anchor)).type.shape, 1});
  const int bias = p.b.is_valid() ? builder.value_buffer(p.b, false) : -1;
  const WeightMatrix weights = weights_of(context, p);
  const AmxProduct product{p.batch * p.out_plane(), p.x, weights, *safe_range(weights)};
  const auto finish = [&](const Expr& row, const Expr& column, const Expr& sum, const Expr& mask) {
    const Expr whole = bias < 0 ? sum : binary(Op::FAdd, sum, load(bias, column, nest.lanes(), mask));
    epilogue.at(split_outer(nest, epilogue.space(), row), column, nest.lanes(), whole, mask);
  };
  return generate_amx_gemm(builder, product, finish);
}

}  // namespace collage::codegen
