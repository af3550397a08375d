// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul.
#include "runtime/kernels/contraction.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/row_walk.h"

namespace collage::runtime {
namespace {

/// A row-major matrix as it is, or its transpose.
template <typename T>
Matrix<T> matrix_of(const TensorView& view, bool transposed) {
  int64_t width = view.shape[1];
  return transposed ? Matrix<T>{view.as<T>().data(), 1, width} : Matrix<T>{view.as<T>().data(), width, 1};
}

template <typename T>
Status gemm(const KernelArgs& args) {
  bool trans_a = args.attrs.get_int("transA", 0) != 0;
  bool trans_b = args.attrs.get_int("transB", 0) != 0;
  double alpha = args.attrs.get_float("alpha", 1.0);
  double beta = args.attrs.get_float("beta", 1.0);
  const TensorView& y_view = args.outputs[0];
  TensorView bias = args.input(2);
  int64_t columns = y_view.shape[1];
  int64_t inner = args.inputs[0].shape[trans_a ? 0 : 1];
  std::vector<int64_t> bias_strides =
      bias.is_absent() ? std::vector<int64_t>{0, 0} : broadcast_strides(bias.shape, y_view.shape);
  const T* c = bias.is_absent() ? nullptr : bias.as<T>().data();
  T* y = y_view.as<T>().data();
  bool plain_integers = std::is_integral_v<T> && alpha == 1.0 && beta == 1.0;
  multiply(matrix_of<T>(args.inputs[0], trans_a), matrix_of<T>(args.inputs[1], trans_b), y_view.shape[0], inner,
           columns, [&](int64_t i, const Accumulator<T>* sums) {
             for (int64_t j = 0; j < columns; ++j) {
               T addend = c == nullptr ? T(0) : c[i * bias_strides[0] + j * bias_strides[1]];
               if (plain_integers) {
                 y[i * columns + j] = static_cast<T>(wrapping_add<Accumulator<T>>(sums[j], addend));
               } else {
                 double scaled = alpha * static_cast<double>(sums[j]);
                 // Without the test, beta = 0 would turn an infinite bias into NaN.
                 if (c != nullptr && beta != 0) scaled += beta * static_cast<double>(addend);
                 y[i * columns + j] = saturate_to<T>(scaled);
               }
             }
           });
  return Status::ok();
}

template <typename T>
Status matmul(const KernelArgs& args) {
  MatrixStacks stacks(args.inputs[0].shape, args.inputs[1].shape);
  T* y = args.outputs[0].as<T>().data();
  multiply_stacks(stacks, args.inputs[0].as<T>().data(), args.inputs[1].as<T>().data(),
                  [&](int64_t first, const Accumulator<T>* sums) {
                    for (int64_t j = 0; j < stacks.columns; ++j) y[first + j] = static_cast<T>(sums[j]);
                  });
  return Status::ok();
}

}  // namespace

Status kernel_Gemm(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return gemm<T>(args); });
}

Status kernel_MatMul(const KernelArgs& args) {
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return matmul<T>(args); });
}

}  // namespace collage::runtime
