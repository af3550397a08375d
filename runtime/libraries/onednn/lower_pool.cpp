// SPDX-License-Identifier: Apache-2.0
// Pools, in the layout that their operand has, or plain where oneDNN has only plain loops for that. Means over all
// spatial dimensions are pools too.
#include <string_view>

#include "runtime/kernels/window.h"
#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {
namespace {

using dnnl::algorithm;

Status emit_pool(Builder& b, int index, algorithm kind, const char* name, const Window& w) {
  Stored lies = b.stored(b.input(index, 0));
  Dims dims = lies.desc.dims();
  for (size_t d = 0; d < w.rank(); ++d) dims[d + 2] = w.output[d];
  Dims dilations, pads_end;
  for (size_t d = 0; d < w.rank(); ++d) {
    dilations.push_back(w.dilations[d] - 1);
    int64_t extent = (w.kernel[d] - 1) * w.dilations[d] + 1;
    pads_end.push_back((w.output[d] - 1) * w.strides[d] + extent - w.input[d] - w.pads_begin[d]);
  }
  Head head;
  head.name = name;
  head.dims = dims;
  auto make = [=](const Desc& source, const Desc& result, const dnnl::primitive_attr& attr) {
    return make_primitive<dnnl::pooling_v2_forward>({dnnl::prop_kind::forward_inference, kind, source, result,
                                                     w.strides, w.kernel, dilations, w.pads_begin, pads_end},
                                                    attr);
  };
  dnnl::primitive_desc_base bare = make(lies.desc, any_desc(dims), dnnl::primitive_attr());
  bool is_fast = bare && !std::string_view(bare.impl_info_str()).starts_with("ref");
  const Desc source = is_fast ? lies.desc : plain_desc(lies.desc.dims());
  head.make = [=](const Desc& result, const dnnl::primitive_attr& attr) { return make(source, result, attr); };
  head.operands = [=, &b](const dnnl::primitive_desc_base&) {
    return std::vector<Argument>{{DNNL_ARG_SRC, b.converted(lies, source)}};
  };
  return b.emit(index, head);
}

}  // namespace

Status lower_pool(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  const Shape& from = b.shape(b.input(index, 0));
  if (from.size() < 3 || from.size() > 5)
    return Status::error("rank " + std::to_string(from.size()) + ", oneDNN has 3 to 5");
  Window w;
  if (auto problem = resolve_window({from.begin() + 2, from.end()}, op.attrs.get_ints("kernel_shape"), op.attrs, &w))
    return Status::error(problem->message);
  if (op.op == "MaxPool") return emit_pool(b, index, algorithm::pooling_max, "pooling max", w);
  bool with_padding = op.attrs.get_int("count_include_pad", 0) != 0;
  for (size_t d = 0; d < w.rank() && with_padding; ++d) {
    int64_t reach = (w.output[d] - 1) * w.strides[d] + w.kernel[d] - w.input[d] - w.pads_begin[d];
    if (reach > w.pads_end[d]) return Status::error("a window counts padding and leaves it");
  }
  return emit_pool(b, index,
                   with_padding ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding,
                   "pooling avg", w);
}

Status lower_spatial_pool(Builder& b, int index, bool is_max) {
  const Shape& from = b.shape(b.input(index, 0));
  if (from.size() < 3 || from.size() > 5)
    return Status::error("rank " + std::to_string(from.size()) + ", oneDNN has 3 to 5");
  Window w;
  w.input.assign(from.begin() + 2, from.end());
  w.kernel = w.input;
  w.strides.assign(w.rank(), 1);
  w.dilations.assign(w.rank(), 1);
  w.pads_begin.assign(w.rank(), 0);
  w.output.assign(w.rank(), 1);
  return emit_pool(b, index, is_max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding,
                   is_max ? "pooling max" : "pooling avg", w);
}

Status lower_global_pool(Builder& b, int index) {
  return lower_spatial_pool(b, index, b.op(index).op == "GlobalMaxPool");
}

}  // namespace collage::runtime::onednn
