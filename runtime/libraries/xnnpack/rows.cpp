// SPDX-License-Identifier: Apache-2.0
// Operators on rows of plain tensors: fully connected layers and Softmax.
#include "runtime/core/layout.h"
#include "runtime/libraries/xnnpack/call.h"

namespace collage::runtime::xnnpack {
namespace {

Call row_call(const Source& source) {
  Call call;
  call.reads = {{source.input(0), source.shape(source.input(0)), std::string(kPlainLayout)}};
  call.write = {source.output, source.shape(source.output), std::string(kPlainLayout)};
  return call;
}

}  // namespace

Result<Call> make_fully_connected(const Source& source) {
  const int weights = source.input(1);
  if (!source.is_constant(weights)) return Status::error("weights that are computed");
  const Shape &a = source.shape(source.input(0)), &b = source.shape(weights);
  if (b.size() != 2 || a.empty()) return Status::error("weights that are no matrix");
  const bool is_gemm = source.op.op == "Gemm";
  const bool is_transposed = is_gemm && source.op.attrs.get_int("transB", 0) != 0;
  const int64_t inner = b[is_transposed ? 1 : 0], columns = b[is_transposed ? 0 : 1];
  if (is_gemm && (source.op.attrs.get_int("transA", 0) != 0 || source.op.attrs.get_float("alpha", 1) != 1 ||
                  source.op.attrs.get_float("beta", 1) != 1))
    return Status::error("factors, or a transposed operand");
  if (a.back() != inner) return Status::error("its factors do not fit");
  const int bias = is_gemm ? source.input(2) : source.bias;
  Tensor addend;
  if (bias >= 0) {
    const Shape& shape = source.shape(bias);
    if (!source.is_constant(bias)) return Status::error("a bias that is computed");
    if (shape.empty() || shape.back() != columns || element_count(shape) != columns)
      return Status::error("a bias that is not one number for each column");
    addend = source.value(bias).constant;
  }
  Call call = row_call(source);
  call.weights = {source.value(weights).constant};
  if (!addend.is_empty_handle()) call.weights.push_back(addend);
  call.create = [=, in = static_cast<size_t>(inner), out = static_cast<size_t>(columns), limits = source.limits,
                 kernel = source.value(weights).constant](xnn_operator_t* op) {
    const float* numbers = addend.is_empty_handle() ? nullptr : reinterpret_cast<const float*>(addend.data());
    return xnn_create_fully_connected_nc_f32(in, out, in, out, reinterpret_cast<const float*>(kernel.data()), numbers,
                                             limits.low, limits.high, is_transposed ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS,
                                             op);
  };
  const int64_t rows = element_count(a) / inner;
  call.setup = [batch = static_cast<size_t>(rows)](xnn_operator_t op, const std::vector<const float*>& in, float* out,
                                                   pthreadpool_t pool) {
    return xnn_setup_fully_connected_nc_f32(op, batch, in[0], out, pool);
  };
  call.text =
      "fully connected " + std::to_string(rows) + " x " + std::to_string(inner) + " x " + std::to_string(columns);
  return call;
}

Result<Call> make_softmax(const Source& source) {
  const Shape& x = source.shape(source.input(0));
  const int64_t axis = source.op.attrs.get_int("axis", -1);
  if (x.empty() || (axis != -1 && axis != static_cast<int64_t>(x.size()) - 1))
    return Status::error("axis " + std::to_string(axis) + ", need the last");
  const auto columns = static_cast<size_t>(x.back()), rows = static_cast<size_t>(element_count(x) / x.back());
  Call call = row_call(source);
  call.create = [columns](xnn_operator_t* op) { return xnn_create_softmax_nc_f32(columns, columns, columns, 0, op); };
  call.setup = [rows](xnn_operator_t op, const std::vector<const float*>& in, float* out, pthreadpool_t pool) {
    return xnn_setup_softmax_nc_f32(op, rows, in[0], out, pool);
  };
  call.text = "softmax";
  return call;
}

}  // namespace collage::runtime::xnnpack
