// SPDX-License-Identifier: Apache-2.0
// Operators that exporters write in parts: every spelling becomes the operator, and what only looks like it stays.
#include <functional>
#include <numbers>

#include "tests/unit/compiler/passes/pass_fixture.h"

namespace collage::passes {
namespace {

using ir::DType;
using ir::ValueId;

struct FuseParts : PassFixture {
  /// The number on either side.
  ValueId mul(ValueId x, float factor, bool swap) {
    return swap ? node("Mul", {number(factor), x}) : node("Mul", {x, number(factor)});
  }
  ValueId add(ValueId x, float term, bool swap) {
    return swap ? node("Add", {number(term), x}) : node("Add", {x, number(term)});
  }
  ValueId product(ValueId a, ValueId b, bool swap) { return swap ? node("Mul", {b, a}) : node("Mul", {a, b}); }

  /// 0.5 * x * part, in three orders.
  ValueId half_product(ValueId x, ValueId part, int order, bool swap) {
    if (order == 0) return product(mul(x, 0.5f, swap), part, swap);
    if (order == 1) return mul(product(x, part, swap), 0.5f, swap);
    return product(x, mul(part, 0.5f, swap), swap);
  }
};

TEST_F(FuseParts, GeluByErf) {
  for (int order : {0, 1, 2}) {
    for (bool swap : {false, true}) {
      for (bool divides : {false, true}) {
        restart();
        const ValueId x = node("Neg", {input({2, 3})});
        const ValueId scaled = divides ? node("Div", {x, number(std::numbers::sqrt2_v<float>)})
                                       : mul(x, 1 / std::numbers::sqrt2_v<float>, swap);
        output(half_product(x, add(node("Erf", {scaled}), 1, swap), order, swap));
        EXPECT_TRUE(apply(fuse_activations, 1e-6));
        EXPECT_EQ(ops(), "Neg Gelu");
      }
    }
  }
}

TEST_F(FuseParts, GeluByTanh) {
  for (int cube : {0, 1, 2, 3}) {
    for (bool swap : {false, true}) {
      restart();
      const ValueId x = node("Neg", {input({2, 3})});
      ValueId inner;
      if (cube == 3) {
        inner = product(x, add(mul(node("Mul", {x, x}), 0.044715f, swap), 1, swap), swap);
      } else {
        const ValueId power = cube == 0   ? node("Pow", {x, number(3)})
                              : cube == 1 ? product(x, node("Mul", {x, x}), swap)
                                          : product(node("Pow", {x, number(2)}), x, swap);
        inner = swap ? node("Add", {mul(power, 0.044715f, swap), x}) : node("Add", {x, mul(power, 0.044715f, swap)});
      }
      const ValueId tanh = node("Tanh", {mul(inner, 0.7978845608f, swap)});
      output(half_product(x, add(tanh, 1, swap), cube % 3, swap));
      EXPECT_TRUE(apply(fuse_activations, 1e-5));
      EXPECT_EQ(ops(), "Neg Gelu");
      EXPECT_EQ(graph_.node(ir::NodeId(1)).attrs.get_string("approximate", ""), "tanh");
    }
  }
}

TEST_F(FuseParts, NoGelu) {
  const ValueId x = input({2, 3});
  const ValueId erf = node("Erf", {mul(x, 0.7f, false)});
  output(half_product(x, add(erf, 1, false), 0, false));  // another slope
  const ValueId other = node("Erf", {node("Div", {input({2, 3}), number(std::numbers::sqrt2_v<float>)})});
  output(half_product(x, add(other, 1, false), 1, false));  // another x
  const ValueId read = node("Erf", {node("Div", {x, number(std::numbers::sqrt2_v<float>)})});
  output(half_product(x, add(read, 1, false), 2, false));
  output(node("Abs", {read}));  // reads a part
  const ValueId whole = node("Erf", {node("Div", {x, number(1.414f)})});
  output(product(x, add(whole, 1, false), false));  // no half
  EXPECT_FALSE(apply(fuse_activations));
}

TEST_F(FuseParts, SigmoidAndItsProduct) {
  const ValueId x = input({2, 3}), z = input({2, 3});
  output(node("Div", {number(1), add(node("Exp", {node("Neg", {x})}), 1, false)}));
  output(node("Reciprocal", {add(node("Exp", {mul(z, -1, true)}), 1, true)}));
  const ValueId y = node("Abs", {z});
  output(node("Div", {y, add(node("Exp", {node("Neg", {y})}), 1, false)}));
  output(node("Div", {number(2), add(node("Exp", {node("Neg", {x})}), 1, false)}));
  EXPECT_TRUE(apply(fuse_activations, 1e-5));
  EXPECT_EQ(ops(), "Sigmoid Sigmoid Abs Sigmoid Mul Neg Exp Add Div");
}

TEST_F(FuseParts, HardSwishInEveryOrder) {
  const ValueId x = node("Neg", {input({2, 3})});
  const auto clipped = [&](bool swap) { return node("Clip", {add(x, 3, swap), number(0), number(6)}); };
  output(node("Div", {product(x, clipped(false), false), number(6)}));
  output(product(x, node("Div", {clipped(true), number(6)}), true));
  output(mul(product(x, clipped(true), true), 1.0f / 6, true));
  output(product(x, node("HardSigmoid", {x}, with({{"alpha", 1.0 / 6}, {"beta", 0.5}})), false));
  EXPECT_TRUE(apply(fuse_activations, 1e-6));
  EXPECT_EQ(ops(), "Neg HardSwish HardSwish HardSwish HardSwish");
}

TEST_F(FuseParts, HardSigmoidAlone) {
  const ValueId x = input({2, 3});
  output(node("Exp", {node("Div", {node("Clip", {add(x, 3, false), number(0), number(6)}), number(6)})}));
  output(node("Exp", {node("Div", {node("Clip", {add(x, 3, false), number(0), number(5)}), number(6)})}));
  EXPECT_TRUE(apply(fuse_activations, 1e-6));
  EXPECT_EQ(ops(), "HardSigmoid Exp Add Clip Div Exp");
}

TEST_F(FuseParts, MishAndSoftplus) {
  const ValueId x = input({2, 3});
  output(product(x, node("Tanh", {node("Log", {add(node("Exp", {x}), 1, false)})}), true));
  output(product(x, node("Tanh", {node("Softplus", {input({2, 3})})}), true));
  EXPECT_TRUE(apply(fuse_activations, 1e-6));
  EXPECT_EQ(ops(), "Mish Softplus Tanh Mul");
}

TEST_F(FuseParts, QuotientsByAPart) {
  const ValueId x = input({2, 3});
  output(node("Div", {x, node("Tanh", {node("Softplus", {x})})}));
  const ValueId erf = node("Erf", {node("Div", {x, number(std::numbers::sqrt2_v<float>)})});
  output(node("Div", {mul(x, 0.5f, false), add(erf, 1, false)}));
  const ValueId gate = node("HardSigmoid", {x}, with({{"alpha", 1.0 / 6}, {"beta", 0.5}}));
  output(node("Div", {x, add(gate, 1, false)}));
  output(node("Div", {x, node("HardSigmoid", {x}, with({{"alpha", 1.0 / 6}, {"beta", 0.5}}))}));
  EXPECT_FALSE(apply(fuse_activations));
}

TEST_F(FuseParts, IntegersStay) {
  const ValueId x = input({2, 3}, DType::I64);
  const auto clipped = [&] { return node("Clip", {node("Add", {x, ints({3})}), ints({0}), ints({6})}); };
  output(node("Div", {clipped(), ints({6})}));
  output(node("Div", {node("Mul", {x, clipped()}), ints({6})}));
  EXPECT_FALSE(apply(fuse_activations));
}

struct FuseSoftmax : PassFixture {
  ValueId reduce(const std::string& op, ValueId x, int64_t axis) {
    return op == "ReduceSum" ? node(op, {x, ints({axis})}) : node(op, {x}, with({{"axes", Ints{axis}}}));
  }
};

TEST_F(FuseSoftmax, Forms) {
  const ValueId x = input({2, 3, 4});
  const ValueId exp = node("Exp", {node("Sub", {x, reduce("ReduceMax", x, 1)})});
  output(node("Div", {exp, reduce("ReduceSum", exp, 1)}));
  const ValueId plain = node("Exp", {x});
  output(node("Div", {plain, reduce("ReduceSum", plain, -1)}));
  output(node("Log", {node("Softmax", {x})}));
  const ValueId less = node("Sub", {x, reduce("ReduceMax", x, 2)});
  output(node("Sub", {less, node("Log", {reduce("ReduceSum", node("Exp", {less}), 2)})}));
  EXPECT_TRUE(apply(fuse_softmax, 1e-6));
  EXPECT_EQ(ops(), "Softmax Softmax LogSoftmax LogSoftmax");
}

TEST_F(FuseSoftmax, NotAcrossSeveralAxes) {
  const ValueId x = input({2, 3, 4});
  const ValueId exp = node("Exp", {x});
  output(node("Div", {exp, node("ReduceSum", {exp, ints({1, 2})})}));
  const ValueId other = node("Exp", {x});
  output(node("Div", {exp, node("ReduceSum", {other, ints({1})})}));
  output(node("Softmax", {node("Sub", {x, reduce("ReduceMax", x, 1)})}));  // along another axis
  EXPECT_FALSE(apply(fuse_softmax));
}

struct FuseNormalizations : PassFixture {
  struct Spelling {
    bool multiplies = false;  ///< d * d, else Pow
    int inverse = 0;          ///< 0: Div by the root; 1: Reciprocal; 2: 1 / root; 3: Pow(.., -0.5)
    bool swap = false;
    Ints axes = {-1};
  };
  ValueId mean(ValueId x, const Ints& axes) { return node("ReduceMean", {x}, with({{"axes", axes}})); }
  ValueId normalized(ValueId x, const Spelling& how) {
    const ValueId d = node("Sub", {x, mean(x, how.axes)});
    const ValueId square = how.multiplies ? node("Mul", {d, d}) : node("Pow", {d, number(2)});
    const ValueId variance = mean(square, how.axes);
    const ValueId sum = how.swap ? node("Add", {number(1e-5f), variance}) : node("Add", {variance, number(1e-5f)});
    if (how.inverse == 3) return both("Mul", d, node("Pow", {sum, number(-0.5f)}), how.swap);
    const ValueId root = node("Sqrt", {sum});
    if (how.inverse == 0) return node("Div", {d, root});
    const ValueId inverse = how.inverse == 1 ? node("Reciprocal", {root}) : node("Div", {number(1), root});
    return both("Mul", d, inverse, how.swap);
  }
  ValueId both(const std::string& op, ValueId a, ValueId b, bool swap) {
    return swap ? node(op, {b, a}) : node(op, {a, b});
  }
};

TEST_F(FuseNormalizations, LayerNorm) {
  for (int inverse : {0, 1, 2, 3}) {
    for (bool multiplies : {false, true}) {
      for (bool swap : {false, true}) {
        for (const Ints& axes : {Ints{-1}, Ints{2}, Ints{1, 2}}) {
          restart();
          const ir::Shape scale = axes.size() == 1 ? ir::Shape{4} : ir::Shape{3, 4};
          const ValueId n = normalized(input({2, 3, 4}), {multiplies, inverse, swap, axes});
          output(both("Add", both("Mul", n, weights(scale), swap), weights(scale), swap));
          EXPECT_TRUE(apply(fuse_normalizations, 1e-5));
          EXPECT_EQ(ops(), "LayerNormalization");
          EXPECT_EQ(only_node().attrs.get_float("epsilon", 0), 1e-5F);
          EXPECT_EQ(only_node().attrs.get_int("axis", 0), -static_cast<int64_t>(axes.size()));
        }
      }
    }
  }
}

TEST_F(FuseNormalizations, LayerNormWithoutScaleOrWithOtherShapes) {
  output(node("Neg", {normalized(input({2, 4}), {})}));
  output(node("Add", {node("Mul", {normalized(input({2, 4}), {}), weights({1, 4})}), number(0.5f)}));
  output(node("Add", {node("Mul", {normalized(input({2, 4}), {}), weights({2, 1})}), weights({4})}));
  EXPECT_TRUE(apply(fuse_normalizations, 1e-5));
  EXPECT_EQ(ops(), "LayerNormalization Neg LayerNormalization LayerNormalization Mul Add");
}

// The attribute of the operator is an f32.
TEST_F(FuseNormalizations, EpsilonOfDoubles) {
  for (const auto& [number, is_fused] : {std::pair(0x1p-10, true), std::pair(1.23456789123e-3, false)}) {
    graph_ = ir::Graph();
    ir::Tensor epsilon(DType::F64, {});
    epsilon.as<double>()[0] = number;
    const ValueId x = input({2, 4}, DType::F64);
    const ValueId d = node("Sub", {x, mean(x, {-1})}), variance = mean(node("Mul", {d, d}), {-1});
    output(node("Div", {d, node("Sqrt", {node("Add", {variance, constant(epsilon)})})}));
    EXPECT_EQ(apply(fuse_normalizations, 1e-12), is_fused);
    if (is_fused) {
      EXPECT_EQ(ops(), "LayerNormalization");
    }
  }
}

TEST_F(FuseNormalizations, LayerNormAsKerasWritesIt) {
  const ValueId x = input({2, 3, 4});
  const ValueId m = mean(x, {2}), d = node("Sub", {x, m});
  const ValueId variance = mean(node("Mul", {d, d}), {2});
  const ValueId inverse = node("Reciprocal", {node("Sqrt", {node("Add", {variance, number(1e-3f)})})});
  const ValueId factor = node("Mul", {inverse, weights({4})});
  output(node("Add", {node("Mul", {x, factor}), node("Sub", {weights({4}), node("Mul", {m, factor})})}));
  EXPECT_TRUE(apply(fuse_normalizations, 1e-5));
  EXPECT_EQ(ops(), "LayerNormalization");
}

TEST_F(FuseNormalizations, NoLayerNorm) {
  const ValueId x = input({2, 3, 4});
  output(normalized(x, {.axes = {1}}));  // not the last dimensions
  const ValueId d = node("Sub", {x, mean(x, {-1})});
  const ValueId root = node("Sqrt", {node("Add", {mean(node("Mul", {d, d}), {1, 2}), number(1e-5f)})});
  output(node("Div", {d, root}));  // a mean over other axes
  const ValueId read = node("Sub", {x, mean(x, {2})});
  output(node("Div", {read, node("Sqrt", {node("Add", {mean(node("Pow", {read, number(2)}), {2}), number(1e-5f)})})}));
  output(node("Abs", {read}));  // reads a part
  const ValueId c = node("Sub", {x, mean(x, {2})});
  output(node("Div", {c, node("Sqrt", {node("Add", {mean(node("Pow", {c, number(4)}), {2}), number(1e-5f)})})}));
  EXPECT_FALSE(apply(fuse_normalizations));
}

TEST_F(FuseNormalizations, GroupNorm) {
  const ValueId x = input({2, 6, 3, 3});
  const auto grouped = [&](float scale) {
    const ValueId norm = node("InstanceNormalization", {reshape(x, {2, 3, -1}), number(scale, {3}), number(0, {3})},
                              with({{"epsilon", 1e-3}}));
    return reshape(norm, {2, 6, 3, 3});
  };
  output(node("Add", {node("Mul", {weights({6, 1, 1}), grouped(1)}), weights({1, 6, 1, 1})}));
  output(node("Neg", {grouped(1)}));
  output(node("Mul", {grouped(2), weights({6, 1, 1})}));  // scaled within
  output(node("Mul", {grouped(1), weights({3})}));        // along the rows
  EXPECT_TRUE(apply(fuse_normalizations, 1e-5));
  EXPECT_EQ(ops(),
            "GroupNormalization GroupNormalization Neg Reshape InstanceNormalization Reshape Mul "
            "GroupNormalization Mul");
}

}  // namespace
}  // namespace collage::passes
