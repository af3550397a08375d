// SPDX-License-Identifier: Apache-2.0
// Elementwise operators that hang on nothing: an eltwise or binary primitive, in the layout that its operand has.
#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {
namespace {

/// Rank of the result, 1s in front.
Dims aligned(const Shape& shape, size_t rank) {
  Dims dims(rank, 1);
  std::copy_backward(shape.begin(), shape.end(), dims.end());
  return dims;
}

}  // namespace

Status lower_elementwise(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  const Dims dims = plain_desc(b.shape(op.outputs[0])).dims();
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
  const Dims other_dims = aligned(b.shape(link.operand), dims.size());
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
