// SPDX-License-Identifier: Apache-2.0
// Quantised numbers: q stands for (q - zero point) * scale. A scale with its zero point holds for the whole tensor (a
// scalar, or a list of one), for each index along one dimension (a list), or for blocks of elements along it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/contractions.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

constexpr int64_t kMostBlock = int64_t{1} << 40;

bool require_byte(InferContext& ctx, size_t operand) {
  DType dtype = ctx.input(operand).dtype;
  if (dtype == DType::I8 || dtype == DType::U8) return true;
  return ctx.type_error(operand, fmt::format("operand has dtype {}, needs i8 or u8", name_of(dtype)));
}

bool require_dtype(InferContext& ctx, size_t operand, DType dtype) {
  if (ctx.input(operand).dtype == dtype) return true;
  return ctx.type_error(
      operand, fmt::format("operand has dtype {}, needs {}", name_of(ctx.input(operand).dtype), name_of(dtype)));
}

/// A scalar, or a list of one.
bool is_single(const Shape& shape) {
  return shape.size() <= 1 && runtime::element_count(shape) == 1;
}

bool require_single(InferContext& ctx, size_t operand) {
  const Shape& shape = ctx.input(operand).shape;
  if (is_single(shape)) return true;
  return ctx.shape_error(operand, "operand has shape " + runtime::to_string(shape) + ", needs a scalar");
}

/// One number, or one for each of `count` channels.
bool require_single_or_list(InferContext& ctx, size_t operand, int64_t count) {
  return is_single(ctx.input(operand).shape) || require_shape(ctx, operand, {count});
}

/// Scale and zero point (which may be absent) of the whole of a tensor with elements of `dtype`.
bool check_tensor_scale(InferContext& ctx, size_t scale, size_t zero_point, DType dtype,
                        DType scale_dtype = DType::F32) {
  return require_dtype(ctx, scale, scale_dtype) && require_single(ctx, scale) &&
         (!ctx.has_input(zero_point) || (require_dtype(ctx, zero_point, dtype) && require_single(ctx, zero_point)));
}

bool require_dtype_of(InferContext& ctx, size_t operand, const std::vector<DType>& dtypes) {
  DType found = ctx.input(operand).dtype;
  if (std::find(dtypes.begin(), dtypes.end(), found) != dtypes.end()) return true;
  std::string wanted;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    wanted += i == 0 ? "" : i + 1 < dtypes.size() ? ", " : " or ";
    wanted += name_of(dtypes[i]);
  }
  return ctx.type_error(operand, fmt::format("operand has dtype {}, needs {}", name_of(found), wanted));
}

/// What numbers are quantised to.
const std::vector<DType>& quantised_dtypes() {
  static const std::vector<DType> kDtypes = {
      DType::I8,         DType::U8,     DType::I16, DType::U16, DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2,
      DType::F8E5M2FNUZ, DType::F4E2M1, DType::I4,  DType::U4,  DType::I2,       DType::U2};
  return kDtypes;
}

/// Operands: x, scale, zero point?. Per tensor, along `axis`, or in blocks of `block_size` along it:
/// x [a, n, b] has a scale [a, ceil(n / block_size), b].
bool check_scale_along_axis(InferContext& ctx, DType dtype) {
  static const std::vector<DType> kScales = {DType::F32, DType::F16, DType::BF16, DType::F8E8M0};
  const Shape& scale = ctx.input(1).shape;
  const Shape& x = ctx.input(0).shape;
  const int64_t block = ctx.attrs().int_of("block_size");
  if (block < 0 || block > kMostBlock) {
    return ctx.attr_error("block_size",
                          fmt::format("`block_size` must be between 0 and {}, found {}", kMostBlock, block));
  }
  if (!require_dtype_of(ctx, 1, kScales) || (ctx.has_input(2) && !require_dtype(ctx, 2, dtype))) return false;
  if (is_single(scale)) return !ctx.has_input(2) || require_single(ctx, 2);
  Shape wanted = x;
  size_t axis;
  if (!read_axis(ctx, "axis", x.size(), &axis)) return false;
  if (block == 0) {
    wanted = {x[axis]};
  } else {
    wanted[axis] = (x[axis] + block - 1) / block;
  }
  return require_shape(ctx, 1, wanted) && (!ctx.has_input(2) || require_shape(ctx, 2, scale));
}

/// The dtype that an attribute names; `fallback` where it is left out. Returns nullopt after an error.
std::optional<DType> dtype_attribute(InferContext& ctx, std::string_view attr, DType fallback) {
  const int64_t number = ctx.attrs().int_of(attr);
  if (number == 0) return fallback;
  const std::optional<DType> dtype = runtime::dtype_of_onnx(number);
  if (dtype && is_in(*dtype, TypeClass::Float) && *dtype != DType::F64) return dtype;
  ctx.attr_error(attr, fmt::format("`{}` = {} is none of f32, f16 and bf16 (ONNX numbers 1, 10, 16)", attr, number));
  return std::nullopt;
}

bool infer_quantize(InferContext& ctx) {
  if (!require_dtype_of(ctx, 0, {DType::F32, DType::I32, DType::F16, DType::BF16})) return false;
  if (ctx.has_input(2) && !require_dtype_of(ctx, 2, quantised_dtypes())) return false;
  DType to = ctx.has_input(2) ? ctx.input(2).dtype : DType::U8;
  if (!check_scale_along_axis(ctx, to) || !dtype_attribute(ctx, "precision", DType::F32)) return false;
  ctx.set_output(0, {to, ctx.input(0).shape});
  return true;
}

bool infer_dequantize(InferContext& ctx) {
  std::vector<DType> taken = quantised_dtypes();
  taken.push_back(DType::I32);
  if (!require_dtype_of(ctx, 0, taken) || !check_scale_along_axis(ctx, ctx.input(0).dtype)) return false;
  const DType scale = ctx.input(1).dtype;
  const std::optional<DType> to = dtype_attribute(ctx, "output_dtype", scale == DType::F8E8M0 ? DType::F32 : scale);
  if (!to) return false;
  ctx.set_output(0, {*to, ctx.input(0).shape});
  return true;
}

bool infer_dynamic_quantize(InferContext& ctx) {
  if (!require_dtype(ctx, 0, DType::F32)) return false;
  ctx.set_output(0, {DType::U8, ctx.input(0).shape});
  ctx.set_output(1, {DType::F32, {}});
  ctx.set_output(2, {DType::U8, {}});
  return true;
}

/// Operands: x, w, zero point of x?, of w? (one, or one per output channel).
bool infer_conv_integer(InferContext& ctx) {
  if (!require_byte(ctx, 0) || !require_byte(ctx, 1)) return false;
  if (!infer_convolution(ctx, {.bias = ConvOperands::kNone}, DType::I32)) return false;
  if (ctx.has_input(2) && (!require_dtype(ctx, 2, ctx.input(0).dtype) || !require_single(ctx, 2))) return false;
  return !ctx.has_input(3) ||
         (require_dtype(ctx, 3, ctx.input(1).dtype) && require_single_or_list(ctx, 3, ctx.input(1).shape[0]));
}

/// Operands: x, its scale, its zero point, w, …, …, then scale and zero point of the result, bias?.
bool infer_qlinear_conv(InferContext& ctx) {
  if (!require_byte(ctx, 0) || !require_byte(ctx, 3) || !require_byte(ctx, 7)) return false;
  DType result = ctx.input(7).dtype;
  if (ctx.has_input(8) && !require_dtype(ctx, 8, DType::I32)) return false;
  if (!infer_convolution(ctx, {.w = 3, .bias = 8}, result)) return false;
  int64_t channels = ctx.input(3).shape[0];
  return check_tensor_scale(ctx, 1, 2, ctx.input(0).dtype) && require_dtype(ctx, 4, DType::F32) &&
         require_single_or_list(ctx, 4, channels) && require_dtype(ctx, 5, ctx.input(3).dtype) &&
         require_single_or_list(ctx, 5, channels) && check_tensor_scale(ctx, 6, 7, result);
}

/// Checks a scale or zero point of operand `matrix`: one number, or one per row of a left matrix or per column of a
/// right one; a list, or with batches [.., rows, 1] or [.., 1, columns].
bool require_per_line(InferContext& ctx, size_t operand, size_t matrix, bool is_left) {
  const Shape& found = ctx.input(operand).shape;
  if (is_single(found)) return true;
  Shape lines = ctx.input(matrix).shape;
  size_t summed = is_left ? 1 : 2;  // counted from the end
  if (lines.size() < 2) return require_single(ctx, operand);
  if (found.size() == 1) return require_shape(ctx, operand, {lines[lines.size() - (is_left ? 2 : 1)]});
  lines[lines.size() - summed] = 1;
  return require_shape(ctx, operand, lines);
}

/// Operands: a, b, zero point of a?, of b?.
bool infer_matmul_integer(InferContext& ctx) {
  if (!require_byte(ctx, 0) || !require_byte(ctx, 1) || !infer_matrix_product(ctx, 0, 1, DType::I32)) return false;
  for (size_t i : {size_t{0}, size_t{1}}) {
    if (!ctx.has_input(2 + i)) continue;
    if (!require_dtype(ctx, 2 + i, ctx.input(i).dtype) || !require_per_line(ctx, 2 + i, i, i == 0)) return false;
  }
  return true;
}

/// Operands: a, its scale, its zero point, b, …, …, then scale and zero point of the result. Scales are of one dtype.
bool infer_qlinear_matmul(InferContext& ctx) {
  if (!require_byte(ctx, 0) || !require_byte(ctx, 3) || !require_byte(ctx, 7)) return false;
  if (!require_dtype_of(ctx, 1, {DType::F32, DType::F16, DType::BF16})) return false;
  const DType scale = ctx.input(1).dtype;
  if (!infer_matrix_product(ctx, 0, 3, ctx.input(7).dtype)) return false;
  for (size_t matrix : {size_t{0}, size_t{3}}) {
    if (!require_dtype(ctx, matrix + 1, scale) || !require_dtype(ctx, matrix + 2, ctx.input(matrix).dtype) ||
        !require_per_line(ctx, matrix + 1, matrix, matrix == 0) ||
        !require_per_line(ctx, matrix + 2, matrix, matrix == 0)) {
      return false;
    }
  }
  return check_tensor_scale(ctx, 6, 7, ctx.input(7).dtype, scale);
}

/// A result is scaled, rounded, moved by the zero point.
constexpr double kRequantizeFlops = 3;

Work conv_integer_work(const WorkArgs& args) {
  double macs = convolution_macs(args, 1);
  return {macs, 2 * macs};
}

Work qlinear_conv_work(const WorkArgs& args) {
  double macs = convolution_macs(args, 3);
  double bias = args.inputs.size() > 8 ? 1 : 0;
  return {macs, 2 * macs + (kRequantizeFlops + bias) * result_count(args)};
}

double product_macs(const WorkArgs& args) {
  return result_count(args) * static_cast<double>(args.inputs[0].shape.back());
}

Work matmul_integer_work(const WorkArgs& args) {
  double macs = product_macs(args);
  return {macs, 2 * macs};
}

Work qlinear_matmul_work(const WorkArgs& args) {
  double macs = product_macs(args);
  return {macs, 2 * macs + kRequantizeFlops * result_count(args)};
}

}  // namespace

OpDef define_QuantizeLinear() {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .attrs = {{"axis", AttrKind::Int, 1},
                    {"block_size", AttrKind::Int, 0},
                    {"saturate", AttrKind::Int, 1},
                    {"precision", AttrKind::Int, 0}},
          .kind = FusionKind::Broadcast,
          .cut = CutFamily::Quantize,
          .rows = {RowRule::Quantized, "has scales along it"},
          .infer = infer_quantize,
          .work = elementwise_work<3>,
          .doc =
              "x / scale + zero point, rounded to even, clamped; per tensor, along an axis or in blocks along it; of "
              "the dtype of the zero point: %q = QuantizeLinear(%x, %scale, %zero) {axis = 1}"};
}

OpDef define_DequantizeLinear() {
  return {.min_inputs = 2,
          .max_inputs = 3,
          .attrs = {{"axis", AttrKind::Int, 1}, {"block_size", AttrKind::Int, 0}, {"output_dtype", AttrKind::Int, 0}},
          .kind = FusionKind::Broadcast,
          .cut = CutFamily::Quantize,
          .rows = {RowRule::Quantized, "has scales along it"},
          .infer = infer_dequantize,
          .work = elementwise_work<2>,
          .doc =
              "(q - zero point) * scale, per tensor, along an axis or in blocks along it: "
              "%x = DequantizeLinear(%q, %scale, %zero)"};
}

OpDef define_DynamicQuantizeLinear() {
  return {.min_outputs = 3,
          .max_outputs = 3,
          .kind = FusionKind::Opaque,
          .infer = infer_dynamic_quantize,
          .work = elementwise_work<5>,
          .doc =
              "x as u8, with the scale and zero point that cover its range: "
              "%q, %scale, %zero = DynamicQuantizeLinear(%x)"};
}

OpDef define_ConvInteger() {
  return {.min_inputs = 2,
          .max_inputs = 4,
          .attrs = conv_attrs(),
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Conv,
          .rows = {RowRule::Images, "sums over it"},
          .infer = infer_conv_integer,
          .work = conv_integer_work,
          .doc =
              "convolution of i8 or u8 to i32, zero points taken off first: "
              "%y = ConvInteger(%x, %w, %x_zero, %w_zero) {strides = [2, 2]}"};
}

OpDef define_QLinearConv() {
  return {.min_inputs = 8,
          .max_inputs = 9,
          .attrs = conv_attrs(),
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Conv,
          .rows = {RowRule::Images, "sums over it"},
          .infer = infer_qlinear_conv,
          .work = qlinear_conv_work,
          .doc =
              "convolution of quantised tensors, w per tensor or output channel, i32 bias in units of x_scale * "
              "w_scale: %y = QLinearConv(%x, %x_scale, %x_zero, %w, %w_scale, %w_zero, %y_scale, %y_zero, %bias)"};
}

OpDef define_MatMulInteger() {
  return {.min_inputs = 2,
          .max_inputs = 4,
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Product,
          .rows = {RowRule::MatrixProduct, "sums over it, or mixes it with another dimension"},
          .infer = infer_matmul_integer,
          .work = matmul_integer_work,
          .doc =
              "matrix product of i8 or u8 to i32, zero points taken off first: "
              "%c = MatMulInteger(%a, %b, %a_zero, %b_zero)"};
}

OpDef define_QLinearMatMul() {
  return {.min_inputs = 8,
          .max_inputs = 8,
          .kind = FusionKind::OutFusable,
          .cut = CutFamily::Product,
          .rows = {RowRule::QuantizedProduct, "sums over it, or mixes it with another dimension"},
          .infer = infer_qlinear_matmul,
          .work = qlinear_matmul_work,
          .doc =
              "matrix product of quantised tensors, a per tensor or row, b per tensor or column: "
              "%c = QLinearMatMul(%a, %a_scale, %a_zero, %b, %b_scale, %b_zero, %c_scale, %c_zero)"};
}

}  // namespace collage::ir::ops
