// SPDX-License-Identifier: Apache-2.0
// A graph that a test builds, and a pass on it: the results on random inputs are the same before and after, names of
// outputs stay, and a second run changes nothing.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/print.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/passes/pass_manager.h"
#include "runtime/core/random.h"

namespace collage::passes {

class PassFixture : public ::testing::Test {
 protected:
  using Ints = std::vector<int64_t>;

  PassFixture() : diags_(sources_), context_{diags_} {}

  ir::ValueId input(const ir::Shape& shape, ir::DType dtype = ir::DType::F32) {
    return graph_.add_input(graph_.unique_name("x"), {dtype, shape});
  }
  ir::ValueId constant(ir::Tensor data) {
    return graph_.add_constant("c" + std::to_string(++constants_), ir::make_constant(std::move(data)));
  }
  ir::ValueId number(float element, const ir::Shape& shape = {}) {
    ir::Tensor data(ir::DType::F32, shape);
    std::fill(data.as<float>().begin(), data.as<float>().end(), element);
    return constant(std::move(data));
  }
  ir::ValueId ints(const Ints& elements) {
    ir::Tensor data(ir::DType::I64, {static_cast<int64_t>(elements.size())});
    std::copy(elements.begin(), elements.end(), data.as<int64_t>().begin());
    return constant(std::move(data));
  }
  /// In [0.25, 1.25), different ones each time.
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
  static ir::AttrMap with(std::map<std::string, runtime::AttrValue> attrs) {
    ir::AttrMap map;
    for (auto& [name, value] : attrs) map.set(name, value);
    return map;
  }
  ir::ValueId transpose(ir::ValueId x, const Ints& perm) { return node("Transpose", {x}, with({{"perm", perm}})); }
  ir::ValueId reshape(ir::ValueId x, const Ints& shape) { return node("Reshape", {x, ints(shape)}); }
  void output(ir::ValueId id) { graph_.mark_output(id); }
  void pin(ir::ValueId result) {
    ir::Pin where;
    where.device = "npu";
    graph_.node(graph_.value(result).producer).pin = where;
  }

  std::vector<ir::Tensor> run(uint64_t seed) {
    std::vector<ir::Tensor> inputs;
    for (ir::ValueId id : graph_.inputs()) {
      const ir::TensorType& type = graph_.value(id).type;
      const double most = type.dtype == ir::DType::Bool ? 1 : runtime::is_float(type.dtype) ? 3 : 100;
      const double least = type.dtype == ir::DType::Bool || type.dtype == ir::DType::U8 ? 0 : -most;
      inputs.push_back(runtime::random_tensor(type.dtype, type.shape, 100 * seed + inputs.size(), least, most));
    }
    auto outputs = ir::evaluate_graph(graph_, inputs);
    EXPECT_TRUE(outputs.is_ok()) << (outputs ? "" : outputs.message());
    return outputs ? *outputs : std::vector<ir::Tensor>();
  }

  /// Returns whether the pass changed the graph. `tolerance` is relative to the largest element; 0 compares bits.
  bool apply(const PassFunction& pass, double tolerance = 0) {
    constexpr uint64_t kSeeds = 3;
    std::vector<std::vector<ir::Tensor>> before;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) before.push_back(run(seed));
    std::vector<std::string> names;
    for (ir::ValueId id : graph_.outputs()) names.push_back(graph_.value(id).name);
    const bool has_changed = pass(graph_, context_);
    ir::verify(graph_);
    EXPECT_EQ(graph_.outputs().size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(graph_.value(graph_.outputs()[i]).name, names[i]);
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const std::vector<ir::Tensor> after = run(seed);
      for (size_t i = 0; i < after.size(); ++i) expect_equal(before[seed - 1][i], after[i], tolerance);
    }
    EXPECT_FALSE(pass(graph_, context_)) << "a second run has nothing to do\n" << ir::print(graph_);
    return has_changed;
  }

  static void expect_equal(const ir::Tensor& before, const ir::Tensor& after, double tolerance) {
    ASSERT_EQ(before.shape(), after.shape());
    ASSERT_EQ(before.dtype(), after.dtype());
    double largest = 0;
    for (int64_t k = 0; k < before.count(); ++k) {
      largest = std::max(largest, std::abs(element_as_double(before.view(), k)));
    }
    for (int64_t k = 0; k < before.count(); ++k) {
      const double a = element_as_double(before.view(), k), b = element_as_double(after.view(), k);
      if (tolerance == 0) {
        EXPECT_EQ(a, b) << k;
        EXPECT_EQ(std::signbit(a), std::signbit(b)) << k;
      } else {
        EXPECT_LE(std::abs(a - b), tolerance * largest) << k;
      }
    }
  }

  /// Operators in order, `Relu Add`.
  std::string ops() const {
    std::string text;
    for (ir::NodeId id : graph_.node_ids()) {
      text += (text.empty() ? "" : " ") + std::string(graph_.node(id).op->name);
    }
    return text;
  }
  const ir::Node& only_node() const { return graph_.node(ir::NodeId(0)); }
  /// The next test case.
  void restart() {
    graph_ = ir::Graph();
    nodes_ = constants_ = 0;
  }

  support::SourceManager sources_;
  support::Diagnostics diags_;
  PassContext context_;
  ir::Graph graph_;
  uint64_t seed_ = 0;
  int nodes_ = 0;
  int constants_ = 0;
};

}  // namespace collage::passes
