// SPDX-License-Identifier: Apache-2.0
// Runs the reference kernel of one operator on literal tensors. Result types come from inference, so that each test
// checks that the two agree. Results start out as garbage.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/analysis/infer.h"
#include "runtime/kernels/kernel.h"

namespace collage::runtime {

using Attrs = std::vector<std::pair<std::string, AttrValue>>;

template <typename T>
Tensor tensor(DType dtype, Shape shape, std::vector<T> values) {
  Tensor result(dtype, std::move(shape));
  EXPECT_EQ(static_cast<size_t>(result.count()), values.size());
  for (size_t i = 0; i < values.size(); ++i) result.as<T>()[i] = values[i];
  return result;
}

inline Tensor f32(Shape shape, std::vector<float> values) {
  return tensor(DType::F32, std::move(shape), std::move(values));
}
inline Tensor i64(Shape shape, std::vector<int64_t> values) {
  return tensor(DType::I64, std::move(shape), std::move(values));
}
inline Tensor i32(Shape shape, std::vector<int32_t> values) {
  return tensor(DType::I32, std::move(shape), std::move(values));
}
inline Tensor i8(Shape shape, std::vector<int8_t> values) {
  return tensor(DType::I8, std::move(shape), std::move(values));
}
inline Tensor u8(Shape shape, std::vector<uint8_t> values) {
  return tensor(DType::U8, std::move(shape), std::move(values));
}
inline Tensor boolean(Shape shape, std::vector<uint8_t> values) {
  return tensor(DType::Bool, std::move(shape), std::move(values));
}
inline Tensor absent() {
  return Tensor();
}

/// 0, 1, 2, …
inline Tensor iota(Shape shape) {
  Tensor result(DType::F32, std::move(shape));
  for (int64_t i = 0; i < result.count(); ++i) result.as<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  return result;
}

/// Operands as constants, whose elements inference sees, or as values of a run.
inline std::vector<ir::ValueId> add_operands(ir::Graph* graph, const std::vector<Tensor>& operands, bool are_constant) {
  std::vector<ir::ValueId> ids;
  for (const Tensor& operand : operands) {
    ids.emplace_back();
    if (operand.is_empty_handle()) continue;
    const std::string name = graph->unique_name("x");
    ir::Constant constant;
    constant.data = operand;
    ids.back() = are_constant ? graph->add_constant(name, std::move(constant))
                              : graph->add_input(name, {operand.dtype(), operand.shape()});
  }
  return ids;
}

/// Results, or none and the reason in `*why`. Where a reason is asked for, inference need not know the elements.
inline std::vector<Tensor> run(std::string_view op, const std::vector<Tensor>& operands, const Attrs& attrs = {},
                               size_t result_count = 1, std::string* why = nullptr) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::Graph graph;
  std::vector<TensorView> inputs;
  for (const Tensor& operand : operands) inputs.push_back(operand.is_empty_handle() ? TensorView{} : operand.view());
  AttrMap map;
  for (const auto& [name, value] : attrs) map.set(name, value);
  ir::NodeSource source;
  source.where = "test";
  const ir::OpDef& def = *ir::find_op(op);
  auto types = ir::infer_node(graph, def, add_operands(&graph, operands, true), map, result_count, source, diags);
  if (!types && why != nullptr) {
    types = ir::infer_node(graph, def, add_operands(&graph, operands, false), map, result_count, source, diags);
  }
  if (!types) {
    ADD_FAILURE() << diags.render();
    return std::vector<Tensor>(result_count, f32({0}, {}));
  }
  std::vector<Tensor> results;
  std::vector<TensorView> outputs;
  for (const ir::TensorType& type : *types) {
    results.emplace_back(type.dtype, type.shape);
    std::memset(results.back().data(), 0x7f, results.back().bytes());
    outputs.push_back(results.back().view());
  }
  Status status = find_reference_kernel(op)({inputs, outputs, map});
  if (why != nullptr) *why = status ? "" : status.message();
  if (why == nullptr && !status) ADD_FAILURE() << status.message();
  return results;
}

/// Same dtype and shape, elements equal up to `tolerance` (relative above 1).
inline void expect_equal(const Tensor& found, const Tensor& wanted, double tolerance = 0) {
  ASSERT_EQ(found.dtype(), wanted.dtype());
  ASSERT_EQ(found.shape(), wanted.shape());
  for (int64_t i = 0; i < wanted.count(); ++i) {
    double a = element_as_double(found.view(), i);
    double b = element_as_double(wanted.view(), i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a != b) {
      ASSERT_LE(std::abs(a - b), tolerance * std::max(1.0, std::abs(b)))
          << "element " << i << " of " << to_string(wanted.shape());
    }
  }
}

}  // namespace collage::runtime
