// SPDX-License-Identifier: Apache-2.0
// Matrix products. Constant factors are packed at load; a batch whose right factor is one matrix is one product:
//
//     [1, 128, 768] x [768, 3072]   =>   [128, 768] x [768, 3072]
#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {
namespace {

struct Product {
  Stored a, b;
  Dims dims;       ///< of the result
  int bias = -1;   ///< value
  Dims bias_dims;  ///< rank of the result
};

/// A constant matrix may be packed as oneDNN likes.
Desc factor_desc(const Builder& b, const Stored& factor, int value) {
  return b.constant(value).is_empty_handle() ? factor.desc : any_desc(factor.desc.dims());
}

Status emit_product(Builder& b, int index, const Product& p) {
  const Desc right = factor_desc(b, p.b, b.input(index, 1));
  Head head;
  head.name = "matmul";
  head.accumulates = true;
  head.dims = p.dims;
  head.result = plain_desc(p.dims);
  auto make = [=](const Desc& left, const Desc& weights, const Desc& result, const dnnl::primitive_attr& attr) {
    if (p.bias < 0) return make_primitive<dnnl::matmul>({left, weights, result}, attr);
    return make_primitive<dnnl::matmul>({left, weights, plain_desc(p.bias_dims), result}, attr);
  };
  // Strided factors (a transposed value) are used unchanged if there is a fast implementation, otherwise made dense.
  Desc left = p.a.desc;
  Desc weights = right;
  auto is_fast = [&] {
    dnnl::primitive_desc_base bare = make(left, weights, *head.result, dnnl::primitive_attr());
    return bare && !std::string_view(bare.impl_info_str()).starts_with("ref");
  };
  if (!is_fast()) left = plain_desc(left.dims());
  if (!is_fast() && weights.data.format_kind != dnnl_format_kind_any) weights = plain_desc(weights.dims());
  head.make = [=](const Desc& result, const dnnl::primitive_attr& attr) { return make(left, weights, result, attr); };
  head.operands = [=, &b](const dnnl::primitive_desc_base& made) {
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, b.converted(p.a, made.query_md(dnnl::query::src_md, 0))},
                                       {DNNL_ARG_WEIGHTS, b.converted(p.b, made.query_md(dnnl::query::weights_md, 0))}};
    if (p.bias >= 0)
      arguments.push_back({DNNL_ARG_BIAS, b.converted(b.viewed(p.bias, p.bias_dims), plain_desc(p.bias_dims))});
    return arguments;
  };
  return b.emit(index, head);
}

}  // namespace

/// A' * B' and a row as bias; simplify.cpp has turned the rest into separate operators.
Status lower_gemm(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  int left = b.input(index, 0), right = b.input(index, 1), bias = b.input(index, 2);
  if (right < 0 || b.value(right).dtype != DType::F32 || b.shape(left).size() != 2 || b.shape(right).size() != 2)
    return Status::error("its factors are no matrices");
  Product p;
  p.a = b.stored(left);
  p.b = b.stored(right);
  if (op.attrs.get_int("transA", 0) != 0) p.a.desc = transposed(p.a.desc, {1, 0});
  if (op.attrs.get_int("transB", 0) != 0) p.b.desc = transposed(p.b.desc, {1, 0});
  p.dims = b.shape(op.outputs[0]);
  if (bias >= 0) {
    if (p.dims.size() != 2 || element_count(b.shape(bias)) != p.dims[1]) return Status::error("its addend is no row");
    p.bias = bias;
    p.bias_dims = {1, p.dims[1]};
  }
  return emit_product(b, index, p);
}

Status lower_matmul(Builder& b, int index) {
  int left = b.input(index, 0), right = b.input(index, 1);
  if (right < 0 || b.value(right).dtype != DType::F32) return Status::error("its right factor is no f32 tensor");
  Shape l = b.shape(left), r = b.shape(right);
  if (l.empty() || r.empty()) return Status::error("a factor is a scalar");
  if (l.size() == 1) l.insert(l.begin(), 1);
  if (r.size() == 1) r.push_back(1);
  Product p;
  if (element_count(r) == r[r.size() - 2] * r.back()) {  // one matrix on the right
    p.a = b.viewed(left, {element_count(l) / l.back(), l.back()});
    p.b = b.viewed(right, {r[r.size() - 2], r.back()});
    p.dims = {p.a.desc.dims()[0], r.back()};
    return emit_product(b, index, p);
  }
  size_t rank = std::max(l.size(), r.size());
  l.insert(l.begin(), rank - l.size(), 1);
  r.insert(r.begin(), rank - r.size(), 1);
  p.a = b.viewed(left, l);
  p.b = b.viewed(right, r);
  for (size_t d = 0; d + 2 < rank; ++d) p.dims.push_back(std::max(l[d], r[d]));
  p.dims.push_back(l[rank - 2]);
  p.dims.push_back(r[rank - 1]);
  return emit_product(b, index, p);
}

}  // namespace collage::runtime::onednn
