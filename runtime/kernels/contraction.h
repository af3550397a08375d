// SPDX-License-Identifier: Apache-2.0
// The matrix product behind Gemm and MatMul: exact products, sums in Accumulator<T>, one rounding at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/kernels/number.h"

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

}  // namespace collage::runtime
