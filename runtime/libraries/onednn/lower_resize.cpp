// SPDX-License-Identifier: Apache-2.0
// Resize as resampling. oneDNN has one way to map coordinates, half_pixel, and rounds to the nearest:
//
//     source = (i + 0.5) * from / to - 0.5
//
// which is what ONNX's half_pixel means where the scale is exactly to / from. For whole-numbered enlargement by nearest
// neighbours, asymmetric coordinates rounded down pick the same elements.
#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {

Status lower_resize(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  int x = b.input(index, 0);
  const Shape& from = b.shape(x);
  const Shape& to = b.shape(op.outputs[0]);
  if (from.size() < 3 || from.size() > 5 || from[0] != to[0] || from[1] != to[1])
    return Status::error("only the one to three spatial dimensions can be resampled");
  std::string mode = op.attrs.get_string("mode", "nearest");
  std::string coordinates = op.attrs.get_string("coordinate_transformation_mode", "half_pixel");
  std::string rounding = op.attrs.get_string("nearest_mode", "round_prefer_floor");
  if (op.attrs.get_int("antialias", 0) != 0) return Status::error("antialiased");
  Tensor scales = b.constant(b.input(index, 2));
  bool is_half_pixel = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
  for (size_t d = 2; d < from.size(); ++d) {
    bool is_whole = to[d] % from[d] == 0;
    if (coordinates == "pytorch_half_pixel" && to[d] == 1) return Status::error("coordinates pytorch_half_pixel to 1");
    if (!scales.is_empty_handle() && scales.count() == static_cast<int64_t>(from.size())) {
      double scale = element_as_double(scales.view(), static_cast<int64_t>(d));
      if (scale * static_cast<double>(from[d]) != static_cast<double>(to[d]))
        return Status::error("its scale is no quotient of extents");
    }
    if (mode == "linear" ? is_half_pixel
                         : is_whole && (is_half_pixel ? rounding.starts_with("round")
                                                      : coordinates == "asymmetric" && rounding == "floor"))
      continue;
    return Status::error("mode " + mode + ", coordinates " + coordinates + ", rounding " + rounding);
  }
  Stored source = b.stored(x);
  dnnl::algorithm algorithm =
      mode == "linear" ? dnnl::algorithm::resampling_linear : dnnl::algorithm::resampling_nearest;
  Head head;
  head.name = "resampling " + mode;
  head.dims = to;
  head.reference_ok = true;
  head.make = [=](const Desc& result, const dnnl::primitive_attr& attr) {
    return make_primitive<dnnl::resampling_forward>(
        {dnnl::prop_kind::forward_inference, algorithm, source.desc, result}, attr);
  };
  head.operands = [=](const dnnl::primitive_desc_base&) { return std::vector<Argument>{{DNNL_ARG_SRC, source}}; };
  return b.emit(index, head);
}

}  // namespace collage::runtime::onednn
