// SPDX-License-Identifier: Apache-2.0
#include "compiler/shapes/row_independence.h"

#include "compiler/ir/ops/op_def.h"
#include "tests/unit/compiler/shapes/row_fixture.h"

namespace collage::shapes {
namespace {

using Ints = SizedModel::Ints;

/// The model is not proved, and the reason is this.
void expect_obstacle(const BuildModel& build, const std::string& obstacle, int64_t exact = 2, int64_t bucket = 4) {
  EXPECT_EQ(proof_of(build, exact, bucket).obstacle, obstacle);
}

TEST(RowIndependence, OperatorsSayWhatTheyDoOtherwise) {
  for (const ir::OpDef* op : ir::all_ops()) {
    const bool has_rule = op->rows.rule != ir::RowRule::None;
    EXPECT_TRUE(has_rule || !op->is_pointwise) << op->name;
    EXPECT_EQ(has_rule, !op->rows.otherwise.empty()) << op->name;
  }
}

TEST(RowIndependence, Pointwise) {
  expect_rows_are_kept([](SizedModel& m) {
    const auto x = m.input({m.n, 3}), y = m.input({m.n, 1});
    m.output(m.node("Add", {m.node("Mul", {x, y}), m.weights({3})}));
  });
  // The dimension is not the first, and lies elsewhere in an operand of lower rank.
  expect_rows_are_kept([](SizedModel& m) {
    const auto x = m.input({3, m.n, 2}, 1), y = m.input({m.n, 1});
    m.output(m.node("Where", {m.node("Greater", {x, y}), x, m.number(1)}));
  });
}

TEST(RowIndependence, PointwiseThatMixesDimensions) {
  // x [n, 1] + y [n] is a matrix of all pairs.
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({m.n, 1}), y = m.input({m.n});
        m.output(m.node("Add", {x, y}));
      },
      "node `v1` (Add) mixes it with another dimension");
  // A dimension of size 1 is broadcast to three weights; one of size 3 is added to them.
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({m.n});
        m.output(m.node("Add", {x, m.weights({3})}));
      },
      "node `v1` (Add) mixes it with another dimension", 1, 3);
}

TEST(RowIndependence, AConstantForEachRowIsItsBeginning) {
  const auto plus_positions = [](SizedModel& m) {
    const auto x = m.input({m.n, 3});
    m.output(m.node("Add", {x, m.counting({m.n, 3})}));
  };
  expect_rows_are_kept(plus_positions);
  // The same along the other axis: the rows of the smaller one are not the first elements of the larger ones.
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({3, m.n}, 1);
        m.output(m.node("Add", {x, m.counting({3, m.n})}));
      },
      "node `v1` (Add) computes with its size");
}

TEST(RowIndependence, TheSizeAsANumber) {
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({m.n, 3});
        m.output(m.node("Mul", {x, m.number(static_cast<float>(m.n))}));
      },
      "node `v1` (Mul) computes with its size");
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({m.n, 3});
        const auto size = m.node("Cast", {m.node("Shape", {x})}, SizedModel::with({{"to", int64_t{1}}}));
        m.output(m.node("Mul", {x, m.node("ReduceSum", {size})}));
      },
      "node `v2` (Cast) computes with its size");
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({m.n, 3});
        m.output(m.node("Shape", {x}));
      },
      "output `v1` follows from its size");
  // The size of another dimension is a number like any other.
  expect_rows_are_kept([](SizedModel& m) {
    const auto x = m.input({m.n, 3});
    const auto columns = m.node("Shape", {x}, SizedModel::with({{"start", int64_t{1}}}));
    m.output(m.node("Add", {x, m.node("Cast", {columns}, SizedModel::with({{"to", int64_t{1}}}))}));
  });
}

TEST(RowIndependence, Softmax) {
  expect_rows_are_kept([](SizedModel& m) { m.output(m.node("Softmax", {m.input({m.n, 3})})); });
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("Softmax", {m.input({3, m.n}, 1)}));
      },
      "node `v1` (Softmax) normalises over it");
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("Softmax", {m.input({m.n, 3})}, SizedModel::with({{"axis", int64_t{0}}})));
      },
      "node `v1` (Softmax) normalises over it");
}

TEST(RowIndependence, Normalisations) {
  expect_rows_are_kept([](SizedModel& m) {
    m.output(m.node("LayerNormalization", {m.input({m.n, 2, 3}), m.weights({3}), m.weights({3})}));
  });
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("LayerNormalization", {m.input({2, m.n, 3}, 1), m.weights({1, 3})},
                        SizedModel::with({{"axis", int64_t{1}}})));
      },
      "node `v1` (LayerNormalization) normalises over it");
  const auto batch_normalization = [](SizedModel& m, const ir::Shape& shape, int axis) {
    const auto x = m.input(shape, axis);
    m.output(m.node("BatchNormalization", {x, m.weights({3}), m.weights({3}), m.weights({3}), m.weights({3})}));
  };
  expect_rows_are_kept([&](SizedModel& m) { batch_normalization(m, {m.n, 3, 2}, 0); });
  expect_rows_are_kept([&](SizedModel& m) { batch_normalization(m, {1, 3, m.n}, 2); });
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("InstanceNormalization", {m.input({1, 3, m.n}, 2), m.weights({3}), m.weights({3})}));
      },
      "node `v1` (InstanceNormalization) normalises over it");
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("MeanVarianceNormalization", {m.input({m.n, 3, 2, 2})}));
      },
      "node `v1` (MeanVarianceNormalization) normalises over it");
}

TEST(RowIndependence, Reductions) {
  expect_rows_are_kept([](SizedModel& m) {
    const auto x = m.input({2, m.n, 3}, 1);
    m.output(m.node("ReduceMax", {x}, SizedModel::with({{"axes", Ints{0}}, {"keepdims", int64_t{0}}})));
    m.output(m.node("ReduceSum", {x, m.ints({-1})}));
    m.output(m.node("ArgMax", {x}, SizedModel::with({{"axis", int64_t{0}}, {"keepdims", int64_t{0}}})));
  });
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("ReduceMean", {m.input({m.n, 3})}, SizedModel::with({{"axes", Ints{0}}})));
      },
      "node `v1` (ReduceMean) sums over it");
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("ReduceSum", {m.input({m.n, 3})}));
      },
      "node `v1` (ReduceSum) sums over it");
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("ArgMax", {m.input({m.n, 3})}));
      },
      "node `v1` (ArgMax) searches along it");
}

TEST(RowIndependence, Scans) {
  const auto accumulated = [](SizedModel& m, int64_t axis) {
    m.output(m.node("CumSum", {m.input({m.n, 3}), m.ints({axis})}));
  };
  expect_rows_are_kept([&](SizedModel& m) { accumulated(m, 1); });
  expect_obstacle([&](SizedModel& m) { accumulated(m, 0); }, "node `v1` (CumSum) sums along it");
  expect_obstacle(
      [](SizedModel& m) {
        const auto sorted =
            m.results("TopK", {m.input({m.n, 3}), m.ints({1})}, 2, SizedModel::with({{"axis", int64_t{0}}}));
        m.output(sorted[0]);
      },
      "node `v1` (TopK) sorts along it");
}

TEST(RowIndependence, Products) {
  expect_rows_are_kept([](SizedModel& m) { m.output(m.node("MatMul", {m.input({m.n, 3}), m.weights({3, 2})})); });
  expect_rows_are_kept([](SizedModel& m) {
    m.output(m.node("MatMul", {m.input({m.n, 2, 3}), m.input({m.n, 3, 2})}));
    m.output(m.node("MatMul", {m.input({m.n, 2, 3}), m.weights({1, 3, 2})}));
    m.output(m.node("MatMul", {m.weights({2, 3}), m.input({3, m.n}, 1)}));
    m.output(m.node("MatMul", {m.input({m.n, 3}), m.weights({3})}));
  });
  // Scores of each position against each.
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({1, m.n, 3}, 1);
        m.output(m.node("MatMul", {x, m.node("Transpose", {x}, SizedModel::with({{"perm", Ints{0, 2, 1}}}))}));
      },
      "node `v2` (MatMul) sums over it, or mixes it with another dimension");
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("MatMul", {m.input({2, m.n}, 1), m.input({m.n, 2})}));
      },
      "node `v1` (MatMul) sums over it, or mixes it with another dimension");
  expect_rows_are_kept([](SizedModel& m) {
    m.output(m.node("Gemm", {m.input({m.n, 3}), m.weights({2, 3}), m.weights({2})},
                    SizedModel::with({{"transB", int64_t{1}}})));
    m.output(m.node("Einsum", {m.input({m.n, 3}), m.weights({3, 2})},
                    SizedModel::with({{"equation", std::string("bi,ij->jb")}})));
  });
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("Gemm", {m.input({m.n, 3}), m.input({m.n, 2})}, SizedModel::with({{"transA", int64_t{1}}})));
      },
      "node `v1` (Gemm) sums over it, or mixes it with another dimension");
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("Einsum", {m.input({m.n, 3})}, SizedModel::with({{"equation", std::string("bi->i")}})));
      },
      "node `v1` (Einsum) sums over it, or mixes it with another dimension");
}

TEST(RowIndependence, AttentionKeepsTheBatchApartAndNotTheSequence) {
  const auto attention = [](SizedModel& m, const ir::Shape& shape, int axis) {
    const auto x = m.input(shape, axis);
    const auto q = m.node("MatMul", {x, m.weights({3, 3})}), k = m.node("MatMul", {x, m.weights({3, 3})});
    const auto scores = m.node("MatMul", {q, m.node("Transpose", {k}, SizedModel::with({{"perm", Ints{0, 2, 1}}}))});
    m.output(m.node("MatMul", {m.node("Softmax", {scores}), m.node("MatMul", {x, m.weights({3, 3})})}));
  };
  expect_rows_are_kept([&](SizedModel& m) { attention(m, {m.n, 5, 3}, 0); });
  expect_obstacle(
      [&](SizedModel& m) {
        attention(m, {5, m.n, 3}, 1);
      },
      "node `v4` (MatMul) sums over it, or mixes it with another dimension");
}

TEST(RowIndependence, Images) {
  const auto conv = [](SizedModel& m, const ir::Shape& shape, int axis) {
    const auto x = m.input(shape, axis);
    const auto c = m.node("Conv", {x, m.weights({2, 3, 3, 3})}, SizedModel::with({{"pads", Ints{1, 1, 1, 1}}}));
    m.output(m.node("Flatten", {m.node("GlobalAveragePool", {m.node("Relu", {c})})}));
  };
  expect_rows_are_kept([&](SizedModel& m) { conv(m, {m.n, 3, 4, 4}, 0); });
  expect_obstacle([&](SizedModel& m) { conv(m, {1, 3, m.n, 4}, 2); }, "node `v1` (Conv) sums over it");
  expect_obstacle(
      [](SizedModel& m) {
        const auto both =
            m.results("MaxPool", {m.input({m.n, 3, 4, 4})}, 2, SizedModel::with({{"kernel_shape", Ints{2, 2}}}));
        m.output(both[1]);
      },
      "node `v1` (MaxPool) takes windows along it, or counts indices from the first");
}

TEST(RowIndependence, Reshape) {
  // The batch with what follows it, and apart again.
  expect_rows_are_kept([](SizedModel& m) {
    const auto x = m.input({m.n, 5, 4});
    const auto rows = m.node("Reshape", {x, m.ints({m.n * 5, 4})});
    m.output(m.node("Reshape", {m.node("Relu", {rows}), m.ints({m.n, 5, 2, 2})}));
    m.output(rows);
  });
  expect_rows_are_kept([](SizedModel& m) {
    const auto x = m.input({1, m.n, 4}, 1);
    m.output(m.node("Reshape", {x, m.ints({-1, 4})}));
  });
  // Into features, or after another dimension.
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("Reshape", {m.input({3, m.n}, 1), m.ints({-1})}));
      },
      "node `v1` (Reshape) merges it with a dimension before it");
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("Reshape", {m.input({m.n, 6}), m.ints({2, -1})}));
      },
      "node `v1` (Reshape) merges it with a dimension before it");
}

TEST(RowIndependence, Movement) {
  expect_rows_are_kept([](SizedModel& m) {
    const auto x = m.input({m.n, 3, 2});
    m.output(m.node("Transpose", {x}, SizedModel::with({{"perm", Ints{2, 0, 1}}})));
    m.output(m.node("Unsqueeze", {x, m.ints({0})}));
    m.output(m.node("Concat", {x, x}, SizedModel::with({{"axis", int64_t{1}}})));
    for (const auto part : m.results("Split", {x}, 2, SizedModel::with({{"axis", int64_t{2}}}))) m.output(part);
    m.output(m.node("Tile", {x, m.ints({1, 2, 1})}));
    m.output(m.node("Pad", {x, m.ints({0, 1, 0, 0, 0, 1})}));
  });
  const auto one_axis = [](const std::string& op, const std::vector<Ints>& operands, const ir::AttrMap& attrs = {}) {
    return [=](SizedModel& m) {
      std::vector<ir::ValueId> inputs{m.input({m.n, 3})};
      if (op == "Concat") inputs.push_back(inputs[0]);
      for (const Ints& operand : operands) inputs.push_back(m.ints(operand));
      m.output(m.node(op, inputs, attrs));
    };
  };
  expect_obstacle(one_axis("Concat", {}, SizedModel::with({{"axis", int64_t{0}}})),
                  "node `v1` (Concat) appends along it");
  expect_obstacle(one_axis("Tile", {{2, 1}}), "node `v1` (Tile) repeats it");
  expect_obstacle(one_axis("Pad", {{1, 0, 0, 0}}), "node `v1` (Pad) pads it");
}

TEST(RowIndependence, Slices) {
  const auto slice = [](SizedModel& m, const std::vector<Ints>& operands) {
    std::vector<ir::ValueId> inputs{m.input({m.n, 6})};
    for (const Ints& operand : operands) inputs.push_back(m.ints(operand));
    m.output(m.node("Slice", inputs));
  };
  expect_rows_are_kept([&](SizedModel& m) { slice(m, {{1}, {5}, {1}, {2}}); });
  // All of it, by an end that follows from the size.
  expect_rows_are_kept([&](SizedModel& m) { slice(m, {{0, 1}, {m.n, 3}}); });
  constexpr int64_t kBefore = INT64_MIN + 1;
  expect_obstacle([&](SizedModel& m) { slice(m, {{-1}, {kBefore}, {0}, {-1}}); }, "node `v1` (Slice) cuts it");
  expect_obstacle([&](SizedModel& m) { slice(m, {{-1}, {INT64_MAX}, {0}}); }, "node `v1` (Slice) cuts it");
  expect_obstacle([&](SizedModel& m) { slice(m, {{0}, {1}, {0}}); }, "node `v1` (Slice) cuts it");
  // As many columns as there are rows.
  expect_obstacle([&](SizedModel& m) { slice(m, {{0}, {m.n}, {1}}); }, "node `v1` (Slice) cuts it");
}

TEST(RowIndependence, Expand) {
  expect_rows_are_kept([](SizedModel& m) {
    const auto token = m.node("Expand", {m.weights({1, 1, 3}), m.ints({m.n, 1, 3})});
    m.output(m.node("Concat", {token, m.input({m.n, 2, 3})}, SizedModel::with({{"axis", int64_t{1}}})));
  });
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("Expand", {m.input({m.n, 1}), m.ints({m.n, m.n})}));
      },
      "node `v1` (Expand) repeats it, or has it twice");
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({m.n, 1});
        m.output(m.node("Add", {x, m.node("ConstantOfShape", {m.ints({m.n, m.n})})}));
      },
      "node `v1` (ConstantOfShape) has it twice");
}

TEST(RowIndependence, IndicesArePaddedByOnesThatExist) {
  expect_rows_are_kept([](SizedModel& m) {
    m.output(m.node("Gather", {m.weights({4, 3}), m.input({m.n, 2}, 0, ir::DType::I64)}));
    m.output(m.node("Gather", {m.input({m.n, 3}), m.ints({2, 0})}, SizedModel::with({{"axis", int64_t{1}}})));
  });
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("Gather", {m.input({m.n, 3}), m.ints({0})}));
      },
      "node `v1` (Gather) picks along it, or takes indices from padding");
  // Positions are added to the indices: those of padding may be out of range where no other is.
  expect_obstacle(
      [](SizedModel& m) {
        Ints positions;
        for (int64_t i = 0; i < m.n; ++i) positions.push_back(i);
        const auto ids = m.node("Add", {m.input({m.n}, 0, ir::DType::I64), m.ints(positions)});
        m.output(m.node("Gather", {m.weights({5, 3}), ids}));
      },
      "node `v2` (Gather) picks along it, or takes indices from padding");
}

TEST(RowIndependence, NothingIsDividedByPadding) {
  expect_rows_are_kept([](SizedModel& m) {
    const auto x = m.input({m.n}, 0, ir::DType::I64);
    m.output(m.node("Div", {x, m.node("Add", {x, m.ints({1})})}));
  });
  expect_obstacle(
      [](SizedModel& m) {
        Ints divisors(static_cast<size_t>(m.n), 0);
        divisors[0] = divisors[1] = 1;
        m.output(m.node("Div", {m.input({m.n}, 0, ir::DType::I64), m.ints(divisors)}));
      },
      "node `v1` (Div) mixes it with another dimension, or may divide by what padding holds");
}

TEST(RowIndependence, Recurrent) {
  const auto lstm = [](SizedModel& m, const ir::Shape& shape, int axis) {
    const auto x = m.input(shape, axis);
    for (const auto result : m.results("LSTM", {x, m.weights({1, 8, 3}), m.weights({1, 8, 2})}, 3,
                                       SizedModel::with({{"hidden_size", int64_t{2}}}))) {
      m.output(result);
    }
  };
  expect_rows_are_kept([&](SizedModel& m) { lstm(m, {5, m.n, 3}, 1); });
  expect_obstacle([&](SizedModel& m) { lstm(m, {m.n, 5, 3}, 0); }, "node `v1` (LSTM) goes along it step by step");
}

TEST(RowIndependence, WhatHasNoRuleIsNotProved) {
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.node("ReverseSequence", {m.input({3, m.n}, 1), m.input({m.n}, 0, ir::DType::I64)}));
      },
      "node `v1` (ReverseSequence) is not known to keep it apart");
  expect_obstacle(
      [](SizedModel& m) {
        m.output(m.results("DynamicQuantizeLinear", {m.input({m.n, 3})}, 3)[0]);
      },
      "node `v1` (DynamicQuantizeLinear) is not known to keep it apart");
  for (const char* op : {"NonZero", "Unique", "Compress", "NonMaxSuppression", "RandomNormalLike", "Multinomial"})
    EXPECT_EQ(ir::find_op(op)->rows.rule, ir::RowRule::None) << op;
}

TEST(RowIndependence, Bits) {
  expect_rows_are_kept([](SizedModel& m) {
    ir::AttrMap to;
    to.set("to", int64_t{6});
    m.output(m.node("BitwiseNot", {m.node("BitCast", {m.input({m.n, 3})}, to)}));
  });
}

TEST(RowIndependence, Ports) {
  expect_obstacle([](SizedModel& m) { m.output(m.node("Relu", {m.input({m.n, m.n})})); }, "input `x1` has it twice");
  const RowProof proof = proof_of([](SizedModel& m) {
    const auto x = m.input({3, m.n, 2}, 1), c = m.input({2}, -1);
    m.output(m.node("Add", {x, c}));
    m.output(
        m.node("Reshape", {m.node("Transpose", {x}, SizedModel::with({{"perm", Ints{1, 0, 2}}})), m.ints({-1, 2})}));
    m.output(m.node("Relu", {c}));
  });
  ASSERT_TRUE(proof.holds()) << proof.obstacle;
  EXPECT_EQ(proof.inputs, (std::vector<RowPort>{{1, 1}, {-1, 1}}));
  EXPECT_EQ(proof.outputs, (std::vector<RowPort>{{1, 1}, {0, 3}, {-1, 1}}));
}

TEST(RowIndependence, OtherModels) {
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({m.n, 3});
        m.output(m.node(m.n > 2 ? "Relu" : "Neg", {x}));
      },
      "the model has other nodes for another size");
  expect_obstacle(
      [](SizedModel& m) {
        const auto x = m.input({m.n, 3});
        m.output(m.node("LeakyRelu", {x}, SizedModel::with({{"alpha", static_cast<double>(m.n)}})));
      },
      "node `v1` (LeakyRelu) has attributes that follow from its size");
}

/// Random chains of operators: whatever is proved holds.
TEST(RowIndependence, RandomModels) {
  int proved = 0;
  constexpr uint64_t kModels = 400;
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    const auto build = [&](SizedModel& m) {
      uint64_t state = seed * 6364136223846793005U + 1442695040888963407U;
      const auto next = [&](uint64_t below) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return (state >> 33) % below;
      };
      auto x = m.input({m.n, 4, 4}, 0);
      for (int step = 0; step < 5; ++step) {
        switch (next(9)) {
          case 0: x = m.node("Relu", {x}); break;
          case 1: x = m.node("Add", {x, m.node("Neg", {x})}); break;
          case 2: x = m.node("MatMul", {x, m.weights({4, 4})}); break;
          case 3:
            if (next(4) == 0) x = m.node("Softmax", {x}, SizedModel::with({{"axis", static_cast<int64_t>(next(3))}}));
            break;
          case 4:
            x = m.node("Transpose", {x}, SizedModel::with({{"perm", next(6) == 0 ? Ints{1, 2, 0} : Ints{0, 2, 1}}}));
            if (m.graph().value(x).type.shape[0] != m.n) return m.output(x);
            break;
          case 5: x = m.node("Reshape", {m.node("Reshape", {x, m.ints({m.n * 4, 4})}), m.ints({m.n, 4, 4})}); break;
          case 6: x = m.node("Reshape", {m.node("Reshape", {x, m.ints({4, -1})}), m.ints({m.n, 4, 4})}); break;
          case 7: x = m.node("Mul", {x, m.counting({m.n, 1, 1})}); break;
          default:
            x = m.node("ReduceMax", {x}, SizedModel::with({{"axes", Ints{1}}}));
            x = m.node("Add", {x, m.weights({4, 4})});
        }
      }
      m.output(x);
    };
    if (!proof_of(build, 3, 5).holds()) continue;
    ++proved;
    expect_rows_are_kept(build, 3, 5);
  }
  EXPECT_GT(proved, 50);
  EXPECT_LT(proved, static_cast<int>(kModels));
}

}  // namespace
}  // namespace collage::shapes
