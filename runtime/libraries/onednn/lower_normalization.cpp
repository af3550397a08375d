// SPDX-License-Identifier: Apache-2.0
// Softmax, layer normalisation, local response normalisation. Batch normalisation has become Mul and Add before.
#include "runtime/kernels/axis_split.h"
#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {

Status lower_softmax(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  int x = b.input(index, 0);
  AxisSplit split(b.shape(x), op.attrs.get_int("axis", -1));
  bool is_log = op.op == "LogSoftmax";
  // Its logarithm is a millionth off at 1, where the result is 0.
  if (split.extent == 1) return Status::error("a single element along its axis");
  Stored source = b.viewed(x, {split.outer, split.extent, split.inner});
  if (split.inner == 1) source = b.viewed(x, {split.outer, split.extent});
  source = b.converted(source, plain_desc(source.desc.dims()));
  Head head;
  head.name = is_log ? "logsoftmax" : "softmax";
  head.dims = source.desc.dims();
  head.result = source.desc;
  head.reference_ok = true;
  head.make = [=](const Desc& result, const dnnl::primitive_attr& attr) {
    dnnl::algorithm algorithm = is_log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
    return make_primitive<dnnl::softmax_v2_forward>(
        {dnnl::prop_kind::forward_inference, algorithm, source.desc, result, 1}, attr);
  };
  head.operands = [=](const dnnl::primitive_desc_base&) { return std::vector<Argument>{{DNNL_ARG_SRC, source}}; };
  return b.emit(index, head);
}

/// Trailing dimensions count as one.
Status lower_layer_norm(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  int x = b.input(index, 0), scale = b.input(index, 1), shift = b.input(index, 2);
  AxisSplit split(b.shape(x), op.attrs.get_int("axis", -1));
  int64_t extent = split.extent * split.inner;
  for (int operand : {scale, shift}) {
    if (operand >= 0 && element_count(b.shape(operand)) != extent) return Status::error("its scale is broadcast");
  }
  if (scale < 0) return Status::error("it has no scale");
  Stored source = b.viewed(x, {split.outer, extent});
  source = b.converted(source, plain_desc({split.outer, extent}));
  auto epsilon = static_cast<float>(op.attrs.get_float("epsilon", 1e-5));
  Head head;
  head.name = "layer normalization";
  head.dims = source.desc.dims();
  head.result = source.desc;
  head.fuses = false;
  head.reference_ok = true;
  head.make = [=](const Desc&, const dnnl::primitive_attr& attr) {
    using dnnl::normalization_flags;
    normalization_flags flags = normalization_flags::use_scale;
    if (shift >= 0) flags |= normalization_flags::use_shift;
    return make_primitive<dnnl::layer_normalization_forward>(
        {dnnl::prop_kind::forward_inference, source.desc, epsilon, flags}, attr);
  };
  head.operands = [=, &b](const dnnl::primitive_desc_base&) {
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_SCALE, b.viewed(scale, {extent})}};
    if (shift >= 0) arguments.push_back({DNNL_ARG_SHIFT, b.viewed(shift, {extent})});
    return arguments;
  };
  return b.emit(index, head);
}

Status lower_lrn(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  int64_t size = op.attrs.get_int("size", 1);
  if (size % 2 == 0) return Status::error("an even window");
  Stored source = b.stored(b.input(index, 0));
  auto number = [&](const char* name, double fallback) {
    return static_cast<float>(op.attrs.get_float(name, fallback));
  };
  float alpha = number("alpha", 1e-4), beta = number("beta", 0.75), bias = number("bias", 1);
  Head head;
  head.name = "lrn";
  head.dims = source.desc.dims();
  head.result = source.desc;
  head.fuses = false;
  head.reference_ok = true;
  head.make = [=](const Desc&, const dnnl::primitive_attr& attr) {
    return make_primitive<dnnl::lrn_forward>({dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
                                              source.desc, size, alpha, beta, bias},
                                             attr);
  };
  head.operands = [=](const dnnl::primitive_desc_base&) { return std::vector<Argument>{{DNNL_ARG_SRC, source}}; };
  return b.emit(index, head);
}

}  // namespace collage::runtime::onednn
