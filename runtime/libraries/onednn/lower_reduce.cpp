// SPDX-License-Identifier: Apache-2.0
// Reductions. A mean over exactly the spatial dimensions is a pool, which is faster.
#include <algorithm>
#include <map>

#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {

Status lower_spatial_pool(Builder& b, int index, bool is_max);

namespace {

/// Axes as an attribute or a constant operand; none: all, unless that means nothing to do.
std::optional<Ints> reduced_axes(const Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  auto rank = static_cast<int64_t>(b.shape(b.input(index, 0)).size());
  Ints axes = op.attrs.get_ints("axes");
  if (b.input(index, 1) >= 0) {
    Tensor operand = b.constant(b.input(index, 1));
    if (operand.is_empty_handle()) return std::nullopt;
    for (int64_t i = 0; i < operand.count(); ++i) axes.push_back(element_as_int(operand.view(), i));
  }
  if (axes.empty() && op.attrs.get_int("noop_with_empty_axes", 0) == 0) {
    for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  for (int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace

Status lower_reduce(Builder& b, int index) {
  static const std::map<std::string_view, dnnl::algorithm> kAlgorithms = {
      {"ReduceMax", dnnl::algorithm::reduction_max},
      {"ReduceMean", dnnl::algorithm::reduction_mean},
      {"ReduceMin", dnnl::algorithm::reduction_min},
      {"ReduceSum", dnnl::algorithm::reduction_sum}};
  const LibraryOp& op = b.op(index);
  int x = b.input(index, 0);
  std::optional<Ints> axes = reduced_axes(b, index);
  if (!axes || axes->empty()) return Status::error("its axes are not known");
  const Shape& to = b.shape(op.outputs[0]);
  if (element_count(to) == element_count(b.shape(x))) {  // a maximum, mean or sum of one element
    b.define_view(index, b.viewed(x, plain_desc(to).dims()));
    return Status::ok();
  }
  auto rank = static_cast<int64_t>(b.shape(x).size());
  Ints spatial;
  for (int64_t d = 2; d < rank; ++d) spatial.push_back(d);
  if (op.op == "ReduceMean" && rank >= 3 && rank <= 5 && *axes == spatial) return lower_spatial_pool(b, index, false);
  Stored source = b.stored(x);
  Dims dims = source.desc.dims();
  for (int64_t axis : *axes) dims[static_cast<size_t>(axis)] = 1;
  dnnl::algorithm algorithm = kAlgorithms.at(op.op);
  Head head;
  head.name = "reduction";
  head.dims = dims;
  head.fuses = op.attrs.get_int("keepdims", 1) != 0;
  head.reference_ok = true;
  head.make = [=](const Desc& result, const dnnl::primitive_attr& attr) {
    return make_primitive<dnnl::reduction>({algorithm, source.desc, result, 0.0F, 0.0F}, attr);
  };
  head.operands = [=](const dnnl::primitive_desc_base&) { return std::vector<Argument>{{DNNL_ARG_SRC, source}}; };
  return b.emit(index, head);
}

}  // namespace collage::runtime::onednn
