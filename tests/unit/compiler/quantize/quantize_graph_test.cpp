// SPDX-License-Identifier: Apache-2.0
// Graphs with sites quantised: what stays in integers, where conversions stand, and that results stay close.
#include "compiler/quantize/quantize_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/verify.h"
#include "runtime/core/random.h"

namespace collage::quantize {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Graph;
using ir::ValueId;
using runtime::Ints;
using runtime::Shape;
using runtime::Tensor;

class QuantizeGraph : public ::testing::Test {
 protected:
  ValueId input(const std::string& name, const Shape& shape) { return graph_.add_input(name, {DType::F32, shape}); }
  ValueId weights(const Shape& shape) {
    return graph_.add_constant(graph_.unique_name("w"),
                               ir::make_constant(runtime::random_tensor(DType::F32, shape, ++seed_)));
  }
  ValueId numbers(const std::vector<float>& elements, const Shape& shape) {
    Tensor tensor(DType::F32, shape);
    std::copy(elements.begin(), elements.end(), tensor.as<float>().begin());
    return graph_.add_constant(graph_.unique_name("n"), ir::make_constant(tensor));
  }
  ValueId node(const std::string& op, const std::vector<ValueId>& inputs, const std::string& name, AttrMap attrs = {}) {
    ir::NodeSource source;
    source.where = name;
    const ir::NodeId id =
        ir::append_inferred(graph_, *ir::find_op(op), inputs, std::move(attrs), {name}, source, diags_);
    EXPECT_TRUE(id.is_valid()) << diags_.render();
    return graph_.first_output(id);
  }
  static AttrMap attrs(const std::string& name, Ints values) {
    AttrMap map;
    map.set(name, std::move(values));
    return map;
  }

  std::vector<Tensor> inputs(uint64_t seed) const {
    std::vector<Tensor> tensors;
    for (ValueId id : graph_.inputs()) {
      tensors.push_back(runtime::random_tensor(DType::F32, graph_.value(id).type.shape, seed + tensors.size()));
    }
    return tensors;
  }

  /// Ranges of all values over some runs on the reference kernels.
  void calibrate() {
    const std::vector<ValueId> values = values_of(find_sites(graph_));
    const Graph observed = with_outputs(graph_, values);
    std::vector<RangeObserver> observers(values.size());
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const std::vector<Tensor> given = inputs(100 * seed);
      const auto outputs = ir::evaluate_graph(observed, given);
      ASSERT_TRUE(outputs) << outputs.message();
      for (size_t i = 0; i < values.size(); ++i) {
        const auto& ports = graph_.value(values[i]).is_input ? observed.inputs() : observed.outputs();
        const auto at = static_cast<size_t>(std::find(ports.begin(), ports.end(), values[i]) - ports.begin());
        observers[i].add((graph_.value(values[i]).is_input ? given[at] : (*outputs)[at]).as<float>());
      }
    }
    for (size_t i = 0; i < values.size(); ++i) ranges_[graph_.value(values[i]).name] = observers[i].range({});
  }

  /// With all sites, or with those of `wanted`.
  QuantizedGraph quantize(std::vector<bool> wanted = {}) {
    sites_ = quantizable_sites(graph_, ranges_, WeightScales::PerChannel);
    if (wanted.empty()) wanted.assign(sites_.sites.size(), true);
    QuantizedGraph made = quantize_graph(graph_, sites_, ranges_, wanted);
    ir::verify(made.graph);
    expect_inferred(made.graph);
    return made;
  }

  /// Types are those that inference gives.
  void expect_inferred(const Graph& made) {
    for (ir::NodeId id : made.node_ids()) {
      const ir::Node& one = made.node(id);
      ir::NodeSource source;
      source.where = made.node_name(id);
      const auto types = ir::infer_node(made, *one.op, one.inputs, one.attrs, one.outputs.size(), source, diags_);
      ASSERT_TRUE(types) << diags_.render();
      for (size_t i = 0; i < types->size(); ++i) {
        EXPECT_EQ((*types)[i], made.value(one.outputs[i]).type) << source.where;
      }
    }
  }

  static size_t count(const Graph& graph, std::string_view op) {
    size_t found = 0;
    for (ir::NodeId id : graph.node_ids()) found += graph.node(id).op->name == op ? 1 : 0;
    return found;
  }

  /// max |difference| / max |f32|, over outputs and some runs.
  double error_of(const Graph& made) const {
    double worst = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const auto exact = ir::evaluate_graph(graph_, inputs(100 * seed)),
                 got = ir::evaluate_graph(made, inputs(100 * seed));
      EXPECT_TRUE(exact && got);
      for (size_t o = 0; o < exact->size(); ++o) {
        double difference = 0, most = 0;
        for (int64_t i = 0; i < (*exact)[o].count(); ++i) {
          const double y = element_as_double((*exact)[o].view(), i);
          difference = std::max(difference, std::abs(y - element_as_double((*got)[o].view(), i)));
          most = std::max(most, std::abs(y));
        }
        worst = std::max(worst, difference / most);
      }
    }
    return worst;
  }

  Graph graph_;
  Ranges ranges_;
  QuantizableSites sites_;
  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  uint64_t seed_ = 0;
};

TEST_F(QuantizeGraph, ChainStaysInIntegers) {
  const ValueId x = input("x", {1, 3, 8, 8});
  const ValueId c = node("Conv", {x, weights({8, 3, 3, 3}), weights({8})}, "c", attrs("pads", {1, 1, 1, 1}));
  const ValueId r = node("Relu", {c}, "r");
  AttrMap pooling = attrs("kernel_shape", {2, 2});
  pooling.set("strides", Ints{2, 2});
  const ValueId p = node("MaxPool", {r}, "p", pooling);
  const ValueId d = node("Conv", {p, weights({4, 8, 3, 3})}, "d");
  const ValueId f = node("Flatten", {d}, "f");
  graph_.mark_output(node("Gemm", {f, weights({16, 5}), weights({5})}, "y"));
  calibrate();
  const QuantizedGraph made = quantize();
  EXPECT_EQ(sites_.sites.size(), 3u);
  EXPECT_EQ(count(made.graph, "QuantizeLinear"), 1u);
  EXPECT_EQ(count(made.graph, "DequantizeLinear"), 1u);
  EXPECT_EQ(count(made.graph, "QLinearConv"), 3u);
  EXPECT_EQ(count(made.graph, "Relu"), 0u);
  EXPECT_EQ(count(made.graph, "Flatten"), 0u);
  EXPECT_EQ(count(made.graph, "Reshape"), 2u);  // to pictures of one element, and back
  EXPECT_EQ(made.nodes, (std::vector<std::string>{"c.i8", "d.i8", "y.i8"}));
  EXPECT_EQ(made.graph.value(made.graph.outputs()[0]).name, "y");
  EXPECT_LT(error_of(made.graph), 0.05);
}

TEST_F(QuantizeGraph, NothingWantedIsTheModelAsItWas) {
  const ValueId x = input("x", {2, 6});
  graph_.mark_output(node("Softmax", {node("MatMul", {x, weights({6, 3})}, "m")}, "y"));
  calibrate();
  const QuantizedGraph made = quantize({false});
  EXPECT_EQ(made.graph.node_count(), graph_.node_count());
  EXPECT_EQ(error_of(made.graph), 0);
  EXPECT_EQ(made.nodes, std::vector<std::string>{""});
}

TEST_F(QuantizeGraph, ValueIsConvertedForReadersInFloats) {
  const ValueId x = input("x", {1, 4, 5, 5});
  const ValueId c = node("Conv", {x, weights({4, 4, 1, 1})}, "c");
  const ValueId d = node("Conv", {c, weights({4, 4, 1, 1})}, "d");
  graph_.mark_output(node("Sigmoid", {c}, "s"));
  graph_.mark_output(node("Tanh", {c}, "t"));
  graph_.mark_output(d);
  calibrate();
  const QuantizedGraph made = quantize();
  EXPECT_EQ(count(made.graph, "QuantizeLinear"), 1u);
  EXPECT_EQ(count(made.graph, "DequantizeLinear"), 2u);  // one of %c for both readers, one of %d
  EXPECT_LT(error_of(made.graph), 0.05);
}

TEST_F(QuantizeGraph, MovementOfAValueInFloatsStaysInFloats) {
  const ValueId x = input("x", {1, 4, 6, 6});
  graph_.mark_output(node("Conv", {x, weights({4, 4, 1, 1})}, "c"));
  graph_.mark_output(node("MaxPool", {x}, "p", attrs("kernel_shape", {3, 3})));
  calibrate();
  const QuantizedGraph made = quantize();
  const ir::NodeId pool = made.graph.find_node("p");
  EXPECT_EQ(made.graph.value(made.graph.node(pool).inputs[0]).type.dtype, DType::F32);
}

TEST_F(QuantizeGraph, ResidualAddStaysInIntegers) {
  const ValueId x = input("x", {1, 4, 6, 6});
  const ValueId c = node("Conv", {x, weights({4, 4, 1, 1})}, "c");
  const ValueId r = node("Relu", {c}, "r");
  const ValueId d = node("Conv", {r, weights({4, 4, 1, 1})}, "d");
  const ValueId a = node("Relu", {node("Add", {d, r}, "a")}, "b");
  graph_.mark_output(node("Conv", {a, weights({2, 4, 1, 1})}, "y"));
  calibrate();
  const QuantizedGraph made = quantize();
  EXPECT_EQ(count(made.graph, "QuantizeLinear"), 2u);    // %x, and the end of the Add
  EXPECT_EQ(count(made.graph, "DequantizeLinear"), 3u);  // two addends, %y
  EXPECT_EQ(count(made.graph, "Relu"), 0u);
  EXPECT_LT(error_of(made.graph), 0.08);
}

TEST_F(QuantizeGraph, ClipAroundZeroIsPartOfTheConvolution) {
  const ValueId x = input("x", {1, 4, 6, 6});
  const ValueId c = node("Conv", {x, weights({4, 4, 1, 1})}, "c");
  graph_.mark_output(node("Clip", {c, numbers({0}, {}), numbers({0.5f}, {})}, "y"));
  const ValueId d = node("Conv", {x, weights({4, 4, 1, 1})}, "d");
  graph_.mark_output(node("Clip", {d, numbers({0.25f}, {}), numbers({0.5f}, {})}, "z"));
  calibrate();
  const QuantizedGraph made = quantize();
  EXPECT_EQ(count(made.graph, "Clip"), 1u);  // its least value is not 0, which padding stands for
  EXPECT_LT(error_of(made.graph), 0.05);
}

TEST_F(QuantizeGraph, GemmInEveryForm) {
  const ValueId x = input("x", {3, 6});
  AttrMap transposed;
  transposed.set("transB", int64_t{1});
  transposed.set("beta", 0.5);
  graph_.mark_output(node("Gemm", {x, weights({4, 6}), weights({1, 4})}, "a", transposed));
  graph_.mark_output(node("Gemm", {x, weights({6, 4})}, "b"));
  graph_.mark_output(node("Gemm", {x, weights({6, 4}), numbers({0.5f}, {})}, "c"));
  AttrMap scaled;
  scaled.set("alpha", 2.0);
  graph_.mark_output(node("Gemm", {x, weights({6, 4})}, "scaled", scaled));
  graph_.mark_output(node("Gemm", {x, weights({6, 4}), weights({3, 4})}, "full"));
  calibrate();
  const QuantizedGraph made = quantize();
  EXPECT_EQ(sites_.sites.size(), 3u);
  EXPECT_EQ(count(made.graph, "QLinearConv"), 2u);
  EXPECT_EQ(count(made.graph, "QLinearMatMul"), 1u);
  EXPECT_EQ(count(made.graph, "Gemm"), 2u);
  EXPECT_LT(error_of(made.graph), 0.03);
}

TEST_F(QuantizeGraph, GroupsAndStacksOfMatrices) {
  const ValueId x = input("x", {2, 4, 5});
  AttrMap grouped = attrs("strides", {2});
  grouped.set("group", int64_t{4});
  graph_.mark_output(node("Conv", {x, weights({8, 1, 3}), weights({8})}, "c", grouped));
  graph_.mark_output(node("MatMul", {x, weights({5, 3})}, "m"));
  calibrate();
  const QuantizedGraph made = quantize();
  EXPECT_EQ(count(made.graph, "QLinearConv"), 1u);
  EXPECT_EQ(count(made.graph, "QLinearMatMul"), 1u);
  EXPECT_LT(error_of(made.graph), 0.03);
}

TEST_F(QuantizeGraph, ConstantValuesAreExactOnceScaled) {
  const ValueId x = input("x", {1, 2, 4, 4});
  graph_.mark_output(node("Conv", {x, numbers({0, 0, 0, 0}, {2, 2, 1, 1}), numbers({0.75f, 0}, {2})}, "y"));
  calibrate();
  EXPECT_EQ(ranges_["y"], (Range{0, 0.75}));
  EXPECT_LT(error_of(quantize().graph), 0.01);
}

TEST_F(QuantizeGraph, SitesWithoutARangeOrWithOddWeightsAreNone) {
  const ValueId x = input("x", {1, 2, 4, 4});
  graph_.mark_output(node("Conv", {x, numbers({NAN, 0, 0, 0}, {2, 2, 1, 1})}, "y"));
  const ValueId c = node("Conv", {x, weights({2, 2, 1, 1})}, "c");
  graph_.mark_output(c);
  graph_.mark_output(node("Conv", {x, c}, "dynamic"));
  EXPECT_EQ(find_sites(graph_).size(), 2u);
  ranges_ = {{"x", {-1, 1}}, {"y", {-1, 1}}};
  EXPECT_TRUE(quantizable_sites(graph_, ranges_, WeightScales::PerTensor).sites.empty());
}

TEST_F(QuantizeGraph, ErrorsOfGroupsAreMeasuredOnExactOperands) {
  const ValueId x = input("x", {1, 4, 6, 6});
  const ValueId c = node("Conv", {x, weights({4, 4, 1, 1})}, "c");
  const ValueId d = node("Conv", {c, weights({4, 4, 1, 1})}, "d");
  graph_.mark_output(node("Sigmoid", {d}, "y"));
  calibrate();
  quantize();
  const ErrorGraph both = error_graph(graph_, sites_, ranges_, {{0, 1}}),
                   each = error_graph(graph_, sites_, ranges_, {{0}, {1}});
  ir::verify(both.graph);
  expect_inferred(each.graph);
  EXPECT_EQ(both.compared.size(), 1u);
  EXPECT_EQ(each.compared.size(), 2u);
  EXPECT_EQ(count(both.graph, "QuantizeLinear"), 1u);
  EXPECT_EQ(count(each.graph, "QuantizeLinear"), 2u);
  const auto outputs = ir::evaluate_graph(each.graph, inputs(0));
  ASSERT_TRUE(outputs);
  for (const ComparedOutputs& one : each.compared) {
    const Tensor &got = (*outputs)[one.integer], &exact = (*outputs)[one.exact];
    double difference = 0;
    for (size_t i = 0; i < exact.as<float>().size(); ++i) {
      difference = std::max(difference, std::abs(double{exact.as<float>()[i]} - got.as<float>()[i]));
    }
    EXPECT_GT(difference, 0);
    EXPECT_LT(difference, 0.2);
  }
}

}  // namespace
}  // namespace collage::quantize
