// SPDX-License-Identifier: Apache-2.0
// A model that a test builds for two sizes of a dimension: what is proved of it holds on random inputs, by the
// reference kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/shapes/row_independence.h"
#include "runtime/core/random.h"
#include "runtime/core/rows.h"
#include "runtime/support/diagnostic.h"

namespace collage::shapes {

/// A graph for one size. What two sizes build has the same weights.
class SizedModel {
 public:
  using Ints = std::vector<int64_t>;

  explicit SizedModel(int64_t size) : n(size) {}

  const int64_t n;

  /// `axis`: the one of size `n`; negative: none.
  ir::ValueId input(const ir::Shape& shape, int axis = 0, ir::DType dtype = ir::DType::F32) {
    axes_.push_back(axis);
    return graph_.add_input("x" + std::to_string(axes_.size()), {dtype, shape});
  }
  ir::ValueId constant(ir::Tensor data) {
    return graph_.add_constant("c" + std::to_string(++constants_), ir::make_constant(std::move(data)));
  }
  ir::ValueId ints(const Ints& elements) {
    ir::Tensor data(ir::DType::I64, {static_cast<int64_t>(elements.size())});
    std::copy(elements.begin(), elements.end(), data.as<int64_t>().begin());
    return constant(std::move(data));
  }
  ir::ValueId number(float element) {
    ir::Tensor data(ir::DType::F32, {});
    data.as<float>()[0] = element;
    return constant(std::move(data));
  }
  /// 0, 1, 2, … in f32.
  ir::ValueId counting(const ir::Shape& shape) {
    ir::Tensor data(ir::DType::F32, shape);
    float next = 0;
    for (float& element : data.as<float>()) element = next++;
    return constant(std::move(data));
  }
  ir::ValueId weights(const ir::Shape& shape) {
    return constant(runtime::random_tensor(ir::DType::F32, shape, ++seed_, 0.25, 1.25));
  }
  ir::ValueId node(const std::string& op, const std::vector<ir::ValueId>& inputs, ir::AttrMap attrs = {}) {
    return results(op, inputs, 1, std::move(attrs))[0];
  }
  std::vector<ir::ValueId> results(const std::string& op, const std::vector<ir::ValueId>& inputs, size_t count,
                                   ir::AttrMap attrs = {}) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back("v" + std::to_string(++nodes_));
    ir::NodeSource source;
    source.where = names[0];
    const ir::NodeId id =
        ir::append_inferred(graph_, *ir::find_op(op), inputs, std::move(attrs), names, source, diags_);
    if (!id.is_valid()) throw std::runtime_error(op + "\n" + diags_.render());
    return graph_.node(id).outputs;
  }
  static ir::AttrMap with(const std::map<std::string, runtime::AttrValue>& attrs) {
    ir::AttrMap map;
    for (const auto& [name, value] : attrs) map.set(name, value);
    return map;
  }
  void output(ir::ValueId id) { graph_.mark_output(id); }

  const ir::Graph& graph() const { return graph_; }
  const std::vector<int>& axes() const { return axes_; }

 private:
  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  ir::Graph graph_;
  std::vector<int> axes_;
  int constants_ = 0, nodes_ = 0;
  uint64_t seed_ = 0;
};

using BuildModel = std::function<void(SizedModel&)>;

inline RowProof proof_of(const BuildModel& build, int64_t exact = 2, int64_t bucket = 4) {
  SizedModel small(exact), large(bucket);
  build(small);
  build(large);
  return prove_rows(small.graph(), large.graph(), {exact, bucket}, small.axes());
}

/// Whole numbers in [0, 4): indices of small tables, and no sum of them is rounded.
inline ir::Tensor random_input(const ir::TensorType& type, uint64_t seed) {
  const double most = type.dtype == ir::DType::Bool ? 1 : 3;
  ir::Tensor tensor = runtime::random_tensor(type.dtype, type.shape, seed, 0, most);
  if (type.dtype == ir::DType::F32) {
    for (float& element : tensor.as<float>()) element = std::floor(element * 4) / 4;
  }
  return tensor;
}

/// Runs both models, the larger one on padded inputs, and compares the rows that are kept.
inline void expect_rows_are_kept(const BuildModel& build, int64_t exact = 2, int64_t bucket = 4) {
  const RowProof proof = proof_of(build, exact, bucket);
  ASSERT_TRUE(proof.holds()) << proof.obstacle;
  SizedModel small(exact), large(bucket);
  build(small);
  build(large);
  std::vector<ir::Tensor> inputs, padded;
  for (size_t i = 0; i < small.graph().inputs().size(); ++i) {
    inputs.push_back(random_input(small.graph().value(small.graph().inputs()[i]).type, 11 + i));
    const RowPort& port = proof.inputs[i];
    padded.push_back(port.axis < 0 ? inputs.back()
                                   : runtime::with_repeated_rows(inputs.back(), static_cast<size_t>(port.axis),
                                                                 bucket * port.factor));
  }
  const auto want = ir::evaluate_graph(small.graph(), inputs), got = ir::evaluate_graph(large.graph(), padded);
  ASSERT_TRUE(want && got) << (want ? got : want).message();
  ASSERT_EQ(want->size(), proof.outputs.size());
  for (size_t i = 0; i < want->size(); ++i) {
    const RowPort& port = proof.outputs[i];
    ir::Tensor kept = (*got)[i];
    if (port.axis >= 0) kept = runtime::with_first_rows(kept, static_cast<size_t>(port.axis), exact * port.factor);
    EXPECT_TRUE(identical((*want)[i], kept)) << "output " << i;
  }
}

}  // namespace collage::shapes
