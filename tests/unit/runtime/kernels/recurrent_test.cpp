// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN against equations written out for states of one or two numbers.
#include <cmath>

#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

float as_float(double x) {
  return static_cast<float>(x);
}

/// `count` numbers between -1 and 1 that look arbitrary.
Tensor numbers(Shape shape, double seed) {
  Tensor result(DType::F32, std::move(shape));
  for (int64_t i = 0; i < result.count(); ++i) {
    result.as<float>()[static_cast<size_t>(i)] = as_float(std::sin(seed + 1.7 * static_cast<double>(i)));
  }
  return result;
}

TEST(RecurrentKernels, RnnAddsBothBiases) {
  // h1 = tanh(0.5 * 1 + 0.1 + 0.2), h2 = tanh(0.5 * 2 + 2 * h1 + 0.3)
  std::vector<Tensor> y =
      run("RNN", {f32({2, 1, 1}, {1, 2}), f32({1, 1, 1}, {0.5f}), f32({1, 1, 1}, {2}), f32({1, 2}, {0.1f, 0.2f})},
          {{"hidden_size", int64_t{1}}}, 2);
  double h1 = std::tanh(0.8);
  double h2 = std::tanh(1.3 + 2 * h1);
  expect_equal(y[0], f32({2, 1, 1, 1}, {as_float(h1), as_float(h2)}), 1e-6);
  expect_equal(y[1], f32({1, 1, 1}, {as_float(h2)}), 1e-6);
}

// x if x >= alpha, else 0.
TEST(RecurrentKernels, AThresholdItselfPasses) {
  std::vector<Tensor> y = run("RNN", {f32({3, 1, 1}, {0.5f, 0.7f, 3}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {0})},
                              {{"activations", Strings{"ThresholdedRelu"}}, {"activation_alpha", Floats{0.7}}}, 2);
  expect_equal(y[0], f32({3, 1, 1, 1}, {0, 0.7f, 3}), 0);
}

TEST(RecurrentKernels, LstmHasGatesInputOutputForgetCell) {
  Tensor x = f32({1, 1, 1}, {1});
  Tensor w = f32({1, 4, 1}, {0.1f, 0.2f, 0.3f, 0.4f});
  Tensor r = f32({1, 4, 1}, {0.5f, -0.5f, 0.25f, 1});
  Tensor b = f32({1, 8}, {0.01f, 0.02f, 0.03f, 0.04f, 0.1f, 0.1f, 0.1f, 0.1f});
  Tensor h0 = f32({1, 1, 1}, {0.6f});
  Tensor c0 = f32({1, 1, 1}, {-0.7f});
  Tensor p = f32({1, 3}, {0.9f, 0.8f, -0.7f});
  std::vector<Tensor> y = run("LSTM", {x, w, r, b, absent(), h0, c0, p}, {}, 3);
  double i = sigmoid(0.1 + 0.5 * 0.6 + 0.11 + 0.9 * -0.7);
  double f = sigmoid(0.3 + 0.25 * 0.6 + 0.13 - 0.7 * -0.7);
  double c = f * -0.7 + i * std::tanh(0.4 + 0.6 + 0.14);
  double o = sigmoid(0.2 - 0.5 * 0.6 + 0.12 + 0.8 * c);
  expect_equal(y[0], f32({1, 1, 1, 1}, {as_float(o * std::tanh(c))}), 1e-6);
  expect_equal(y[1], f32({1, 1, 1}, {as_float(o * std::tanh(c))}), 1e-6);
  expect_equal(y[2], f32({1, 1, 1}, {as_float(c)}), 1e-6);
  // Coupled: the forget gate is 1 - i.
  y = run("LSTM", {x, w, r, b, absent(), h0, c0, p}, {{"input_forget", int64_t{1}}}, 3);
  expect_equal(y[2], f32({1, 1, 1}, {as_float((1 - i) * -0.7 + i * std::tanh(1.14))}), 1e-6);
}

TEST(RecurrentKernels, GruResetsBeforeOrAfterTheProduct) {
  Tensor x = f32({1, 1, 1}, {2});
  Tensor w = f32({1, 3, 1}, {0.1f, 0.2f, 0.3f});
  Tensor r = f32({1, 3, 1}, {0.4f, 0.5f, 0.6f});
  Tensor b = f32({1, 6}, {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f});
  Tensor h0 = f32({1, 1, 1}, {0.5f});
  double z = sigmoid(0.2 + 0.2 + 0.5);
  double reset = sigmoid(0.4 + 0.25 + 0.7);
  double before = std::tanh(0.6 + 0.6 * reset * 0.5 + 0.9);
  double after = std::tanh(0.6 + reset * (0.3 + 0.6) + 0.3);
  expect_equal(run("GRU", {x, w, r, b, absent(), h0})[0], f32({1, 1, 1, 1}, {as_float((1 - z) * before + z * 0.5)}),
               1e-6);
  expect_equal(run("GRU", {x, w, r, b, absent(), h0}, {{"linear_before_reset", int64_t{1}}})[0],
               f32({1, 1, 1, 1}, {as_float((1 - z) * after + z * 0.5)}), 1e-6);
}

TEST(RecurrentKernels, FunctionsTakeTheirConstantsInOrder) {
  // f = Affine(alpha 2, beta 0.5) forward, LeakyRelu(alpha 0.25) backward
  std::vector<Tensor> y = run("RNN", {f32({1, 1, 1}, {-1}), f32({2, 1, 1}, {1, 1}), f32({2, 1, 1}, {0, 0})},
                              {{"direction", std::string("bidirectional")},
                               {"activations", Strings{"Affine", "LeakyRelu"}},
                               {"activation_alpha", Floats{2.0, 0.25}},
                               {"activation_beta", Floats{0.5}}});
  expect_equal(y[0], f32({1, 2, 1, 1}, {-1.5f, -0.25f}));
  y = run("RNN", {f32({1, 1, 1}, {5}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {0})},
          {{"activations", Strings{"Relu"}}, {"clip", 3.0}});
  expect_equal(y[0], f32({1, 1, 1, 1}, {3}));
}

/// Steps [first, last) of every sequence, in the given order.
Tensor steps_of(const Tensor& x, std::vector<int64_t> steps) {
  Shape shape = x.shape();
  shape[0] = static_cast<int64_t>(steps.size());
  Tensor result(x.dtype(), shape);
  size_t row = x.bytes() / static_cast<size_t>(x.shape()[0]);
  for (size_t i = 0; i < steps.size(); ++i) {
    std::memcpy(result.data() + i * row, x.data() + static_cast<size_t>(steps[i]) * row, row);
  }
  return result;
}

class RecurrentOperators : public ::testing::TestWithParam<std::string> {
 protected:
  int64_t gates() const { return GetParam() == "LSTM" ? 4 : GetParam() == "GRU" ? 3 : 1; }
};

TEST_P(RecurrentOperators, ReverseIsForwardOnReversedSteps) {
  Tensor x = numbers({4, 2, 3}, 0), w = numbers({1, gates() * 5, 3}, 1), r = numbers({1, gates() * 5, 5}, 2);
  std::vector<Tensor> forward = run(GetParam(), {steps_of(x, {3, 2, 1, 0}), w, r}, {}, 2);
  std::vector<Tensor> reverse = run(GetParam(), {x, w, r}, {{"direction", std::string("reverse")}}, 2);
  expect_equal(steps_of(reverse[0], {3, 2, 1, 0}), forward[0]);
  expect_equal(reverse[1], forward[1]);
}

TEST_P(RecurrentOperators, ShorterSequencesEndInZerosAndKeepTheirLastState) {
  Tensor x = numbers({4, 1, 3}, 0), w = numbers({1, gates() * 2, 3}, 1), r = numbers({1, gates() * 2, 2}, 2);
  Tensor length = i32({1}, {2});
  for (std::string direction : {"forward", "reverse"}) {
    Attrs attrs = {{"direction", direction}};
    std::vector<Tensor> whole = run(GetParam(), {x, w, r, absent(), length}, attrs, 2);
    std::vector<Tensor> part = run(GetParam(), {steps_of(x, {0, 1}), w, r}, attrs, 2);
    expect_equal(steps_of(whole[0], {0, 1}), part[0]);
    expect_equal(steps_of(whole[0], {2, 3}), f32({2, 1, 1, 2}, {0, 0, 0, 0}));
    expect_equal(whole[1], part[1]);
  }
  std::string why;
  run(GetParam(), {x, w, r, absent(), i32({1}, {5})}, {}, 2, &why);
  EXPECT_EQ(why, "sequence length 5 is not within 0 to 4");
}

TEST_P(RecurrentOperators, BothDirectionsAndBatchFirst) {
  Tensor x = numbers({3, 2, 3}, 0), w = numbers({2, gates() * 2, 3}, 1), r = numbers({2, gates() * 2, 2}, 2);
  Attrs both = {{"direction", std::string("bidirectional")}};
  std::vector<Tensor> y = run(GetParam(), {x, w, r}, both, 2);
  Tensor x_by_batch = run("Transpose", {x}, {{"perm", Ints{1, 0, 2}}})[0];
  both.emplace_back("layout", int64_t{1});
  std::vector<Tensor> by_batch = run(GetParam(), {x_by_batch, w, r}, both, 2);
  expect_equal(by_batch[0], run("Transpose", {y[0]}, {{"perm", Ints{2, 0, 1, 3}}})[0]);
  expect_equal(by_batch[1], run("Transpose", {y[1]}, {{"perm", Ints{1, 0, 2}}})[0]);
  // The last forward state is the last step's, the last backward one the first step's.
  Tensor last = run("Slice", {y[0], i64({2}, {2, 0}), i64({2}, {3, 1}), i64({2}, {0, 1})})[0];
  Tensor first = run("Slice", {y[0], i64({2}, {0, 1}), i64({2}, {1, 2}), i64({2}, {0, 1})})[0];
  Tensor states = run("Concat", {last, first}, {{"axis", int64_t{1}}})[0];
  expect_equal(y[1], states.reshaped({2, 2, 2}));
}

// Large enough to run on several threads: a sequence does not depend on those that share its thread.
TEST_P(RecurrentOperators, SequencesOfALargeBatchAreIndependent) {
  constexpr int64_t kBatch = 5, kHidden = 40, kSteps = 300;
  Tensor w = numbers({1, gates() * kHidden, 3}, 1), r = numbers({1, gates() * kHidden, kHidden}, 2);
  Tensor x = numbers({kBatch, kSteps, 3}, 0);
  Attrs attrs = {{"layout", int64_t{1}}};
  Tensor whole = run(GetParam(), {x, w, r}, attrs, 2)[1];
  for (int64_t b = 0; b < kBatch; ++b) {
    Tensor one = run("Slice", {x, i64({1}, {b}), i64({1}, {b + 1}), i64({1}, {0})})[0];
    Tensor state = run("Slice", {whole, i64({1}, {b}), i64({1}, {b + 1}), i64({1}, {0})})[0];
    expect_equal(state, run(GetParam(), {one, w, r}, attrs, 2)[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentOperators, ::testing::Values("LSTM", "GRU", "RNN"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace collage::runtime
