// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN against their reference kernels.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class RecurrentKernels : public KernelTest {
 protected:
  void expect_compiled(Model& model, double tolerance = 1e-5) {
    RunStats stats = check(model, *jit_, tolerance, -2, 2);
    EXPECT_GE(stats.kernels, 3);
    EXPECT_EQ(stats.references, 0);
  }
};

int64_t gates_of(const std::string& op) {
  return op == "RNN" ? 1 : op == "GRU" ? 3 : 4;
}

ValueId constant_lengths(Model& model, const std::vector<int32_t>& lengths) {
  ir::Constant c;
  c.data = runtime::Tensor(ir::DType::I32, {static_cast<int64_t>(lengths.size())});
  std::copy(lengths.begin(), lengths.end(), c.data.as<int32_t>().begin());
  return model.graph.add_constant(model.graph.unique_name("lengths"), c);
}

/// A cell with weights small enough that rounding does not grow from step to step.
std::vector<ValueId> weights(Model& model, const std::string& op, int64_t directions, int64_t input, int64_t hidden) {
  const int64_t rows = gates_of(op) * hidden;
  const float bound = 1.0F / std::sqrt(static_cast<float>(hidden));
  return {model.constant({directions, rows, input}, -0.5, 0.5),
          model.constant({directions, rows, hidden}, -bound, bound)};
}

TEST_F(RecurrentKernels, RandomCells) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    auto coin = [&] { return pick(0, 1) == 0; };
    make(static_cast<int>(pick(1, 4)));
    const std::string op = std::vector<std::string>{"LSTM", "GRU", "RNN"}[static_cast<size_t>(pick(0, 2))];
    const std::string direction =
        std::vector<std::string>{"forward", "reverse", "bidirectional"}[static_cast<size_t>(pick(0, 2))];
    const int64_t directions = direction == "bidirectional" ? 2 : 1;
    const int64_t steps = pick(1, 7), batch = pick(1, coin() ? 2 : 17), input = pick(1, 20), hidden = pick(1, 70);
    const bool batch_first = coin();
    ir::AttrMap attrs;
    attrs.set("direction", direction);
    if (batch_first) attrs.set("layout", int64_t{1});
    if (coin()) attrs.set("clip", 0.7);
    if (op == "LSTM" && coin()) attrs.set("input_forget", int64_t{1});
    if (op == "GRU" && coin()) attrs.set("linear_before_reset", int64_t{1});
    if (coin()) {
      static const std::vector<std::string> kNames = {"Affine",   "Elu",     "HardSigmoid",    "LeakyRelu",
                                                      "Relu",     "Sigmoid", "ScaledTanh",     "Softplus",
                                                      "Softsign", "Tanh",    "ThresholdedRelu"};
      const size_t per_direction = op == "LSTM" ? 3 : op == "GRU" ? 2 : 1;
      runtime::Strings names;
      for (size_t i = 0; i < per_direction; ++i) {
        names.push_back(kNames[static_cast<size_t>(pick(0, static_cast<int64_t>(kNames.size()) - 1))]);
      }
      // Both directions alike, or not.
      for (int64_t d = 1; d < directions; ++d) {
        for (size_t i = 0; i < per_direction; ++i) names.push_back(coin() ? names[i] : "Sigmoid");
      }
      attrs.set("activations", names);
      attrs.set("activation_alpha", runtime::Floats{0.4});
      attrs.set("activation_beta", runtime::Floats{0.3});
    }
    const Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    std::vector<ValueId> operands = {
        model.input(batch_first ? Shape{batch, steps, input} : Shape{steps, batch, input})};
    for (ValueId w : weights(model, op, directions, input, hidden)) operands.push_back(w);
    operands.push_back(coin() ? model.constant({directions, 2 * gates_of(op) * hidden}) : ValueId());
    std::vector<int32_t> lengths;
    for (int64_t b = 0; b < batch; ++b) lengths.push_back(static_cast<int32_t>(pick(0, steps)));
    const int64_t given = pick(0, 2);
    operands.push_back(given == 0   ? ValueId()
                       : given == 1 ? constant_lengths(model, lengths)
                                    : model.input<int32_t>(ir::DType::I32, {batch}, lengths));
    operands.push_back(coin() ? model.input(state) : ValueId());
    if (op == "LSTM") {
      operands.push_back(coin() ? model.input(state) : ValueId());
      operands.push_back(coin() ? model.constant({directions, 3 * hidden}) : ValueId());
    }
    const std::vector<ValueId> results = model.ops(op, operands, attrs, op == "LSTM" ? 3 : 2);
    // At least one of the results is read.
    const auto last = static_cast<int64_t>(results.size()) - 1;
    const auto read = static_cast<size_t>(pick(0, last));
    for (size_t i = 0; i < results.size(); ++i) {
      if (i == read || coin()) model.graph.mark_output(results[i]);
    }
    expect_compiled(model, 4e-5);
  }
}

// One sequence in one direction: threads share each step.
TEST_F(RecurrentKernels, SharedSteps) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    for (int64_t after : {0, 1}) {
      SCOPED_TRACE(std::string(op) + (after ? " after" : ""));
      Model model(1);
      make(2);
      const int64_t hidden = std::string(op) == "RNN" ? 400 : 217;
      std::vector<ValueId> operands = {model.input({5, 1, 30})};
      for (ValueId w : weights(model, op, 1, 30, hidden)) operands.push_back(w);
      operands.push_back(model.constant({1, 2 * gates_of(op) * hidden}));
      ir::AttrMap attrs;
      if (std::string(op) == "GRU") attrs.set("linear_before_reset", after);
      for (ValueId result : model.ops(op, operands, attrs, std::string(op) == "LSTM" ? 3 : 2)) {
        model.graph.mark_output(result);
      }
      RunStats stats = check(model, *jit_, 4e-5, -2, 2);
      EXPECT_EQ(stats.kernels, 2 + 5 * (std::string(op) == "GRU" && after == 0 ? 2 : 1));
      EXPECT_EQ(stats.references, 0);
    }
  }
}

// States stay f32 from step to step; only what is stored as a result is rounded.
TEST_F(RecurrentKernels, NarrowFloats) {
  for (ir::DType dtype : {ir::DType::F16, ir::DType::BF16}) {
    for (const char* op : {"LSTM", "GRU", "RNN"}) {
      for (const char* direction : {"reverse", "bidirectional"}) {
        SCOPED_TRACE(testing::Message() << runtime::name_of(dtype) << " " << op << " " << direction);
        const int64_t directions = std::string(direction) == "reverse" ? 1 : 2, hidden = 21;
        Model model(5);
        model.dtype = dtype;
        std::vector<ValueId> operands = {model.input({6, 5, 11})};
        for (ValueId w : weights(model, op, directions, 11, hidden)) operands.push_back(w);
        operands.push_back(model.constant({directions, 2 * gates_of(op) * hidden}));
        operands.push_back(constant_lengths(model, {6, 0, 3, 6, 1}));
        operands.push_back(model.input({directions, 5, hidden}));
        const bool is_lstm = std::string(op) == "LSTM";
        if (is_lstm) operands.push_back(model.input({directions, 5, hidden}));
        if (is_lstm) operands.push_back(model.constant({directions, 3 * hidden}));
        ir::AttrMap attrs;
        attrs.set("direction", std::string(direction));
        if (std::string(op) == "GRU") attrs.set("linear_before_reset", directions - 1);
        for (ValueId result : model.ops(op, operands, attrs, is_lstm ? 3 : 2)) model.graph.mark_output(result);
        expect_compiled(model);
      }
    }
  }
}

// f64 has no code here.
TEST_F(RecurrentKernels, DoublesRunOnReferenceKernels) {
  Model model(6);
  model.dtype = ir::DType::F64;
  std::vector<ValueId> operands = {model.input({3, 2, 4})};
  for (ValueId w : weights(model, "GRU", 1, 4, 5)) operands.push_back(w);
  model.graph.mark_output(model.ops("GRU", operands, {}, 2)[0]);
  EXPECT_EQ(check(model, *jit_).references, 1);
}

// NaN and infinities pass through as they do in the reference kernel.
TEST_F(RecurrentKernels, SpecialNumbers) {
  Model model(3);
  const float inf = std::numeric_limits<float>::infinity();
  ValueId x = model.input<float>(ir::DType::F32, {3, 2, 2},
                                 {1, 2, -inf, 0, 3, inf, -0.0F, 4, std::numeric_limits<float>::quiet_NaN(), 1, 2, 3});
  std::vector<ValueId> operands = {x};
  for (ValueId w : weights(model, "LSTM", 1, 2, 5)) operands.push_back(w);
  for (ValueId result : model.ops("LSTM", operands, {}, 3)) model.graph.mark_output(result);
  expect_compiled(model);
}

TEST_F(RecurrentKernels, AThresholdItselfPasses) {
  Model model(2);
  const ValueId x = model.input<float>(ir::DType::F32, {3, 1, 1}, {1, 2, 3});
  ir::AttrMap attrs;
  attrs.set("activations", runtime::Strings{"ThresholdedRelu"});
  attrs.set("activation_alpha", runtime::Floats{2});
  model.graph.mark_output(
      model.ops("RNN", {x, model.constant({1, 1, 1}, 1, 1), model.constant({1, 1, 1}, 0, 0)}, attrs, 2)[0]);
  expect_compiled(model, 0);
}

TEST_F(RecurrentKernels, ComputedWeightsRunOnReferenceKernels) {
  Model model(2);
  const std::vector<ValueId> operands = {model.input({3, 2, 4}), model.input({1, 20, 4}), model.constant({1, 20, 5})};
  model.graph.mark_output(model.ops("LSTM", operands, {}, 3)[0]);
  EXPECT_EQ(check(model, *jit_).references, 1);
}

}  // namespace
}  // namespace collage::codegen_test
