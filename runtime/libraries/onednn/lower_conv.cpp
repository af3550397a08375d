// SPDX-License-Identifier: Apache-2.0
// Convolutions and transposed convolutions of one to three spatial dimensions. Layouts of data and weights are the
// primitive's choice.
#include "runtime/kernels/window.h"
#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {
namespace {

/// The operands of a convolution as oneDNN takes them. Dilations count the gaps: ONNX's 1 is 0.
struct Geometry {
  Dims source, weights, bias, result;
  Dims strides, dilations, pads_begin, pads_end;
  Stored kernel;  ///< the model's weights, seen with `weights` as dimensions
};

Result<Geometry> geometry_of(Builder& b, int index, bool transpose) {
  const LibraryOp& op = b.op(index);
  int x = b.input(index, 0), w = b.input(index, 1), bias = b.input(index, 2);
  if (w < 0 || b.value(w).dtype != DType::F32) return Status::error("no weights of f32");
  const Shape& from = b.shape(x);
  const Shape& kernel = b.shape(w);
  if (from.size() < 3 || from.size() > 5 || kernel.size() != from.size())
    return Status::error("rank " + std::to_string(from.size()) + ", oneDNN has 3 to 5");
  Geometry g;
  Window window;
  Shape input(from.begin() + 2, from.end()), taps(kernel.begin() + 2, kernel.end());
  auto problem = transpose ? resolve_transposed_window(input, taps, op.attrs, &window)
                           : resolve_window(input, taps, op.attrs, &window);
  if (problem) return Status::error(problem->message);
  g.source = from;
  g.result = b.shape(op.outputs[0]);
  g.strides = window.strides;
  g.pads_begin = window.pads_begin;
  g.pads_end = window.pads_end;
  for (int64_t dilation : window.dilations) g.dilations.push_back(dilation - 1);
  for (size_t d = 0; d < window.rank(); ++d) {
    // Input that no window reaches: oneDNN expects the padding that exactly gives the size of the result.
    int64_t extent = (window.kernel[d] - 1) * window.dilations[d] + 1;
    int64_t reach = transpose ? (input[d] - 1) * window.strides[d] + extent - window.output[d]
                              : (window.output[d] - 1) * window.strides[d] + extent - input[d];
    g.pads_end[d] = reach - window.pads_begin[d];
  }
  // ONNX: [out, in / groups, taps…], transposed [in, out / groups, taps…].
  // oneDNN: [groups, out / groups, in / groups, taps…] where there are groups.
  int64_t groups = op.attrs.get_int("group", 1);
  if (groups < 1 || kernel[0] % groups != 0) return Status::error("illegal groups");
  g.weights = kernel;
  g.kernel = b.viewed(w, g.weights);
  if (groups > 1) {
    g.weights[0] /= groups;
    g.weights.insert(g.weights.begin(), groups);
    g.kernel = b.viewed(w, g.weights);
  }
  if (transpose) {
    std::vector<int64_t> order(g.weights.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
    std::swap(order[groups > 1 ? 1 : 0], order[groups > 1 ? 2 : 1]);
    g.kernel.desc = transposed(g.kernel.desc, order);
    g.weights = g.kernel.desc.dims();
  }
  if (bias >= 0) g.bias = b.shape(bias);
  return g;
}

Desc weights_desc(const Geometry& g) {
  return any_desc(g.weights);
}

std::vector<Argument> operands_of(Builder& b, int index, const Geometry& g, const dnnl::primitive_desc_base& made) {
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, b.converted(b.stored(b.input(index, 0)), made.query_md(dnnl::query::src_md, 0))},
      {DNNL_ARG_WEIGHTS, b.converted(g.kernel, made.query_md(dnnl::query::weights_md, 0))}};
  if (!g.bias.empty()) {
    Stored bias = b.converted(b.stored(b.input(index, 2)), made.query_md(dnnl::query::weights_md, 1));
    arguments.push_back({DNNL_ARG_BIAS, bias});
  }
  return arguments;
}

template <typename Primitive>
Status lower(Builder& b, int index, dnnl::algorithm algorithm, const char* name, bool transpose) {
  Result<Geometry> made = geometry_of(b, index, transpose);
  if (!made) return made.status();
  Geometry g = *made;
  Head head;
  head.name = name;
  head.dims = g.result;
  head.fuses = !transpose;
  head.accumulates = true;
  head.make = [=](const Desc& result, const dnnl::primitive_attr& attr) {
    Desc bias = g.bias.empty() ? Desc() : plain_desc(g.bias);
    return make_primitive<Primitive>({dnnl::prop_kind::forward_inference, algorithm, any_desc(g.source),
                                      weights_desc(g), bias, result, g.strides, g.dilations, g.pads_begin, g.pads_end},
                                     attr);
  };
  head.operands = [g, index, &b](const dnnl::primitive_desc_base& primitive) {
    return operands_of(b, index, g, primitive);
  };
  return b.emit(index, head);
}

}  // namespace

Status lower_conv(Builder& b, int index) {
  return lower<dnnl::convolution_forward>(b, index, dnnl::algorithm::convolution_direct, "convolution", false);
}

/// A post-op would make oneDNN fall back to a slow implementation, so nothing is fused.
Status lower_conv_transpose(Builder& b, int index) {
  return lower<dnnl::deconvolution_forward>(b, index, dnnl::algorithm::deconvolution_direct, "deconvolution", true);
}

}  // namespace collage::runtime::onednn
