// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools and Resize: pictures, channels last.

#include "runtime/core/layout.h"
#include "runtime/kernels/window.h"
#include "runtime/libraries/xnnpack/call.h"

namespace collage::runtime::xnnpack {
namespace {

constexpr const char* kImage = "NHWC";

uint32_t u32(int64_t number) {
  return static_cast<uint32_t>(number);
}
size_t count(int64_t number) {
  return static_cast<size_t>(number);
}

std::string size_text(const Shape& kernel) {
  return std::to_string(kernel[0]) + "x" + std::to_string(kernel[1]);
}

/// What the operators of this file have in common: a picture in, a picture out.
struct Images {
  Shape x, y;
  size_t batch, height, width, channels;
};

Result<Images> images_of(const Source& source) {
  const Shape& x = source.shape(source.input(0));
  const Shape& y = source.shape(source.output);
  if (x.size() != 4 || y.size() != 4) return Status::error(std::to_string(x.size()) + " dimensions, need an image");
  return Images{x, y, count(x[0]), count(x[2]), count(x[3]), count(x[1])};
}

Call image_call(const Source& source, const Images& images) {
  Call call;
  call.reads = {{source.input(0), images.x, kImage}};
  call.write = {source.output, images.y, kImage};
  return call;
}

/// The setups that are alike.
template <typename Setup>
auto setup_of(Setup setup, const Images& images) {
  return [setup, batch = images.batch, height = images.height, width = images.width](
             xnn_operator_t op, const std::vector<const float*>& in, float* out, pthreadpool_t pool) {
    return setup(op, batch, height, width, in[0], out, pool);
  };
}

const float* data_of(const Tensor& tensor) {
  return tensor.is_empty_handle() ? nullptr : reinterpret_cast<const float*>(tensor.data());
}

/// A constant bias of so many elements, or an empty handle.
Result<Tensor> bias_of(const Source& source, size_t index, int64_t elements) {
  const int id = source.input(index);
  if (id < 0) return Tensor();
  if (!source.is_constant(id)) return Status::error("a bias that is computed");
  if (element_count(source.shape(id)) != elements) return Status::error("a bias of another length");
  return source.value(id).constant;
}

std::vector<Tensor> weights_of(const Source& source, int weights, const Tensor& bias) {
  std::vector<Tensor> all = {source.value(weights).constant};
  if (!bias.is_empty_handle()) all.push_back(bias);
  return all;
}

}  // namespace

Result<Call> make_convolution(const Source& source) {
  Result<Images> images = images_of(source);
  if (!images) return images.status();
  const int weights = source.input(1);
  if (!source.is_constant(weights)) return Status::error("weights that are computed");
  const Shape& w = source.shape(weights);
  const int64_t groups = source.op.attrs.get_int("group", 1);
  if (w.size() != 4 || groups < 1 || w[0] % groups != 0 || w[1] * groups != images->x[1] || images->y[1] != w[0])
    return Status::error("illegal groups");
  Window g;
  if (auto problem = resolve_window({images->x[2], images->x[3]}, {w[2], w[3]}, source.op.attrs, &g))
    return Status::error(problem->message);
  if (Shape{images->y[2], images->y[3]} != g.output) return Status::error("its result has another shape");
  Result<Tensor> bias = bias_of(source, 2, w[0]);
  if (!bias) return bias.status();
  Call call = image_call(source, *images);
  call.weights = weights_of(source, weights, *bias);
  call.create = [=, kernel = source.value(weights).constant, bias = *bias, limits = source.limits](xnn_operator_t* op) {
    const Shape& shape = kernel.shape();
    const size_t in = count(shape[1]), out = count(shape[0] / groups);
    const Tensor packed = in_layout(kernel, kImage);
    return xnn_create_convolution2d_nhwc_f32(
        u32(g.pads_begin[0]), u32(g.pads_end[1]), u32(g.pads_end[0]), u32(g.pads_begin[1]), u32(g.kernel[0]),
        u32(g.kernel[1]), u32(g.strides[0]), u32(g.strides[1]), u32(g.dilations[0]), u32(g.dilations[1]), u32(groups),
        in, out, in * count(groups), out * count(groups), data_of(packed), data_of(bias), limits.low, limits.high, 0,
        op);
  };
  call.setup = setup_of(xnn_setup_convolution2d_nhwc_f32, *images);
  const bool is_depthwise = groups == images->x[1] && groups > 1;
  call.text = (is_depthwise ? "depthwise convolution " : "convolution ") + size_text(g.kernel) + " " +
              std::to_string(images->x[1]) + " -> " + std::to_string(w[0]);
  return call;
}

Result<Call> make_deconvolution(const Source& source) {
  Result<Images> images = images_of(source);
  if (!images) return images.status();
  const int weights = source.input(1);
  if (!source.is_constant(weights)) return Status::error("weights that are computed");
  const Shape& w = source.shape(weights);
  const int64_t groups = source.op.attrs.get_int("group", 1);
  if (w.size() != 4 || groups < 1 || w[0] != images->x[1] || w[0] % groups != 0 || images->y[1] != w[1] * groups)
    return Status::error("illegal groups");
  Window g;
  if (auto problem = resolve_transposed_window({images->x[2], images->x[3]}, {w[2], w[3]}, source.op.attrs, &g))
    return Status::error(problem->message);
  if (Shape{images->y[2], images->y[3]} != g.output) return Status::error("its result has another shape");
  int64_t more[2];  // rows and columns after the last window
  for (size_t d = 0; d < 2; ++d) {
    const int64_t reach = (g.input[d] - 1) * g.strides[d] + (g.kernel[d] - 1) * g.dilations[d] + 1;
    more[d] = g.output[d] - (reach - g.pads_begin[d] - g.pads_end[d]);
    if (more[d] < 0 || more[d] >= g.strides[d] || g.pads_begin[d] < 0 || g.pads_end[d] < 0)
      return Status::error("its result is not what strides and pads make");
  }
  Result<Tensor> bias = bias_of(source, 2, images->y[1]);
  if (!bias) return bias.status();
  Call call = image_call(source, *images);
  call.weights = weights_of(source, weights, *bias);
  call.create = [=, kernel = source.value(weights).constant, bias = *bias, limits = source.limits](xnn_operator_t* op) {
    const Shape& shape = kernel.shape();  // [in, out of a group, height, width]
    const int64_t in = shape[0] / groups, out = shape[1], taps = shape[2] * shape[3];
    Tensor packed(DType::F32, {groups, out, taps, in});
    const std::span<const float> from = kernel.as<float>();
    const std::span<float> to = packed.as<float>();
    size_t at = 0;
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t o = 0; o < out; ++o) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t i = 0; i < in; ++i) to[at++] = from[count(((group * in + i) * out + o) * taps + tap)];
        }
      }
    }
    return xnn_create_deconvolution2d_nhwc_f32(
        u32(g.pads_begin[0]), u32(g.pads_end[1]), u32(g.pads_end[0]), u32(g.pads_begin[1]), u32(g.kernel[0]),
        u32(g.kernel[1]), u32(g.strides[0]), u32(g.strides[1]), u32(g.dilations[0]), u32(g.dilations[1]), u32(groups),
        count(in), count(out), count(in * groups), count(out * groups), data_of(packed), data_of(bias), limits.low,
        limits.high, 0, op);
  };
  call.setup = [images = *images, rows = u32(more[0]), columns = u32(more[1])](
                   xnn_operator_t op, const std::vector<const float*>& in, float* out, pthreadpool_t pool) {
    return xnn_setup_deconvolution2d_nhwc_f32(op, images.batch, images.height, images.width, rows, columns, in[0], out,
                                              pool);
  };
  call.text =
      "deconvolution " + size_text(g.kernel) + " " + std::to_string(w[0]) + " -> " + std::to_string(images->y[1]);
  return call;
}

Result<Call> make_pool(const Source& source) {
  Result<Images> images = images_of(source);
  if (!images) return images.status();
  const AttrMap& attrs = source.op.attrs;
  Window g;
  if (auto problem = resolve_window({images->x[2], images->x[3]}, attrs.get_ints("kernel_shape"), attrs, &g))
    return Status::error(problem->message);
  if (g.rank() != 2 || Shape{images->y[2], images->y[3]} != g.output)
    return Status::error("its result has another shape");
  if (g.kernel == Shape{1, 1}) return Status::error("a window of one element");
  const bool is_max = source.op.op == "MaxPool";
  const bool is_dilated = g.dilations != Ints{1, 1}, is_padded = g.pads_begin != Ints{0, 0} || g.pads_end != Ints{0, 0};
  if (is_dilated && !is_max) return Status::error("dilated");
  // Its windows take the nearest element for one in the padding, and with dilation that can be one between two taps.
  if (is_dilated && is_padded) return Status::error("dilated and padded");
  if (!is_max && is_padded && attrs.get_int("count_include_pad", 0) != 0) return Status::error("a mean over padding");
  for (size_t d = 0; d < 2; ++d) {
    const int64_t reach = (g.output[d] - 1) * g.strides[d] + (g.kernel[d] - 1) * g.dilations[d] + 1;
    if (reach > g.input[d] + g.pads_begin[d] + g.pads_end[d]) return Status::error("a window that ends outside");
    if (g.pads_begin[d] >= g.kernel[d] || g.pads_end[d] >= g.kernel[d]) return Status::error("a window of padding");
  }
  Call call = image_call(source, *images);
  call.create = [=, channels = images->channels, limits = source.limits](xnn_operator_t* op) {
    if (is_max)
      return xnn_create_max_pooling2d_nhwc_f32(
          u32(g.pads_begin[0]), u32(g.pads_end[1]), u32(g.pads_end[0]), u32(g.pads_begin[1]), u32(g.kernel[0]),
          u32(g.kernel[1]), u32(g.strides[0]), u32(g.strides[1]), u32(g.dilations[0]), u32(g.dilations[1]), channels,
          channels, channels, limits.low, limits.high, 0, op);
    return xnn_create_average_pooling2d_nhwc_f32(u32(g.pads_begin[0]), u32(g.pads_end[1]), u32(g.pads_end[0]),
                                                 u32(g.pads_begin[1]), u32(g.kernel[0]), u32(g.kernel[1]),
                                                 u32(g.strides[0]), u32(g.strides[1]), channels, channels, channels,
                                                 limits.low, limits.high, 0, op);
  };
  call.setup = setup_of(is_max ? xnn_setup_max_pooling2d_nhwc_f32 : xnn_setup_average_pooling2d_nhwc_f32, *images);
  call.text = (is_max ? "max pool " : "average pool ") + size_text(g.kernel);
  return call;
}

Result<Call> make_global_pool(const Source& source) {
  const Shape& x = source.shape(source.input(0));
  if (x.size() != 3 && x.size() != 4) return Status::error(std::to_string(x.size()) + " dimensions, need 3 or 4");
  const std::string layout = layout_of_rank(kChannelsLast, x.size());
  const size_t batch = count(x[0]), channels = count(x[1]), positions = count(element_count(x) / (x[0] * x[1]));
  Call call;
  call.reads = {{source.input(0), x, layout}};
  call.write = {source.output, source.shape(source.output), layout};
  call.create = [=, limits = source.limits](xnn_operator_t* op) {
    return xnn_create_global_average_pooling_nwc_f32(channels, channels, channels, limits.low, limits.high, 0, op);
  };
  call.setup = [=](xnn_operator_t op, const std::vector<const float*>& in, float* out, pthreadpool_t pool) {
    return xnn_setup_global_average_pooling_nwc_f32(op, batch, positions, in[0], out, pool);
  };
  call.text = "global average pool";
  return call;
}

/// Bilinear. XNNPACK maps coordinates by the quotient of the extents.
Result<Call> make_resize(const Source& source) {
  Result<Images> images = images_of(source);
  if (!images) return images.status();
  const AttrMap& attrs = source.op.attrs;
  const Shape &from = images->x, &to = images->y;
  if (attrs.get_string("mode", "nearest") != "linear") return Status::error("no linear interpolation");
  if (from[0] != to[0] || from[1] != to[1]) return Status::error("channels or images are resized");
  if (attrs.get_int("antialias", 0) != 0 || attrs.has("axes")) return Status::error("attributes that it does not have");
  const std::string coordinates = attrs.get_string("coordinate_transformation_mode", "half_pixel");
  uint32_t flags = 0;
  if (coordinates == "align_corners") {
    flags = XNN_FLAG_ALIGN_CORNERS;
  } else if (coordinates == "asymmetric") {
    flags = XNN_FLAG_TENSORFLOW_LEGACY_MODE;
  } else if (coordinates != "half_pixel") {
    return Status::error("coordinates " + coordinates);
  }
  const int scales = source.input(2);
  if (scales >= 0 && !source.is_constant(scales)) return Status::error("scales that are computed");
  if (scales >= 0 && element_count(source.shape(scales)) == 4 && coordinates != "align_corners") {
    for (size_t d = 2; d < 4; ++d) {
      const double scale = element_as_double(source.value(scales).constant.view(), static_cast<int64_t>(d));
      if (scale * static_cast<double>(from[d]) != static_cast<double>(to[d]))
        return Status::error("a scale that is no quotient of extents");
    }
  }
  Call call = image_call(source, *images);
  call.create = [channels = images->channels, flags](xnn_operator_t* op) {
    return xnn_create_resize_bilinear2d_nhwc_f32(channels, channels, channels, flags, op);
  };
  call.setup = [images = *images, height = count(to[2]), width = count(to[3])](
                   xnn_operator_t op, const std::vector<const float*>& in, float* out, pthreadpool_t pool) {
    return xnn_setup_resize_bilinear2d_nhwc_f32(op, images.batch, images.height, images.width, height, width, in[0],
                                                out, pool);
  };
  call.text = "resize bilinear";
  return call;
}

}  // namespace collage::runtime::xnnpack
