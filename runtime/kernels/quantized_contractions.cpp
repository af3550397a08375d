// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products of quantised numbers:
//
//     sums = (x - x_zero) * (w - w_zero) + bias             in i32, modulo 2^32
//     y    = clamp(round(sums * (x_scale * w_scale / y_scale)) + y_zero)
//
// The factor is f32, its product with a sum exact in double but for one rounding, halves go to even. Pads are x_zero,
// which stands for 0.
#include <cstring>

#include "runtime/kernels/contraction.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/quantize.h"
#include "runtime/kernels/row_walk.h"

namespace collage::runtime {
namespace {

template <typename T>
std::vector<int16_t> subtract(const TensorView& bytes, const TensorView& zero_point, const Shape& zero_shape) {
  auto x = bytes.as<T>();
  auto zero = zero_point.as<T>();
  std::vector<int16_t> result;
  result.reserve(x.size());
  for (RowWalk walk(bytes.shape, {broadcast_strides(zero_shape, bytes.shape)}); walk.more(); walk.advance()) {
    for (int64_t i = 0; i < walk.length(); ++i) {
      int subtrahend = zero[static_cast<size_t>(walk.offset(0) + i * walk.stride(0))];
      result.push_back(static_cast<int16_t>(x[result.size()] - subtrahend));
    }
  }
  return result;
}

/// Elements of `bytes`, i8 or u8, minus the zero point (which may be absent) broadcast from `zero_shape`.
std::vector<int16_t> without_zero_point(const TensorView& bytes, const TensorView& zero_point,
                                        const Shape& zero_shape) {
  Tensor zero(bytes.dtype, {});
  std::memset(zero.data(), 0, zero.bytes());
  const TensorView& subtrahend = zero_point.is_absent() ? zero.view() : zero_point;
  const Shape& shape = zero_point.is_absent() ? zero.shape() : zero_shape;
  return bytes.dtype == DType::I8 ? subtract<int8_t>(bytes, subtrahend, shape)
                                  : subtract<uint8_t>(bytes, subtrahend, shape);
}

/// Numbers that hold for all of a tensor broadcast from a scalar, others from `shape`.
Shape broadcast_shape(const TensorView& numbers, Shape shape) {
  return numbers.count() == 1 ? Shape() : std::move(shape);
}

/// Where the operands of a convolution or product stand; those that it lacks are absent.
struct QuantizedOperands {
  TensorView x, x_zero, w, w_zero;
};

/// Numbers of w: for all of it, or one per output channel.
Shape per_channel(const TensorView& numbers, size_t rank) {
  Shape shape(rank, 1);
  shape[0] = numbers.count();
  return broadcast_shape(numbers, shape);
}

/// Calls store(output channel, first element in y, elements, their sums).
template <typename Store>
Status sum_conv(const KernelArgs& args, const QuantizedOperands& from, Store store) {
  ConvGeometry g;
  Status status = make_geometry(from.x.shape, from.w.shape, args.outputs[0].shape[1], args.attrs, false, &g);
  if (!status) return status;
  Shape w_zero_shape = from.w_zero.is_absent() ? Shape() : per_channel(from.w_zero, from.w.shape.size());
  std::vector<int16_t> x = without_zero_point(from.x, from.x_zero, {});
  std::vector<int16_t> w = without_zero_point(from.w, from.w_zero, w_zero_shape);
  convolve(g, x.data(), w.data(), store);
  return Status::ok();
}

/// Numbers of a matrix: for all of it, or one per row (on the left) or column, a list or broadcast already.
Shape per_line(const TensorView& numbers, bool is_left) {
  if (numbers.is_absent()) return {};
  Shape shape = numbers.shape;
  if (shape.size() == 1 && is_left) shape.push_back(1);
  return broadcast_shape(numbers, shape);
}

/// Calls store(first element in y, sums) for every row.
template <typename Store>
void sum_product(const MatrixStacks& stacks, const QuantizedOperands& from, Store store) {
  std::vector<int16_t> a = without_zero_point(from.x, from.x_zero, per_line(from.x_zero, true));
  std::vector<int16_t> b = without_zero_point(from.w, from.w_zero, per_line(from.w_zero, false));
  multiply_stacks(stacks, a.data(), b.data(), store);
}

/// x_scale * w_scale / y_scale, in f32 from left to right.
float factor(float x_scale, float w_scale, float y_scale) {
  return x_scale * w_scale / y_scale;
}

template <typename T>
Status qlinear_conv(const KernelArgs& args) {
  auto w_scale = args.inputs[4].as<float>();
  float x_scale = args.inputs[1].as<float>()[0], y_scale = args.inputs[6].as<float>()[0];
  int32_t zero_point = zero_point_at(args.inputs[7], 0);
  const int32_t* bias = args.input(8).is_absent() ? nullptr : args.input(8).as<int32_t>().data();
  T* y = args.outputs[0].as<T>().data();
  return sum_conv(args, {args.inputs[0], args.inputs[2], args.inputs[3], args.inputs[5]},
                  [&](int64_t channel, int64_t first, int64_t count, const uint32_t* sums) {
                    double scale =
                        factor(x_scale, w_scale[w_scale.size() == 1 ? 0 : static_cast<size_t>(channel)], y_scale);
                    auto addend = static_cast<uint32_t>(bias == nullptr ? 0 : bias[channel]);
                    for (int64_t i = 0; i < count; ++i) {
                      y[first + i] = quantize<T>(static_cast<int32_t>(sums[i] + addend) * scale, zero_point);
                    }
                  });
}

template <typename T>
Status qlinear_matmul(const KernelArgs& args) {
  MatrixStacks stacks(args.inputs[0].shape, args.inputs[3].shape);
  Shape shape = stacks.result_shape();
  std::vector<int32_t> sums(static_cast<size_t>(element_count(shape)));
  sum_product(stacks, {args.inputs[0], args.inputs[2], args.inputs[3], args.inputs[5]},
              [&](int64_t first, const int64_t* row) {
                for (int64_t j = 0; j < stacks.columns; ++j) {
                  sums[static_cast<size_t>(first + j)] = static_cast<int32_t>(row[j]);
                }
              });
  auto a_scale = args.inputs[1].as<float>(), b_scale = args.inputs[4].as<float>();
  float y_scale = args.inputs[6].as<float>()[0];
  int32_t zero_point = zero_point_at(args.inputs[7], 0);
  T* y = args.outputs[0].as<T>().data();
  size_t at = 0;
  for (RowWalk walk(shape, {broadcast_strides(per_line(args.inputs[1], true), shape),
                            broadcast_strides(per_line(args.inputs[4], false), shape)});
       walk.more(); walk.advance()) {
    for (int64_t i = 0; i < walk.length(); ++i, ++at) {
      double scale = factor(a_scale[static_cast<size_t>(walk.offset(0) + i * walk.stride(0))],
                            b_scale[static_cast<size_t>(walk.offset(1) + i * walk.stride(1))], y_scale);
      y[at] = quantize<T>(sums[at] * scale, zero_point);
    }
  }
  return Status::ok();
}

}  // namespace

Status kernel_ConvInteger(const KernelArgs& args) {
  int32_t* y = args.outputs[0].as<int32_t>().data();
  return sum_conv(args, {args.inputs[0], args.input(2), args.inputs[1], args.input(3)},
                  [y](int64_t, int64_t first, int64_t count, const uint32_t* sums) {
                    for (int64_t i = 0; i < count; ++i) y[first + i] = static_cast<int32_t>(sums[i]);
                  });
}

Status kernel_QLinearConv(const KernelArgs& args) {
  return with_byte(args.outputs[0].dtype, [&]<typename T>(Type<T>) { return qlinear_conv<T>(args); });
}

Status kernel_MatMulInteger(const KernelArgs& args) {
  MatrixStacks stacks(args.inputs[0].shape, args.inputs[1].shape);
  int32_t* y = args.outputs[0].as<int32_t>().data();
  sum_product(stacks, {args.inputs[0], args.input(2), args.inputs[1], args.input(3)},
              [&](int64_t first, const int64_t* sums) {
                for (int64_t j = 0; j < stacks.columns; ++j) y[first + j] = static_cast<int32_t>(sums[j]);
              });
  return Status::ok();
}

Status kernel_QLinearMatMul(const KernelArgs& args) {
  return with_byte(args.outputs[0].dtype, [&]<typename T>(Type<T>) { return qlinear_matmul<T>(args); });
}

}  // namespace collage::runtime
