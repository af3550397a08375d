// SPDX-License-Identifier: Apache-2.0
// f32 -> quantised -> f32, with a convolution, a product or moves in between. Rounding to a byte jumps, so it is done
// to exact values only; what comes back is exact again.
#include "tests/differential/random_onnx_quantized.h"

#include <algorithm>
#include <cmath>

namespace collage::testing {
namespace {

/// How the numbers of a tensor are to be read: the names of scale and zero point.
struct Quantization {
  std::string scale, zero;
  bool is_signed = false;
};

std::string random_zero(OnnxMaker& m, bool is_signed, const Dims& dims) {
  return is_signed ? m.small_ints(onnx::TensorProto::INT8, dims, -20, 20)
                   : m.small_ints(onnx::TensorProto::UINT8, dims, 100, 150);
}

Quantization per_tensor(OnnxMaker& m, float scale) {
  bool is_signed = m.random.chance(50);
  return {m.scalar(scale * (1 + 0.3f * m.random.unit())), random_zero(m, is_signed, {}), is_signed};
}

OnnxValue dequantize(OnnxMaker& m, const OnnxValue& q, const Quantization& as) {
  return m.add1("DequantizeLinear", {q.name, as.scale, as.zero}, q.dims);
}

/// q = QLinearConv(q, …), or nothing where no window fits.
void convolve(OnnxMaker& m, OnnxValue* q, Quantization* as) {
  Window w;
  if (q->dims.size() < 3 || !draw_window(m, q->dims, true, false, &w)) return;
  int64_t channels = q->dims[1], group = m.random.chance(30) ? channels : 1;
  int64_t per_group = group > 1 ? m.random.in(1, 2) : m.random.in(1, 9);
  Dims weights = {group * per_group, channels / group};
  weights.insert(weights.end(), w.kernel.begin(), w.kernel.end());
  Dims dims = {q->dims[0], weights[0]};
  dims.insert(dims.end(), w.out.begin(), w.out.end());
  if (element_count(dims) > kMostElements) return;
  bool is_signed = m.random.chance(70);
  Dims list = m.random.chance(60) ? Dims{weights[0]} : Dims{};
  float scale = 0.02f / std::sqrt(static_cast<float>(element_count(weights) / weights[0]));
  Quantization result = per_tensor(m, 0.03f);
  std::vector<std::string> operands = {q->name,
                                       as->scale,
                                       as->zero,
                                       is_signed ? m.small_ints(onnx::TensorProto::INT8, weights, -128, 127)
                                                 : m.small_ints(onnx::TensorProto::UINT8, weights, 0, 255),
                                       m.weights(list, 0.3f * scale, scale),
                                       random_zero(m, is_signed, list),
                                       result.scale,
                                       result.zero};
  if (m.random.chance(60)) operands.push_back(m.small_ints(onnx::TensorProto::INT32, {weights[0]}, -2000, 2000));
  *q = m.add1("QLinearConv", operands, dims);
  set_window(m, w, true);
  if (group != 1) m.set("group", group);
  *as = result;
}

/// q = QLinearMatMul(q, …)
void multiply(OnnxMaker& m, OnnxValue* q, Quantization* as) {
  int64_t inner = q->dims.back(), columns = m.random.in(1, 9);
  Dims dims = q->dims;
  dims.back() = columns;
  Dims list = m.random.chance(40) ? Dims{columns} : Dims{};
  float scale = 0.02f / std::sqrt(static_cast<float>(inner));
  Quantization result = per_tensor(m, 0.03f);
  *q = m.add1("QLinearMatMul",
              {q->name, as->scale, as->zero, m.small_ints(onnx::TensorProto::INT8, {inner, columns}, -128, 127),
               m.weights(list, 0.3f * scale, scale), random_zero(m, true, list), result.scale, result.zero},
              dims);
  *as = result;
}

/// What passes quantised numbers on without reading their scale.
void move(OnnxMaker& m, OnnxValue* q, const Quantization& as) {
  Window w;
  if (q->dims.size() == 4 && m.random.chance(60) && draw_window(m, q->dims, false, false, &w)) {
    *q = m.add1("MaxPool", {q->name}, {q->dims[0], q->dims[1], w.out[0], w.out[1]});
    set_window(m, w, false);
  } else if (as.is_signed && m.opset >= 14 && m.random.chance(50)) {
    *q = m.add1("Relu", {q->name}, q->dims);
  } else {
    Dims order, dims(q->dims.rbegin(), q->dims.rend());
    for (size_t i = q->dims.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
    *q = m.add1("Transpose", {q->name}, dims);
    m.set("perm", order);
  }
}

bool keep_exact(OnnxMaker& m, OnnxValue value) {
  value.is_exact = true;
  m.keep(value);
  return true;
}

/// There and back along an axis.
bool add_per_axis(OnnxMaker& m, const OnnxValue& x) {
  int64_t rank = static_cast<int64_t>(x.dims.size()), axis = m.random.in(0, rank - 1);
  Dims list = {x.dims[static_cast<size_t>(axis)]};
  bool is_signed = m.random.chance(50);
  Quantization as = {m.weights(list, 0.01f, 0.03f), random_zero(m, is_signed, list), is_signed};
  int64_t written = m.random.chance(50) ? axis : axis - rank;
  OnnxValue q = m.add1("QuantizeLinear", {x.name, as.scale, as.zero}, x.dims);
  m.set("axis", written);
  OnnxValue back = dequantize(m, q, as);
  m.set("axis", written);
  return keep_exact(m, back);
}

}  // namespace

bool add_quantized(OnnxMaker& m) {
  auto x = m.pick(2, 5, true);
  if (!x || m.opset < 13) return false;
  if (m.random.chance(25)) return add_per_axis(m, *x);
  Quantization as = per_tensor(m, 0.02f);
  OnnxValue q = m.add1("QuantizeLinear", {x->name, as.scale, as.zero}, x->dims);
  if (m.random.chance(30)) move(m, &q, as);
  if (q.dims.size() > 2 && m.random.chance(80)) {
    convolve(m, &q, &as);
  } else if (m.random.chance(60)) {
    multiply(m, &q, &as);
  }
  if (m.random.chance(30)) move(m, &q, as);
  return keep_exact(m, dequantize(m, q, as));
}

}  // namespace collage::testing
