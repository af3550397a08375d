// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include <algorithm>
#include <climits>

#include "runtime/libraries/openblas/call.h"

namespace collage::runtime::openblas {
namespace {

/// C of Gemm, with two dimensions, over the whole result.
void spread(const float* c, const Shape& shape, int64_t rows, int64_t columns, float beta, float* result) {
  int64_t row_step = shape[0] == 1 ? 0 : shape[1];
  int64_t column_step = shape[1] == 1 ? 0 : 1;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result[i * columns + j] = beta * c[i * row_step + j * column_step];
  }
}

Result<Call> make_gemm(const LibraryProgram& program, const LibraryOp& op) {
  auto shape = [&](size_t i) { return program.values[static_cast<size_t>(op.inputs[i])].shape; };
  Shape a = shape(0), b = shape(1);
  if (a.size() != 2 || b.size() != 2) return Status::error("its factors are no matrices");
  Product product;
  product.trans_a = op.attrs.get_int("transA", 0) != 0;
  product.trans_b = op.attrs.get_int("transB", 0) != 0;
  int64_t rows = a[product.trans_a ? 1 : 0], inner = a[product.trans_a ? 0 : 1];
  int64_t columns = b[product.trans_b ? 0 : 1];
  if (b[product.trans_b ? 1 : 0] != inner) return Status::error("its factors do not fit");
  if (!fits_int({rows, inner, columns})) return Status::error("a dimension that BLAS cannot count");
  product.rows = static_cast<int>(rows);
  product.columns = static_cast<int>(columns);
  product.inner = static_cast<int>(inner);
  product.alpha = static_cast<float>(op.attrs.get_float("alpha", 1));
  auto beta = static_cast<float>(op.attrs.get_float("beta", 1));
  bool has_addend = op.inputs.size() > 2 && op.inputs[2] >= 0;
  Shape addend = has_addend ? shape(2) : Shape{};
  if (addend.size() > 2) return Status::error("its addend is no matrix");
  addend.insert(addend.begin(), 2 - addend.size(), 1);
  if ((addend[0] != 1 && addend[0] != rows) || (addend[1] != 1 && addend[1] != columns))
    return Status::error("its addend does not fit");
  auto run = [=](const Addresses& at) {
    if (has_addend) spread(at.inputs[2], addend, rows, columns, beta, at.output);
    product.run(at.inputs[0], at.inputs[1], has_addend ? 1.0F : 0.0F, at.output);
    return Status::ok();
  };
  return Call{run, product.text(), 0};
}

/// One product for each matrix of the batch; [a, b, inner] x [inner, columns] is one product of a * b rows.
Result<Call> make_matmul(const LibraryProgram& program, const LibraryOp& op) {
  Shape a = program.values[static_cast<size_t>(op.inputs[0])].shape;
  Shape b = program.values[static_cast<size_t>(op.inputs[1])].shape;
  if (a.empty() || b.empty()) return Status::error("a factor is a scalar");
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  if (element_count(b) == b[b.size() - 2] * b.back()) {
    a = {element_count(a) / std::max<int64_t>(a.back(), 1), a.back()};
    b = {b[b.size() - 2], b.back()};
  }
  size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  int64_t rows = a[rank - 2], inner = a[rank - 1], columns = b[rank - 1];
  Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2), batch;
  if (b[rank - 2] != inner || !broadcast_shapes(batch_a, batch_b, &batch))
    return Status::error("its factors do not fit");
  if (!fits_int({rows, inner, columns})) return Status::error("a dimension that BLAS cannot count");
  Product product;
  product.rows = static_cast<int>(rows);
  product.columns = static_cast<int>(columns);
  product.inner = static_cast<int>(inner);
  std::vector<std::pair<int64_t, int64_t>> starts;  // of both factors of each product
  std::vector<int64_t> strides = row_major_strides(batch), strides_a = row_major_strides(batch_a),
                       strides_b = row_major_strides(batch_b);
  for (int64_t i = 0; i < element_count(batch); ++i) {
    int64_t at_a = 0, at_b = 0;
    for (size_t d = 0; d < batch.size(); ++d) {
      int64_t position = i / strides[d] % batch[d];
      at_a += batch_a[d] == 1 ? 0 : position * strides_a[d];
      at_b += batch_b[d] == 1 ? 0 : position * strides_b[d];
    }
    starts.emplace_back(at_a * rows * inner, at_b * inner * columns);
  }
  std::string text = product.text();
  if (starts.size() > 1) text += " x " + std::to_string(starts.size());
  auto run = [=](const Addresses& at) {
    float* result = at.output;
    for (const auto& [at_a, at_b] : starts) {
      product.run(at.inputs[0] + at_a, at.inputs[1] + at_b, 0, result);
      result += rows * columns;
    }
    return Status::ok();
  };
  return Call{run, text, 0};
}

}  // namespace

bool fits_int(std::initializer_list<int64_t> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t number) { return number >= 0 && number <= INT_MAX; });
}

void Product::run(const float* a, const float* b, float beta, float* c) const {
  CBLAS_TRANSPOSE ta = trans_a ? CblasTrans : CblasNoTrans, tb = trans_b ? CblasTrans : CblasNoTrans;
  int lda = trans_a ? rows : inner, ldb = trans_b ? inner : columns;
  if (rows == 1) {  // c = b'^T a
    CBLAS_TRANSPOSE t = trans_b ? CblasNoTrans : CblasTrans;
    cblas_sgemv(CblasRowMajor, t, trans_b ? columns : inner, trans_b ? inner : columns, alpha, b, ldb, a, 1, beta, c,
                1);
  } else if (columns == 1) {
    cblas_sgemv(CblasRowMajor, ta, trans_a ? inner : rows, trans_a ? rows : inner, alpha, a, lda, b, 1, beta, c, 1);
  } else {
    cblas_sgemm(CblasRowMajor, ta, tb, rows, columns, inner, alpha, a, lda, b, ldb, beta, c, columns);
  }
}

std::string Product::text() const {
  std::string sizes = std::to_string(rows) + " x " + std::to_string(inner);
  if (columns == 1 || rows == 1) return "sgemv " + sizes + " x " + std::to_string(columns);
  return "sgemm " + sizes + " x " + std::to_string(columns);
}

Result<Call> make_product(const LibraryProgram& program, const LibraryOp& op) {
  return op.op == "Gemm" ? make_gemm(program, op) : make_matmul(program, op);
}

}  // namespace collage::runtime::openblas
