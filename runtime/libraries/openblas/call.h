// SPDX-License-Identifier: Apache-2.0
// One operator on OpenBLAS. Everything that depends on shapes only is done when the call is made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/plan/library_program.h"

namespace collage::runtime::openblas {

/// Addresses of an operator's operands (null: absent) and of its result.
struct Addresses {
  std::vector<const float*> inputs;
  float* output = nullptr;
  float* scratch = nullptr;  ///< Call::scratch_elements
};

struct Call {
  std::function<Status(const Addresses&)> run;  ///< on a failure the result is arbitrary
  std::string text;
  size_t scratch_elements = 0;
};

/// Gemm and MatMul through sgemm and sgemv.
Result<Call> make_product(const LibraryProgram& program, const LibraryOp& op);
/// Conv: the taps of each image gathered as columns of a matrix, then one sgemm for each group.
Result<Call> make_convolution(const LibraryProgram& program, const LibraryOp& op, int threads);

/// c = alpha a' b' + beta c, row-major: a' is [rows, inner], b' is [inner, columns].
struct Product {
  int rows = 0, columns = 0, inner = 0;
  bool trans_a = false, trans_b = false;
  float alpha = 1;

  void run(const float* a, const float* b, float beta, float* c) const;
  std::string text() const;
};

/// BLAS counts with ints.
bool fits_int(std::initializer_list<int64_t> numbers);

}  // namespace collage::runtime::openblas
