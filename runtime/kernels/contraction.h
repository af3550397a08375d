// SPDX-License-Identifier: Apache-2.0
// The matrix product of Gemm, MatMul and their integer variants: exact products, sums in Accumulator<T>, one rounding
// at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/kernels/number.h"
#include "runtime/kernels/row_walk.h"

namespace collage::runtime {

/// A matrix in memory: element (i, j) at i * row_stride + j * column_stride.
template <typename T>
struct Matrix {
  const T* data;
  int64_t row_stride;
  int64_t column_stride;
};

/// sums[j] = sum over k of a[k] * b(k, j), `a` contiguous. The order of the sum is fixed by K alone or is k's own.
template <typename T>
void multiply_row(const T* a, const Matrix<T>& b, int64_t inner, int64_t columns, Accumulator<T>* sums) {
  using Sum = Accumulator<T>;
  if (b.row_stride == 1 && b.column_stride != 1) {  // b is transposed: both run along k
    constexpr int64_t kLanes = 8;
    for (int64_t j = 0; j < columns; ++j) {
      const T* column = b.data + j * b.column_stride;
      Sum lanes[kLanes] = {};
      int64_t k = 0;
      for (; k + kLanes <= inner; k += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          lanes[lane] = wrapping_add(lanes[lane], wrapping_mul<Sum>(a[k + lane], column[k + lane]));
        }
      }
      Sum sum = 0;
      for (; k < inner; ++k) sum = wrapping_add(sum, wrapping_mul<Sum>(a[k], column[k]));
      for (Sum lane : lanes) sum = wrapping_add(sum, lane);
      sums[j] = sum;
    }
    return;
  }
  std::fill(sums, sums + columns, Sum(0));
  for (int64_t k = 0; k < inner; ++k) {
    const T* row = b.data + k * b.row_stride;
    Sum factor = a[k];
    for (int64_t j = 0; j < columns; ++j) {
      sums[j] = wrapping_add(sums[j], wrapping_mul<Sum>(factor, row[j * b.column_stride]));
    }
  }
}

/// Calls store(i, sums) for every row i of a * b.
template <typename T, typename Store>
void multiply(const Matrix<T>& a, const Matrix<T>& b, int64_t rows, int64_t inner, int64_t columns, Store store) {
#pragma omp parallel if (rows > 1 &&                                                                                \
                         static_cast <double>(rows) * static_cast <double>(inner) * static_cast <double>(columns) > \
                             1e6)
  {
    std::vector<T> row(static_cast<size_t>(inner));
    std::vector<Accumulator<T>> sums(static_cast<size_t>(columns));
#pragma omp for
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < inner; ++k) row[static_cast<size_t>(k)] = a.data[i * a.row_stride + k * a.column_stride];
      multiply_row(row.data(), b, inner, columns, sums.data());
      store(i, sums.data());
    }
  }
}

/// Operands of MatMul as stacks of matrices. A vector on the left is a row, on the right a column.
struct MatrixStacks {
  Shape batch;                                       ///< of the result
  std::vector<int64_t> left_strides, right_strides;  ///< in matrices, per dimension of `batch`
  int64_t rows, inner, columns;

  MatrixStacks(Shape a, Shape b) {
    if (a.size() == 1) a.insert(a.begin(), 1);
    if (b.size() == 1) b.push_back(1);
    rows = a[a.size() - 2];
    inner = a.back();
    columns = b.back();
    Shape batch_a(a.begin(), a.end() - 2);
    Shape batch_b(b.begin(), b.end() - 2);
    broadcast_shapes(batch_a, batch_b, &batch);
    left_strides = broadcast_strides(batch_a, batch);
    right_strides = broadcast_strides(batch_b, batch);
  }

  /// Shape of the result, with the dimensions that vectors lack.
  Shape result_shape() const {
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  }
};

/// Calls store(first element in y, sums) for every row of every product.
template <typename T, typename Store>
void multiply_stacks(const MatrixStacks& stacks, const T* a, const T* b, Store store) {
  int64_t rows = stacks.rows, inner = stacks.inner, columns = stacks.columns;
  int64_t done = 0;
  for (RowWalk walk(stacks.batch, {stacks.left_strides, stacks.right_strides}); walk.more(); walk.advance()) {
    for (int64_t n = 0; n < walk.length(); ++n) {
      Matrix<T> left{a + (walk.offset(0) + n * walk.stride(0)) * rows * inner, inner, 1};
      Matrix<T> right{b + (walk.offset(1) + n * walk.stride(1)) * inner * columns, columns, 1};
      multiply(left, right, rows, inner, columns,
               [&](int64_t i, const Accumulator<T>* sums) { store(done + i * columns, sums); });
      done += rows * columns;
    }
  }
}

}  // namespace collage::runtime
