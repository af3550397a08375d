// SPDX-License-Identifier: Apache-2.0
// Elementwise operators that are not post-ops: an eltwise or binary primitive, in the layout of its operand.
#include <algorithm>

#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {
namespace {

/// The result as the primitive sees it: without dimensions of extent 1 at the end. Where images are single elements,
/// oneDNN 2.6 reads the wrong element of a post-op's operand that has one per channel.
///
///     [2, 6, 1, 1]   =>   [2, 6]
Dims seen_dims(const Shape& shape) {
  Dims dims = plain_desc(shape).dims();
  while (dims.size() > 1 && dims.back() == 1) dims.pop_back();
  return dims;
}

/// An operand as the primitive sees it: of the rank of the result, 1s in front, then cut like the result.
Dims aligned(const Shape& shape, size_t result_rank, size_t seen_rank) {
  Dims dims(std::max(result_rank, seen_rank), 1);
  std::copy_backward(shape.begin(), shape.end(), dims.end());
  dims.resize(seen_rank);
  return dims;
}

}  // namespace

Status lower_elementwise(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  const Dims dims = seen_dims(b.shape(op.outputs[0]));
  std::optional<Link> found;
  int x = -1;
  for (int candidate : op.inputs) {  // the operand that is not broadcast becomes x
    if (found || candidate < 0 || b.value(candidate).dtype != DType::F32) continue;
    if (element_count(b.shape(candidate)) != element_count(dims)) continue;
    found = link_of(b.program(), op, candidate);
    x = candidate;
  }
  if (!found) return Status::error("its operands are not of a form that oneDNN computes");
  Stored source = b.viewed(x, dims);
  if (found->is_identity()) {
    b.define_view(index, source);
    return Status::ok();
  }
  Link link = *found;
  Head head;
  head.dims = dims;
  head.result = source.desc;
  head.reference_ok = true;
  if (!link.is_binary()) {
    head.name = "eltwise " + link.text;
    head.make = [=](const Desc&, const dnnl::primitive_attr& attr) {
      using Eltwise = dnnl::eltwise_forward;
      return make_primitive<Eltwise>(
          {dnnl::prop_kind::forward_inference, link.algorithm, source.desc, link.alpha, link.beta}, attr);
    };
    head.operands = [=](const dnnl::primitive_desc_base&) { return std::vector<Argument>{{DNNL_ARG_SRC, source}}; };
    return b.emit(index, head);
  }
  const Dims other_dims = aligned(b.shape(link.operand), b.shape(op.outputs[0]).size(), dims.size());
  const Desc other = other_dims == dims ? source.desc : plain_desc(other_dims);
  head.name = link.text;
  head.make = [=](const Desc& result, const dnnl::primitive_attr& attr) {
    return make_primitive<dnnl::binary>({link.algorithm, source.desc, other, result}, attr);
  };
  head.operands = [=, &b](const dnnl::primitive_desc_base&) {
    return std::vector<Argument>{{DNNL_ARG_SRC_0, source},
                                 {DNNL_ARG_SRC_1, b.converted(b.viewed(link.operand, other_dims), other)}};
  };
  return b.emit(index, head);
}

}  // namespace collage::runtime::onednn
