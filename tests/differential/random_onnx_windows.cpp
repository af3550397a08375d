// SPDX-License-Identifier: Apache-2.0
// Convolutions, pools, normalisations, products and resizing for random models.
#include "tests/differential/random_onnx_windows.h"

#include <algorithm>
#include <cmath>

namespace collage::testing {
namespace {

/// Weights that keep results about as large as the operand: 1 / sqrt(terms of a sum).
float scale_for(int64_t terms) {
  return 1.0f / std::sqrt(static_cast<float>(terms));
}

}  // namespace

bool draw_window(OnnxMaker& m, const Dims& dims, bool may_dilate, bool may_round_up, Window* w) {
  size_t spatial = dims.size() - 2;
  int64_t style = m.random.in(0, 9);
  w->auto_pad = style == 0 ? "SAME_UPPER" : style == 1 ? "SAME_LOWER" : style == 2 ? "VALID" : "";
  w->rounds_up = may_round_up && w->auto_pad.empty() && m.random.chance(20);
  w->pads.assign(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t in = dims[i + 2];
    int64_t kernel = m.random.in(1, std::min<int64_t>(in, 4));
    // Dilated windows under SAME padding: exporters do not make them, and runtimes differ about them.
    int64_t dilation = may_dilate && w->auto_pad.empty() && m.random.chance(20) ? 2 : 1;
    int64_t stride = m.random.chance(35) ? m.random.in(2, 3) : 1;
    int64_t reach = dilation * (kernel - 1) + 1;
    if (w->auto_pad.empty() && m.random.chance(60)) {
      w->pads[i] = m.random.in(0, kernel - 1);
      w->pads[i + spatial] = m.random.chance(60) ? w->pads[i] : m.random.in(0, kernel - 1);
    }
    int64_t room = in + w->pads[i] + w->pads[i + spatial] - reach;
    if (room < 0) return false;
    int64_t out = room / stride + 1;
    if (w->auto_pad.starts_with("SAME")) out = (in + stride - 1) / stride;
    if (w->rounds_up) {
      out = (room + stride - 1) / stride + 1;
      // A last window that starts in the padding sees nothing at all.
      if ((out - 1) * stride >= in + w->pads[i]) return false;
    }
    w->kernel.push_back(kernel);
    w->strides.push_back(stride);
    w->dilations.push_back(dilation);
    w->out.push_back(out);
  }
  return true;
}

void set_window(OnnxMaker& m, const Window& w, bool kernel_is_implied) {
  auto is_all = [](const Dims& values, int64_t value) {
    for (int64_t v : values) {
      if (v != value) return false;
    }
    return true;
  };
  if (!kernel_is_implied || m.random.chance(70)) m.set("kernel_shape", w.kernel);
  if (!is_all(w.strides, 1) || m.random.chance(50)) m.set("strides", w.strides);
  if (!is_all(w.dilations, 1) || (kernel_is_implied && m.random.chance(50))) m.set("dilations", w.dilations);
  if (!w.auto_pad.empty())
    m.set("auto_pad", w.auto_pad);
  else if (!is_all(w.pads, 0) || m.random.chance(50))
    m.set("pads", w.pads);
  if (w.rounds_up) m.set("ceil_mode", int64_t{1});
}

bool add_conv(OnnxMaker& m) {
  auto x = m.pick(3, 5);
  Window w;
  if (!x || !draw_window(m, x->dims, true, false, &w)) return false;
  int64_t channels = x->dims[1], group = 1, per_group = m.random.chance(40) ? 8 : m.random.in(1, 6);
  if (m.random.chance(30)) {
    group = m.random.chance(50) || channels % 2 != 0 ? channels : 2;  // depthwise, or two halves
    if (channels % 4 == 0 && m.random.chance(40)) group = channels / (m.random.chance(50) ? 2 : 4);
    per_group = m.random.chance(50) ? channels / group : m.random.in(1, 2);
  }
  Dims weights = {group * per_group, channels / group};
  weights.insert(weights.end(), w.kernel.begin(), w.kernel.end());
  Dims dims = {x->dims[0], weights[0]};
  dims.insert(dims.end(), w.out.begin(), w.out.end());
  if (element_count(dims) > kMostElements) return false;
  std::vector<std::string> operands = {x->name, m.weights(weights, scale_for(element_count(weights) / weights[0]))};
  if (m.random.chance(60)) operands.push_back(m.weights({weights[0]}));
  OnnxValue y = m.add1("Conv", operands, dims);
  set_window(m, w, true);
  if (group != 1 || m.random.chance(30)) m.set("group", group);
  if (m.random.chance(40)) y = m.add1(m.random.chance(70) ? "Relu" : "Sigmoid", {y.name}, dims);
  return keep(m, y);
}

// out = stride * (in - 1) + output_padding + (kernel - 1) * dilation + 1 - pads
bool add_conv_transpose(OnnxMaker& m) {
  auto x = m.pick(3, 5);
  if (!x) return false;
  size_t spatial = x->dims.size() - 2;
  int64_t channels = x->dims[1], group = channels % 2 == 0 && m.random.chance(30) ? 2 : 1;
  Dims weights = {channels, m.random.chance(30) ? 8 : m.random.in(1, 4)}, dims = {x->dims[0], weights[1] * group};
  Dims strides, dilations, extra, pads(2 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t kernel = m.random.in(1, 3), stride = m.random.in(1, 2), dilation = m.random.chance(15) ? 2 : 1;
    int64_t added = stride > 1 && m.random.chance(30) ? 1 : 0;
    int64_t reach = dilation * (kernel - 1) + 1;
    pads[i] = m.random.in(0, kernel - 1);
    pads[i + spatial] = m.random.in(0, kernel - 1);
    int64_t out = stride * (x->dims[i + 2] - 1) + added + reach - pads[i] - pads[i + spatial];
    if (out < 1) return false;
    weights.push_back(kernel);
    strides.push_back(stride);
    dilations.push_back(dilation);
    extra.push_back(added);
    dims.push_back(out);
  }
  if (element_count(dims) > kMostElements) return false;
  std::vector<std::string> operands = {x->name,
                                       m.weights(weights, scale_for(element_count(weights) / weights[1] / group))};
  if (m.random.chance(50)) operands.push_back(m.weights({dims[1]}));
  OnnxValue y = m.add1("ConvTranspose", operands, dims);
  m.set("strides", strides).set("pads", pads).set("output_padding", extra).set("dilations", dilations);
  m.set("group", group);
  return keep(m, y);
}

bool add_pool(OnnxMaker& m) {
  auto x = m.pick(3, 5);
  bool is_max = m.random.chance(50);
  Window w;
  if (!x || !draw_window(m, x->dims, is_max && m.opset >= 10, m.opset >= 10, &w)) return false;
  Dims dims = {x->dims[0], x->dims[1]};
  dims.insert(dims.end(), w.out.begin(), w.out.end());
  OnnxValue y = m.add1(is_max ? "MaxPool" : "AveragePool", {x->name}, dims);
  set_window(m, w, false);
  if (!is_max && !w.rounds_up && m.random.chance(40)) m.set("count_include_pad", m.random.in(0, 1));
  y.is_exact = is_max && x->is_exact;
  return keep(m, y);
}

bool add_global_pool(OnnxMaker& m) {
  auto x = m.pick(3, 5);
  if (!x) return false;
  Dims dims(x->dims.size(), 1);
  dims[0] = x->dims[0];
  dims[1] = x->dims[1];
  return keep(m, m.add1(m.random.chance(70) ? "GlobalAveragePool" : "GlobalMaxPool", {x->name}, dims));
}

bool add_normalization(OnnxMaker& m) {
  int64_t kind = m.random.in(0, m.opset >= 17 ? 3 : 2);
  auto x = kind == 2 ? m.pick(4, 4) : kind == 3 ? m.pick(2, 4) : m.pick(kind == 0 ? 2 : 3, 5);
  if (!x) return false;
  Dims channel = {x->dims[1]};
  if (kind == 0) {
    std::vector<std::string> operands = {x->name, m.weights(channel, 0.5f, 1), m.weights(channel),
                                         m.weights(channel, 0.3f), m.weights(channel, 0.4f, 1)};
    OnnxValue y = m.add1("BatchNormalization", operands, x->dims);
    if (m.random.chance(50)) m.set("epsilon", 1e-3f);
    return keep(m, y);
  }
  if (kind == 1) {
    OnnxValue y = m.add1("InstanceNormalization", {x->name, m.weights(channel, 0.5f, 1), m.weights(channel)}, x->dims);
    m.set("epsilon", 1e-2f);
    return keep(m, y);
  }
  if (kind == 2) {
    OnnxValue y = m.add1("LRN", {x->name}, x->dims);
    m.set("size", m.random.in(1, 5));
    if (m.random.chance(50)) m.set("alpha", 0.01f).set("beta", 0.5f).set("bias", 2.0f);
    return keep(m, y);
  }
  int64_t rank = static_cast<int64_t>(x->dims.size()), axis = m.random.in(1, rank - 1);
  Dims normalized(x->dims.begin() + axis, x->dims.end());
  std::vector<std::string> operands = {x->name, m.weights(normalized, 0.5f, 1)};
  if (m.random.chance(60)) operands.push_back(m.weights(normalized));
  OnnxValue y = m.add1("LayerNormalization", operands, x->dims);
  m.set("axis", m.random.chance(50) ? axis : axis - rank).set("epsilon", 1e-2f);
  return keep(m, y);
}

bool add_matmul(OnnxMaker& m) {
  auto x = m.pick(2, 4);
  if (!x) return false;
  int64_t rank = static_cast<int64_t>(x->dims.size()), columns = m.random.chance(30) ? 8 : m.random.in(1, 9);
  int64_t inner = x->dims.back();
  if (m.random.chance(20)) {  // x times x, turned around: no weights at all
    Dims order, turned = x->dims, dims = x->dims;
    for (int64_t i = 0; i < rank; ++i) order.push_back(i);
    std::swap(order[static_cast<size_t>(rank - 1)], order[static_cast<size_t>(rank - 2)]);
    std::swap(turned[static_cast<size_t>(rank - 1)], turned[static_cast<size_t>(rank - 2)]);
    dims.back() = dims[static_cast<size_t>(rank - 2)];
    if (element_count(dims) > kMostElements) return false;
    OnnxValue other = m.add1("Transpose", {x->name}, turned);
    m.set("perm", order);
    OnnxValue product = m.add1("MatMul", {x->name, other.name}, dims);
    return keep(m, m.add1("Mul", {product.name, m.scalar(scale_for(inner))}, dims));
  }
  Dims weights = {inner, columns}, dims = x->dims;
  dims.back() = columns;
  if (rank > 2 && m.random.chance(40))
    weights.insert(weights.begin(), m.random.chance(50) ? 1 : x->dims[static_cast<size_t>(rank - 3)]);
  return keep(m, m.add1("MatMul", {x->name, m.weights(weights, scale_for(inner))}, dims));
}

bool add_gemm(OnnxMaker& m) {
  auto x = m.pick(2, 2);
  if (!x) return false;
  bool turns_a = m.random.chance(25), turns_b = m.random.chance(50);
  int64_t rows = x->dims[turns_a ? 1 : 0], inner = x->dims[turns_a ? 0 : 1];
  int64_t columns = m.random.chance(30) ? 8 : m.random.in(1, 12);
  Dims weights = turns_b ? Dims{columns, inner} : Dims{inner, columns};
  std::vector<std::string> operands = {x->name, m.weights(weights, scale_for(inner))};
  if (m.opset < 11 || m.random.chance(70)) {
    std::vector<Dims> biases = {{columns}, {1, columns}, {rows, columns}, {rows, 1}, {1}};
    operands.push_back(m.weights(m.random.pick(biases)));
  }
  OnnxValue y = m.add1("Gemm", operands, {rows, columns});
  if (turns_a) m.set("transA", int64_t{1});
  if (turns_b) m.set("transB", int64_t{1});
  if (m.random.chance(25)) m.set("alpha", 0.5f).set("beta", 0.25f);
  return keep(m, y);
}

/// A convolution that keeps the size, as networks have after an enlargement.
OnnxValue enlarged_conv(OnnxMaker& m, const OnnxValue& x) {
  const int64_t kernel = m.random.chance(70) ? 3 : 1, channels = m.random.chance(75) ? 8 : m.random.in(1, 10);
  const Dims weights = {channels, x.dims[1], kernel, kernel};
  const Dims dims = {x.dims[0], channels, x.dims[2], x.dims[3]};
  if (element_count(dims) > kMostElements) return x;
  OnnxValue y = m.add1("Conv", {x.name, m.weights(weights, scale_for(x.dims[1] * kernel * kernel))}, dims);
  m.set("pads", Dims(4, kernel / 2));
  return y;
}

bool add_resize(OnnxMaker& m) {
  auto x = m.pick(4, 4);
  if (!x || element_count(x->dims) > kMostElements / 4 || m.opset < 9) return false;
  Dims dims = x->dims;
  dims[2] *= 2;
  dims[3] *= 2;
  std::string mode = m.random.pick(std::vector<std::string>{"nearest", "linear", "cubic"});
  if (m.opset < 11 && mode == "cubic") mode = "linear";
  const std::vector<float> factors = {1, 1, 2, 2};
  auto scales = [&] {
    if (m.opset < 12 || m.random.chance(50)) return m.floats(factors);
    std::string node = m.add1("Constant", {}, {4}).name;
    m.set_floats("value_floats", factors);
    return node;
  };
  if (m.opset < 11) {
    OnnxValue y = m.add1(m.opset == 9 ? "Upsample" : "Resize", {x->name, m.floats(factors)}, dims);
    m.set("mode", mode);
    y.is_exact = x->is_exact && mode == "nearest";
    return keep(m, y);
  }
  bool by_size = m.random.chance(40);
  std::vector<std::string> operands = {x->name, "", by_size ? "" : scales()};
  if (by_size) operands.push_back(m.ints(dims));
  OnnxValue y = m.add1("Resize", operands, dims);
  m.set("mode", mode);
  std::string coordinates =
      m.random.pick(std::vector<std::string>{"asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"});
  const bool repeats = mode == "nearest" && m.random.chance(60);
  if (repeats) coordinates = "asymmetric";
  m.set("coordinate_transformation_mode", coordinates);
  if (mode == "nearest") m.set("nearest_mode", "floor");
  if (mode == "cubic" && m.random.chance(40)) m.set("cubic_coeff_a", -0.5f);
  if (mode == "cubic" && m.random.chance(30)) m.set("exclude_outside", int64_t{1});
  // Coordinates that fall on a border may round either way.
  if (repeats && m.random.chance(70)) y = enlarged_conv(m, y);
  return keep(m, y);
}

}  // namespace collage::testing
