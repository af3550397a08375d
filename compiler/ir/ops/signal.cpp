// SPDX-License-Identifier: Apache-2.0
// Spectra of signals: DFT, STFT; windows and filter banks for them: HannWindow, HammingWindow, BlackmanWindow,
// MelWeightMatrix. Numbers of a spectrum are complex: the last dimension holds the real and the imaginary part.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"
#include "compiler/ir/ops/onnx_dtype.h"

namespace collage::ir::ops {
namespace {

constexpr int64_t kMostSamples = int64_t{1} << 26;

/// Reads operand `i`, a constant integer from `least` on.
bool read_count(InferContext& ctx, size_t i, int64_t least, int64_t* count) {
  runtime::Ints numbers;
  if (!read_constant_ints(ctx, i, &numbers)) return false;
  if (numbers.size() != 1) return ctx.shape_error(i, "the operand is one number");
  if (numbers[0] < least || numbers[0] > kMostSamples) {
    return ctx.shape_error(i, fmt::format("{} is not between {} and {}", numbers[0], least, kMostSamples));
  }
  *count = numbers[0];
  return true;
}

bool read_output_dtype(InferContext& ctx, DType* dtype) {
  std::optional<DType> given = dtype_of_onnx(ctx.attrs().int_of("output_datatype"));
  if (!given || !is_in(*given, TypeClass::Number)) {
    return ctx.attr_error("output_datatype", "`output_datatype` is not a supported number type");
  }
  *dtype = *given;
  return true;
}

/// Requires a last dimension that holds real (1) or complex (2) numbers.
bool require_numbers(InferContext& ctx, size_t least_rank) {
  if (!require_type(ctx, 0, TypeClass::Float) || !require_rank(ctx, 0, least_rank, 64)) return false;
  int64_t parts = ctx.input(0).shape.back();
  if (parts == 1 || parts == 2) return true;
  return ctx.shape_error(0, fmt::format("the last dimension holds 1 part (real) or 2 (complex), found {}", parts));
}

/// Operands: x […, 1 or 2], length of the transform?
bool infer_dft(InferContext& ctx) {
  if (!require_numbers(ctx, 2)) return false;
  TensorType type = ctx.input(0);
  size_t axis;
  if (!read_axis(ctx, "axis", type.shape.size(), &axis)) return false;
  if (axis + 1 == type.shape.size()) return ctx.attr_error("axis", "`axis` is that of the real and imaginary parts");
  const bool inverse = ctx.attrs().int_of("inverse") != 0;
  const bool onesided = ctx.attrs().int_of("onesided") != 0;
  if (onesided && !inverse && type.shape.back() != 1) {
    return ctx.attr_error("onesided", "only the spectrum of a real signal is symmetric, but the signal is complex");
  }
  int64_t length = inverse && onesided ? 2 * (type.shape[axis] - 1) : type.shape[axis];
  if (ctx.has_input(1) && !read_count(ctx, 1, 1, &length)) return false;
  if (length < 1) return ctx.shape_error(0, fmt::format("axis {} is too short for a transform", axis));
  type.shape[axis] = onesided && !inverse ? length / 2 + 1 : length;
  type.shape.back() = onesided && inverse ? 1 : 2;
  ctx.set_output(0, std::move(type));
  return true;
}

/// Operands: x [batch, samples, 1 or 2], samples from frame to frame, window?, samples of a frame?
bool infer_stft(InferContext& ctx) {
  int64_t step;
  if (!require_numbers(ctx, 3) || !require_rank(ctx, 0, 3, 3) || !read_count(ctx, 1, 1, &step)) return false;
  const TensorType& x = ctx.input(0);
  int64_t length = x.shape[1];
  if (ctx.has_input(2)) {
    if (!require_rank(ctx, 2, 1, 1)) return false;
    if (ctx.input(2).dtype != x.dtype) return ctx.type_error(2, "the window has another dtype than the signal");
    length = ctx.input(2).shape[0];
  }
  if (ctx.has_input(3) && !read_count(ctx, 3, 1, &length)) return false;
  if (ctx.has_input(2) && !require_shape(ctx, 2, {length})) return false;
  if (length < 1 || length > x.shape[1]) {
    return ctx.shape_error(0, fmt::format("{} samples hold no frame of {}", x.shape[1], length));
  }
  const bool onesided = ctx.attrs().int_of("onesided") != 0;
  if (onesided && x.shape[2] != 1) {
    return ctx.attr_error("onesided", "only the spectrum of a real signal is symmetric, but the signal is complex");
  }
  const int64_t frames = (x.shape[1] - length) / step + 1;
  ctx.set_output(0, {x.dtype, {x.shape[0], frames, onesided ? length / 2 + 1 : length, 2}});
  return true;
}

/// 5 N log2 N operations, a known count for transforms of a power of two.
double transform_flops(double length, double lines) {
  return 5 * lines * length * std::log2(std::max(2.0, length));
}

Work dft_work(const WorkArgs& args) {
  const Shape& x = args.inputs[0].shape;
  const Shape& y = args.outputs[0].shape;
  int64_t axis = args.attrs.int_of("axis");
  const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
  const auto length = static_cast<double>(std::max(x[at], y[at]));
  const auto numbers = static_cast<double>(runtime::element_count(y) / std::max<int64_t>(1, y.back() * y[at]));
  return {0, transform_flops(length, numbers)};
}

Work stft_work(const WorkArgs& args) {
  const Shape& y = args.outputs[0].shape;
  const bool onesided = args.attrs.int_of("onesided") != 0;
  const double length = static_cast<double>(y[2]) * (onesided ? 2 : 1);
  return {0, transform_flops(length, static_cast<double>(y[0] * y[1]))};
}

/// Operand: the number of elements.
bool infer_window(InferContext& ctx) {
  int64_t size;
  DType dtype;
  if (!read_count(ctx, 0, 0, &size) || !read_output_dtype(ctx, &dtype)) return false;
  ctx.set_output(0, {dtype, {size}});
  return true;
}

/// Operands: bands, length of the transform, samples per second, lower and upper frequency.
bool infer_mel_weight_matrix(InferContext& ctx) {
  int64_t bands, length;
  DType dtype;
  if (!read_count(ctx, 0, 1, &bands) || !read_count(ctx, 1, 1, &length) || !read_output_dtype(ctx, &dtype)) {
    return false;
  }
  for (size_t i = 2; i < 5; ++i) {
    if (!require_type(ctx, i, i == 2 ? TypeClass::Integer : TypeClass::Float)) return false;
    if (runtime::element_count(ctx.input(i).shape) != 1) return ctx.shape_error(i, "the operand is one number");
  }
  ctx.set_output(0, {dtype, {length / 2 + 1, bands}});
  return true;
}

OpDef window(std::string_view doc) {
  return {.attrs = {{"output_datatype", AttrKind::Int, 1}, {"periodic", AttrKind::Int, 1}},
          .kind = FusionKind::Opaque,
          .infer = infer_window,
          .work = elementwise_work<8>,
          .doc = doc};
}

}  // namespace

OpDef define_DFT() {
  return {.min_inputs = 1,
          .max_inputs = 2,
          .attrs = {{"axis", AttrKind::Int, 1}, {"inverse", AttrKind::Int, 0}, {"onesided", AttrKind::Int, 0}},
          .kind = FusionKind::Opaque,
          .infer = infer_dft,
          .work = dft_work,
          .doc = "discrete Fourier transform along an axis: %y = DFT(%x, %length) {axis = 1, onesided = 1}"};
}

OpDef define_STFT() {
  return {.min_inputs = 2,
          .max_inputs = 4,
          .attrs = {{"onesided", AttrKind::Int, 1}},
          .kind = FusionKind::Opaque,
          .infer = infer_stft,
          .work = stft_work,
          .doc = "spectra of overlapping frames of a signal: %y = STFT(%x, %step, %window) {onesided = 1}"};
}

OpDef define_HannWindow() {
  return window("sin(pi n / N)^2: %w = HannWindow(%size) {periodic = 0}");
}
OpDef define_HammingWindow() {
  return window("25/46 - 21/46 cos(2 pi n / N): %w = HammingWindow(%size) {periodic = 0}");
}
OpDef define_BlackmanWindow() {
  return window("0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N): %w = BlackmanWindow(%size) {periodic = 0}");
}

OpDef define_MelWeightMatrix() {
  return {.min_inputs = 5,
          .max_inputs = 5,
          .attrs = {{"output_datatype", AttrKind::Int, 1}},
          .kind = FusionKind::Opaque,
          .infer = infer_mel_weight_matrix,
          .work = elementwise_work<2>,
          .doc =
              "weights from the bins of a spectrum to mel bands: "
              "%m = MelWeightMatrix(%bands, %length, %rate, %low, %high)"};
}

}  // namespace collage::ir::ops
