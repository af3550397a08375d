// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/winograd_transform.h"

#include <cmath>

namespace collage::codegen {
namespace {

class Multiplier {
 public:
  Multiplier(Nest& nest, const Matrix& matrix, const std::vector<Expr>& vector)
      : nest_(nest), matrix_(matrix), vector_(vector), rows_(matrix.size()) {}

  std::vector<Expr> run() {
    for (size_t i = 0; i < matrix_.size(); ++i) {
      if (rows_[i]) continue;
      if (!share(i)) rows_[i] = sum(i, [](size_t) { return true; });
    }
    return rows_;
  }

 private:
  /// Finds a later row that is this one but for the signs of some columns, and makes both.
  bool share(size_t i) {
    for (size_t j = i + 1; j < matrix_.size(); ++j) {
      if (rows_[j] || !are_alike(i, j)) continue;
      const auto is_equal = [&](size_t k) { return matrix_[i][k] == matrix_[j][k]; };
      const Expr equal = sum(i, is_equal);
      const Expr opposite = sum(i, [&](size_t k) { return !is_equal(k); });
      rows_[i] = nest_.let("t", binary(Op::FAdd, equal, opposite));
      rows_[j] = nest_.let("t", binary(Op::FSub, equal, opposite));
      return true;
    }
    return false;
  }

  bool are_alike(size_t i, size_t j) const {
    bool has_equal = false;
    bool has_opposite = false;
    for (size_t k = 0; k < vector_.size(); ++k) {
      if (std::abs(matrix_[i][k]) != std::abs(matrix_[j][k])) return false;
      if (matrix_[i][k] == 0) continue;
      (matrix_[i][k] == matrix_[j][k] ? has_equal : has_opposite) = true;
    }
    return has_equal && has_opposite;
  }

  /// The row's terms of some columns; those without a multiplication first.
  template <typename Predicate>
  Expr sum(size_t row, Predicate has) {
    Expr total;
    for (const double unit : {1.0, -1.0, 0.0}) {
      for (size_t k = 0; k < vector_.size(); ++k) {
        const double factor = matrix_[row][k];
        if (factor == 0 || !has(k) || (unit != 0 ? factor != unit : std::abs(factor) == 1)) continue;
        total = plus(total, factor, vector_[k]);
      }
    }
    return nest_.let("t", total ? total : nest_.zero(nest_.lanes()));
  }

  Expr plus(const Expr& total, double factor, const Expr& value) {
    if (factor == 1) return total ? binary(Op::FAdd, total, value) : value;
    if (factor == -1 && total) return binary(Op::FSub, total, value);
    const Expr constant = nest_.constant(static_cast<float>(factor), nest_.lanes());
    return total ? fma(constant, value, total) : binary(Op::FMul, constant, value);
  }

  Nest& nest_;
  const Matrix& matrix_;
  const std::vector<Expr>& vector_;
  std::vector<Expr> rows_;
};

}  // namespace

std::vector<Expr> transformed(Nest& nest, const Matrix& matrix, const std::vector<Expr>& vector) {
  return Multiplier(nest, matrix, vector).run();
}

}  // namespace collage::codegen
