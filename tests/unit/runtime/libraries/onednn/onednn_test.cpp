// SPDX-License-Identifier: Apache-2.0
// oneDNN against the reference kernels, on random attributes, and what it made of the operators.
#include <string>

#include "runtime/libraries/onednn/program_view.h"
#include "tests/unit/runtime/libraries/harness.h"

namespace collage::runtime::test {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string refusal(LibraryModel& model, ir::ValueId y) {
  model.output(y);
  return model.run("onednn").failure;
}

/// Random geometry: 1 to 3 spatial dimensions, groups, strides, dilations, asymmetric pads, odd channels.
TEST(OneDnn, ConvolutionsOfRandomGeometry) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (unsigned round = 0; round < 40; ++round) {
    LibraryModel model(round);
    auto rank = static_cast<size_t>(pick(1, 3));
    int64_t groups = pick(0, 2) == 0 ? pick(2, 4) : 1;
    int64_t in = pick(1, 9), out = pick(1, 9);
    Shape x = {pick(1, 2), groups * in}, w = {groups * out, in};
    Ints strides, dilations, pads(2 * rank);
    for (size_t d = 0; d < rank; ++d) {
      w.push_back(pick(1, 3));
      strides.push_back(pick(1, 2));
      dilations.push_back(pick(1, 2));
      pads[d] = pick(0, 2);
      pads[rank + d] = pick(0, 2);
      x.push_back(pick(0, 6) + (w.back() - 1) * dilations.back() + 1);
    }
    std::vector<ir::ValueId> operands = {model.input(x), model.constant(w)};
    if (pick(0, 1) == 0) operands.push_back(model.constant({groups * out}));
    SCOPED_TRACE("round " + std::to_string(round) + " x " + to_string(x) + " w " + to_string(w));
    model.expect_runs("onednn",
                      model.add("Conv", operands,
                                {{"group", groups}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}}),
                      "convolution");
  }
}

TEST(OneDnn, TransposedConvolutions) {
  for (unsigned round = 0; round < 8; ++round) {
    LibraryModel model(round);
    int64_t groups = round % 4 == 3 ? 2 : 1;
    std::vector<ir::ValueId> operands = {model.input({1, 8, 5, 6}), model.constant({8, 3, 4, 3})};
    if (round % 2 == 0) operands.push_back(model.constant({3 * groups}));
    ir::ValueId y =
        model.add("ConvTranspose", operands,
                  {{"strides", Ints{2, 1 + round % 2}}, {"pads", Ints{1, 1, round % 3, 0}}, {"group", groups}});
    model.output(model.add("Relu", {y}));
    LibraryRun run = model.run("onednn");
    if (groups > 1 && !run.failure.empty()) continue;
    EXPECT_EQ(run.failure, "");
    EXPECT_EQ(count(run.text, "deconvolution ->"), 1u) << run.text;  // a post-op would make it slow
    EXPECT_EQ(count(run.text, "eltwise relu"), 1u) << run.text;
  }
}

struct Activation {
  const char* op;
  const char* text;
};

TEST(OneDnn, EveryActivationHangsOnAConvolution) {
  for (Activation act : {Activation{"Relu", "relu"},
                         {"LeakyRelu", "leaky_relu"},
                         {"Elu", "elu"},
                         {"Sigmoid", "sigmoid"},
                         {"Tanh", "tanh"},
                         {"HardSwish", "hardswish"},
                         {"HardSigmoid", "linear + clip"},
                         {"Abs", "abs"},
                         {"Softplus", "softplus"},
                         {"Exp", "exp"},
                         {"Neg", "linear"},
                         {"Round", "round"}}) {
    SCOPED_TRACE(act.op);
    LibraryModel model;
    ir::ValueId c = model.add("Conv", {model.input({1, 16, 9, 9}), model.constant({16, 16, 1, 1})});
    model.expect_runs("onednn", model.add(act.op, {c}), std::string("convolution + ") + act.text + " ->");
    LibraryModel alone;
    alone.expect_runs("onednn", alone.add(act.op, {alone.input({3, 5})}), "eltwise");
  }
}

TEST(OneDnn, FunctionsOfPositiveNumbers) {
  for (const char* op : {"Log", "Sqrt", "Reciprocal"}) {
    LibraryModel model;
    model.low = 0.25f;
    model.high = 4;
    model.output(model.add(op, {model.input({3, 17})}));
    LibraryRun run = model.run("onednn", 5e-6);
    EXPECT_EQ(run.failure + run.text.substr(0, 7), "eltwise");
  }
}

TEST(OneDnn, ClipAndNumbersBecomeEltwise) {
  LibraryModel model;
  ir::ValueId c = model.add("Conv", {model.input({1, 16, 9, 9}), model.constant({16, 16, 3, 3})});
  ir::ValueId scaled = model.add("Mul", {model.number(0.5f), c});
  ir::ValueId moved = model.add("Sub", {model.number(3), model.add("Add", {scaled, model.number(2)})});
  ir::ValueId clipped = model.add("Clip", {moved, model.number(0), model.number(6)});
  model.expect_runs("onednn", model.add("Div", {clipped, model.number(6)}), "convolution + linear + clip + binary_div");
}

/// Two different linear functions with something between them cannot both be post-ops: oneDNN would mix them up.
TEST(OneDnn, AnAlgorithmIsUsedWithOneSetOfParameters) {
  LibraryModel model;
  ir::ValueId c = model.add("Conv", {model.input({1, 16, 9, 9}), model.constant({16, 16, 3, 3})});
  ir::ValueId doubled = model.add("Relu", {model.add("Mul", {c, model.number(2)})});
  model.expect_runs("onednn", model.add("Add", {doubled, model.number(3)}), "convolution + linear + relu ->");
}

/// oneDNN 2.6 takes 32 post-ops: the others become primitives of their own.
TEST(OneDnn, ALongChainIsCutIntoSeveralPrimitives) {
  LibraryModel model;
  ir::ValueId y = model.add("Conv", {model.input({1, 16, 5, 5}), model.constant({16, 16, 1, 1})});
  for (int i = 0; i < 40; ++i) y = model.add("Tanh", {y});
  model.output(y);
  LibraryRun run = model.run("onednn", 1e-4);
  EXPECT_EQ(run.failure, "");
  EXPECT_GE(count(run.text, " + tanh"), 32u) << run.text;
  EXPECT_GE(count(run.text, "eltwise tanh"), 1u) << run.text;
}

TEST(OneDnn, AResidualIsAccumulatedIntoACopy) {
  LibraryModel model;
  ir::ValueId x = model.input({1, 16, 8, 8});
  ir::ValueId c =
      model.add("Conv", {x, model.constant({16, 16, 3, 3}), model.constant({16})}, {{"pads", Ints{1, 1, 1, 1}}});
  model.expect_runs("onednn", model.add("Relu", {model.add("Add", {x, c})}), "convolution + sum + relu");
}

/// The first convolution's result is read by the second and added to it: it must not be overwritten before.
TEST(OneDnn, AnAddendThatIsReadTwiceIsKept) {
  LibraryModel model;
  auto weights = [&] { return model.constant({16, 16, 1, 1}); };
  ir::ValueId a = model.add("Conv", {model.input({1, 16, 8, 8}), weights()});
  ir::ValueId b = model.add("Add", {model.add("Conv", {a, weights()}), a});
  ir::ValueId c = model.add("Add", {model.add("Conv", {b, weights()}), a});
  model.output(b);
  model.output(model.add("Relu", {c}));
  LibraryRun run = model.run("onednn", 5e-6);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(count(run.text, "convolution + sum ->"), 1u) << run.text;
  EXPECT_EQ(count(run.text, "convolution + sum + relu ->"), 1u) << run.text;
}

TEST(OneDnn, BroadcastOperandsArePostOps) {
  LibraryModel model;
  ir::ValueId c = model.add("Conv", {model.input({2, 16, 8, 8}), model.constant({16, 16, 3, 3})});
  ir::ValueId m = model.add("Mul", {c, model.constant({16, 1, 1})});
  model.expect_runs("onednn", model.add("Relu", {model.add("Add", {model.constant({1, 16, 1, 1}), m})}),
                    "convolution + binary_mul + binary_add + relu");
}

TEST(OneDnn, APrimitiveGoesByTheLastOperatorThatIsFusedIntoIt) {
  LibraryModel model;
  ir::ValueId c = model.add("Conv", {model.input({1, 16, 8, 8}), model.constant({16, 16, 3, 3})});
  ir::ValueId r = model.add("Relu", {c});
  model.output(model.add("MaxPool", {r}, {{"kernel_shape", Ints{2, 2}}}));
  std::vector<int> ops = model.run("onednn").ops();
  std::erase(ops, -1);
  EXPECT_EQ(ops, (std::vector{1, 2}));
}

TEST(OneDnn, PrimitivesOfOneOperatorGoByIt) {
  LibraryModel model;
  model.low = 0.5f;
  ir::ValueId x = model.input({2, 16, 4, 4});
  model.output(model.add("BatchNormalization",
                         {x, model.constant({16}), model.constant({16}), model.constant({16}), model.constant({16})}));
  std::vector<int> ops = model.run("onednn").ops();
  std::erase(ops, -1);
  EXPECT_FALSE(ops.empty());
  EXPECT_TRUE(std::all_of(ops.begin(), ops.end(), [](int op) { return op == 0; }));
}

TEST(OneDnn, KeepsPackedWeightsInPlaceOfThoseOfTheModel) {
  LibraryModel model;
  model.output(model.add("Conv", {model.input({1, 16, 8, 8}), model.constant({16, 16, 3, 3}), model.constant({16})}));
  const LibraryRun run = model.run("onednn");
  ASSERT_TRUE(run.kept) << run.failure;
  EXPECT_FALSE(run.kept->is_least);
  EXPECT_EQ(run.kept_bytes(), (16 * 16 * 9 + 16) * sizeof(float));  // blocks of 8 or 16 channels need no padding
}

TEST(OneDnn, BatchNormalizationIsAProductAndASum) {
  LibraryModel model;
  model.low = 0.5f;
  ir::ValueId c = model.add("Relu", {model.add("Conv", {model.input({1, 16, 8, 8}), model.constant({16, 16, 1, 1})})});
  ir::ValueId n = model.add("BatchNormalization", {c, model.constant({16}), model.constant({16}), model.constant({16}),
                                                   model.constant({16})});
  model.expect_runs("onednn", n, "convolution + relu + binary_mul + binary_add");
}

/// One reorder in, one out; between them the convolutions hand over their own layout.
TEST(OneDnn, ConvolutionsShareTheirLayout) {
  LibraryModel model;
  ir::ValueId x = model.input({1, 32, 14, 14});
  for (int i = 0; i < 3; ++i)
    x = model.add("Relu", {model.add("Conv", {x, model.constant({32, 32, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}})});
  x = model.add("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  model.output(x);
  LibraryRun run = model.run("onednn");
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(count(run.text, "reorder"), 2u) << run.text;
  EXPECT_EQ(count(run.text, "convolution + relu"), 3u) << run.text;
}

TEST(OneDnn, Pools) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (int64_t mode = 0; mode < 8; ++mode) {
      SCOPED_TRACE(std::string(op) + " " + std::to_string(mode));
      LibraryModel model;
      std::vector<std::pair<std::string, AttrValue>> attrs = {{"kernel_shape", Ints{3, 2}},
                                                              {"strides", Ints{2, 1 + mode % 2}}};
      if ((mode & 2) != 0) attrs.emplace_back("pads", Ints{1, 0, 2, 1});
      if ((mode & 4) != 0 && op[0] == 'M') attrs.emplace_back("ceil_mode", int64_t{1});
      if ((mode & 4) != 0 && op[0] == 'A') attrs.emplace_back("count_include_pad", int64_t{1});
      model.expect_runs("onednn", model.add(op, {model.input({2, 5, 9, 8})}, attrs), "pooling");
    }
    LibraryModel wide;  // one window that `ceil_mode` makes wider than its operand
    ir::ValueId y = wide.add(op, {wide.input({2, 5, 2, 8})},
                             {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 1}}, {"ceil_mode", int64_t{1}}});
    wide.expect_runs("onednn", y, "pooling");
  }
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) {
    for (const Shape& shape : {Shape{2, 5, 7}, Shape{1, 16, 4, 5}, Shape{1, 3, 2, 4, 3}}) {
      LibraryModel model;
      model.expect_runs("onednn", model.add(op, {model.input(shape)}), "pooling");
    }
  }
}

/// oneDNN has only plain loops for pools of this layout.
TEST(OneDnn, APoolOfATransposedValue) {
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) {
    LibraryModel model;
    ir::ValueId y = model.add("Transpose", {model.input({13, 84, 9, 7})}, {{"perm", Ints{3, 1, 2, 0}}});
    model.expect_runs("onednn", model.add(op, {y}), "pooling");
  }
}

/// oneDNN's pools take a sum and do not compute it.
TEST(OneDnn, APoolPlusAValue) {
  LibraryModel model;
  ir::ValueId x = model.input({1, 32, 7, 7});
  ir::ValueId p = model.add("AveragePool", {x}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
  model.expect_runs("onednn", model.add("Add", {p, x}));
}

/// Strides of dimensions of extent 1 are arbitrary, and primitives look at them all the same.
TEST(OneDnn, ImagesOfOneElement) {
  for (const Shape& x : {Shape{2, 6, 1, 1}, {3, 5, 1}, {2, 4, 1, 1, 1}, {4, 1, 1, 1}, {1, 6, 1, 1}}) {
    SCOPED_TRACE(to_string(x));
    LibraryModel norm;
    norm.low = 0.5f;
    Shape c = {x[1]};
    ir::ValueId y = norm.add("BatchNormalization",
                             {norm.input(x), norm.constant(c), norm.constant(c), norm.constant(c), norm.constant(c)});
    norm.expect_runs("onednn", y, element_count(c) > 1 ? "binary_mul + binary_add" : "linear");
    LibraryModel product;
    Shape w(x.size(), 1);
    w[0] = 3;
    w[1] = x[1];
    y = product.add("Conv", {product.input(x), product.constant(w)});
    product.expect_runs("onednn", product.add("MatMul", {y, product.constant({1, 8})}), "matmul");
  }
}

TEST(OneDnn, ATransposedExtentOfOne) {
  LibraryModel model;
  ir::ValueId y = model.add("Transpose", {model.input({15, 1, 17, 7})}, {{"perm", Ints{0, 2, 1, 3}}});
  model.expect_runs("onednn", model.add("Max", {model.add("Mul", {y, model.input({1, 1})}), model.input({7})}),
                    "binary");
}

/// The blocked result of the first has padded channels, which a view must not drop.
TEST(OneDnn, AViewOfPaddedChannels) {
  LibraryModel model;
  ir::ValueId y = model.add("ConvTranspose", {model.input({2, 2, 6, 8}), model.constant({2, 1, 1, 2})},
                            {{"pads", Ints{0, 1, 0, 0}}});
  model.expect_runs("onednn", model.add("MatMul", {y, model.constant({8, 2})}), "deconvolution");
}

/// Chains over small extents, half of them 1: layouts are most ambiguous there.
TEST(OneDnn, ChainsOverExtentsOfOne) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](size_t low, size_t high) { return low + random() % (high - low + 1); };
    auto extent = [&] { return static_cast<int64_t>(pick(0, 1) == 0 ? 1 : pick(2, 9)); };
    LibraryModel model(seed);
    Shape first(pick(3, 5));
    for (int64_t& dim : first) dim = extent();
    ir::ValueId x = model.input(first), y = model.add("Sigmoid", {x});
    std::string text = to_string(first);
    for (size_t length = pick(1, 5); length > 0; --length) {
      Shape shape = model.graph.value(y).type.shape;
      size_t rank = shape.size();
      Shape other = shape, taps = {extent(), rank < 2 ? 1 : shape[1]};
      for (int64_t& dim : other) dim = pick(0, 1) == 0 ? 1 : dim;
      taps.resize(rank, 1);
      switch (pick(0, 6)) {
        case 0: y = model.add("Tanh", {y}); break;
        case 1:
        case 2:
          y = model.add(pick(0, 1) == 0 ? "Mul" : "Add",
                        {y, pick(0, 1) == 0 ? model.input(other) : model.constant(other)});
          break;
        case 3:
          if (rank >= 3) y = model.add("Conv", {y, model.constant(taps)});
          break;
        case 4:
          if (rank >= 2) y = model.add("MatMul", {y, model.constant({shape.back(), extent()})});
          break;
        case 5: {
          Ints order(rank);
          for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int64_t>(d);
          std::shuffle(order.begin(), order.end(), random);
          y = model.add("Transpose", {y}, {{"perm", order}});
          break;
        }
        case 6: {
          std::vector<int64_t> to = {1};
          for (int64_t dim : shape) {
            bool starts = to.size() < 5 && pick(0, 1) == 0;
            if (starts) to.push_back(1);
            to.back() *= dim;
          }
          y = model.add("Reshape", {y, model.ints(to)});
          break;
        }
      }
      text += " " + to_string(model.graph.value(y).type.shape);
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text);
    model.output(y);
    EXPECT_EQ(model.run("onednn", 3e-5, 1 + seed % 2).failure, "");
  }
}

TEST(OneDnn, MatricesBroadcastAndBatch) {
  const std::pair<Shape, Shape> kShapes[] = {
      {{4, 8}, {8, 6}},       {{2, 4, 8}, {8, 6}},    {{2, 4, 8}, {2, 8, 6}}, {{1, 3, 4, 8}, {2, 1, 8, 6}},
      {{8}, {8, 6}},          {{4, 8}, {8}},          {{2, 4, 8}, {8}},       {{8}, {8}},
      {{1, 1, 17}, {17, 33}}, {{3, 1, 4, 8}, {8, 1}}, {{5, 2, 3}, {1, 3, 4}}};
  for (const auto& [a, b] : kShapes) {
    for (bool is_constant : {false, true}) {
      SCOPED_TRACE(to_string(a) + " x " + to_string(b));
      LibraryModel model;
      model.expect_runs(
          "onednn", model.add("MatMul", {model.input(a), is_constant ? model.constant(b) : model.input(b)}), "matmul");
    }
  }
}

TEST(OneDnn, GemmOfEveryForm) {
  for (int64_t form = 0; form < 32; ++form) {
    SCOPED_TRACE("form " + std::to_string(form));
    LibraryModel model;
    bool trans_a = (form & 1) != 0, trans_b = (form & 2) != 0, is_scaled = (form & 4) != 0,
         has_matrix = (form & 8) != 0;
    ir::ValueId a = model.input(trans_a ? Shape{8, 5} : Shape{5, 8});
    Shape b = trans_b ? Shape{7, 8} : Shape{8, 7};
    std::vector<ir::ValueId> operands = {a, (form & 16) != 0 ? model.input(b) : model.constant(b)};
    operands.push_back(has_matrix ? model.input({5, 7}) : form % 3 == 0 ? model.constant({5, 1}) : model.constant({7}));
    std::vector<std::pair<std::string, AttrValue>> attrs = {{"transA", int64_t{trans_a}}, {"transB", int64_t{trans_b}}};
    if (is_scaled) attrs.emplace_back("alpha", 0.5);
    if (is_scaled || has_matrix) attrs.emplace_back("beta", 0.25);
    model.expect_runs("onednn", model.add("Sigmoid", {model.add("Gemm", operands, attrs)}), "matmul");
  }
}

/// softmax(x w (x v)^T) x u, with heads by Reshape and Transpose.
TEST(OneDnn, AttentionIsOneProgram) {
  LibraryModel model;
  ir::ValueId x = model.input({1, 12, 32});
  auto heads = [&](const Ints& perm) {
    ir::ValueId p = model.add("Add", {model.add("MatMul", {x, model.constant({32, 32})}), model.constant({32})});
    return model.add("Transpose", {model.add("Reshape", {p, model.ints({1, 12, 4, 8})})}, {{"perm", perm}});
  };
  ir::ValueId scores = model.add("MatMul", {heads({0, 2, 1, 3}), heads({0, 2, 3, 1})});
  ir::ValueId weights = model.add("Softmax", {model.add("Div", {scores, model.number(2.8284f)})});
  ir::ValueId mixed = model.add("MatMul", {weights, heads({0, 2, 1, 3})});
  ir::ValueId y =
      model.add("Reshape", {model.add("Transpose", {mixed}, {{"perm", Ints{0, 2, 1, 3}}}), model.ints({1, 12, 32})});
  model.expect_runs("onednn", model.add("Add", {model.add("MatMul", {y, model.constant({32, 32})}), x}),
                    "matmul + sum");
}

TEST(OneDnn, Binaries) {
  const std::pair<Shape, Shape> kShapes[] = {
      {{2, 3, 4}, {2, 3, 4}}, {{2, 3, 4}, {4}}, {{2, 3, 4}, {3, 1}},          {{4}, {2, 3, 4}},
      {{2, 3, 4}, {1}},       {{2, 3, 4}, {}},  {{1, 8, 5, 5}, {1, 8, 1, 1}}, {{1, 8, 5, 5}, {5, 5}}};
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"}) {
    for (const auto& [a, b] : kShapes) {
      SCOPED_TRACE(std::string(op) + " " + to_string(a) + " " + to_string(b));
      LibraryModel model;
      model.expect_runs("onednn", model.add(op, {model.input(a), model.input(b)}), "binary");
    }
  }
  LibraryModel division;
  division.low = 0.5f;
  division.expect_runs("onednn", division.add("Div", {division.input({3, 4}), division.input({4})}), "binary_div");
  LibraryModel variadic;
  variadic.expect_runs("onednn",
                       variadic.add("Sum", {variadic.input({3, 4}), variadic.input({4}), variadic.input({3, 4})}),
                       "binary_add + binary_add");
}

TEST(OneDnn, PatternsOfExporters) {
  LibraryModel gelu;
  ir::ValueId x = gelu.add("MatMul", {gelu.input({2, 5, 16}), gelu.constant({16, 16})});
  ir::ValueId erf = gelu.add("Erf", {gelu.add("Div", {x, gelu.number(1.41421356f)})});
  ir::ValueId product = gelu.add("Mul", {x, gelu.add("Add", {erf, gelu.number(1)})});
  gelu.expect_runs("onednn", gelu.add("Mul", {product, gelu.number(0.5f)}), "matmul + gelu -> ab");

  LibraryModel swish;
  x = swish.add("Conv", {swish.input({1, 16, 4, 4}), swish.constant({16, 16, 1, 1})});
  swish.expect_runs("onednn", swish.add("Mul", {x, swish.add("Sigmoid", {x})}), "convolution + swish");

  LibraryModel norm;
  x = norm.input({2, 3, 24});
  ir::ValueId d = norm.add("Sub", {x, norm.add("ReduceMean", {x}, {{"axes", Ints{-1}}})});
  ir::ValueId variance = norm.add("ReduceMean", {norm.add("Pow", {d, norm.number(2)})}, {{"axes", Ints{-1}}});
  ir::ValueId scale = norm.add("Sqrt", {norm.add("Add", {variance, norm.number(1e-5f)})});
  ir::ValueId y = norm.add("Mul", {norm.add("Div", {d, scale}), norm.constant({24})});
  norm.expect_runs("onednn", norm.add("Add", {y, norm.constant({24})}), "layer normalization");
}

TEST(OneDnn, NormalizationsAndReductions) {
  for (int64_t axis : {-1, 0, 1, 2}) {
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      LibraryModel model;
      model.expect_runs("onednn", model.add(op, {model.input({3, 4, 5})}, {{"axis", axis}}), "softmax");
    }
  }
  LibraryModel norm;
  norm.expect_runs("onednn",
                   norm.add("LayerNormalization", {norm.input({2, 3, 24}), norm.constant({24}), norm.constant({24})}));
  LibraryModel lrn;
  lrn.expect_runs("onednn", lrn.add("LRN", {lrn.input({1, 16, 5, 5})}, {{"size", int64_t{5}}}), "lrn");
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum"}) {
    for (int64_t keep : {0, 1}) {
      LibraryModel model;
      std::vector<ir::ValueId> operands = {model.input({2, 3, 4, 5})};
      std::vector<std::pair<std::string, AttrValue>> attrs = {{"keepdims", keep}};
      if (std::string(op) == "ReduceSum")
        operands.push_back(model.ints({1, -1}));
      else
        attrs.emplace_back("axes", Ints{2, 3});
      model.expect_runs("onednn", model.add(op, operands, attrs));
    }
  }
}

TEST(OneDnn, MovementInsideAndAtTheEdge) {
  LibraryModel concat;
  ir::ValueId x = concat.input({1, 16, 6, 6});
  auto branch = [&](int64_t channels) {
    return concat.add("Relu", {concat.add("Conv", {x, concat.constant({channels, 16, 1, 1})})});
  };
  concat.expect_runs("onednn", concat.add("Concat", {branch(16), branch(5), x}, {{"axis", int64_t{1}}}), "concat");
  LibraryModel flatten;
  x = flatten.add("Conv", {flatten.input({2, 8, 4, 4}), flatten.constant({20, 8, 3, 3})});
  x = flatten.add("Flatten", {x});
  flatten.expect_runs("onednn", flatten.add("Gemm", {x, flatten.constant({80, 10}), flatten.constant({10})}), "matmul");
  LibraryModel views;
  x = views.input({2, 3, 4});
  views.output(views.add("Transpose", {x}, {{"perm", Ints{2, 0, 1}}}));
  views.output(views.add("Identity", {x}));
  views.expect_runs("onednn", views.add("Reshape", {x, views.ints({4, 6})}));
  LibraryModel resize;
  Tensor scales(DType::F32, {4});
  std::copy_n(std::vector<float>{1, 1, 2, 3}.begin(), 4, scales.as<float>().begin());
  x = resize.input({1, 3, 4, 5});
  resize.output(resize.add("Resize", {x, {}, resize.constant(scales)}, {{"mode", std::string("linear")}}));
  resize.expect_runs("onednn",
                     resize.add("Resize", {x, {}, resize.constant(scales)},
                                {{"coordinate_transformation_mode", std::string("asymmetric")},
                                 {"nearest_mode", std::string("floor")}}),
                     "resampling");
}

TEST(OneDnn, SplitsInEveryDirection) {
  for (int64_t axis : {0, 1, -1}) {
    LibraryModel model;
    ir::ValueId x = model.add("MatMul", {model.input({4, 6, 8}), model.constant({8, 12})});
    std::vector<ir::ValueId> parts = model.add_many("Split", {x}, {{"axis", axis}}, 2);
    model.output(parts[1]);
    model.expect_runs("onednn", model.add("Mul", {parts[0], model.add("Tanh", {parts[1]})}), "reorder");
  }
}

TEST(OneDnn, SaysWhatItCannotDo) {
  LibraryModel erf;
  EXPECT_NE(refusal(erf, erf.add("Erf", {erf.input({2})})).find("`Erf`: no primitive"), std::string::npos);
  LibraryModel empty;
  EXPECT_NE(refusal(empty, empty.add("Relu", {empty.input({0, 3})})).find("without elements"), std::string::npos);
  LibraryModel both;
  EXPECT_NE(refusal(both, both.add("Mul", {both.input({3, 1}), both.input({1, 3})})).find("`Mul`"), std::string::npos);
  LibraryModel even;
  EXPECT_NE(refusal(even, even.add("LRN", {even.input({1, 4, 3, 3})}, {{"size", int64_t{4}}})).find("even"),
            std::string::npos);
  LibraryModel flat;
  EXPECT_NE(refusal(flat, flat.add("GlobalAveragePool", {flat.input({1, 2, 2, 2, 2, 2})})).find("rank 6"),
            std::string::npos);
  LibraryModel single;
  EXPECT_NE(refusal(single, single.add("LogSoftmax", {single.input({3, 1})})).find("single element"),
            std::string::npos);
  LibraryModel f64;
  ir::ValueId x = f64.input({2, 3}, DType::F64);
  EXPECT_NE(refusal(f64, f64.add("Relu", {x})).find("dtype f64"), std::string::npos);
}

TEST(Libraries, DamagedProgramsAreRefused) {
  LibraryProgram program;
  program.values = {{DType::F32, {2}, {}}, {DType::F32, {2}, {}}};
  program.ops = {{"Relu", {}, {0}, {1}}};
  program.inputs = {0};
  program.outputs = {1};
  for (std::string_view library : library_names()) {
    auto refused = [&](auto damage) {
      LibraryProgram damaged = program;
      damage(damaged);
      auto kernel = prepare_library(library, damaged, 1);
      EXPECT_FALSE(kernel);
      return !kernel && kernel.message().starts_with("damaged");
    };
    EXPECT_TRUE(refused([](LibraryProgram& p) { p.ops[0].inputs = {7}; }));
    EXPECT_TRUE(refused([](LibraryProgram& p) { p.ops[0].inputs = {1}; }));
    EXPECT_TRUE(refused([](LibraryProgram& p) { p.ops[0].outputs = {0}; }));
    EXPECT_TRUE(refused([](LibraryProgram& p) { p.outputs = {0}; }));
    EXPECT_TRUE(refused([](LibraryProgram& p) { p.outputs = {1, 1}; }));
    EXPECT_TRUE(refused([](LibraryProgram& p) { p.inputs = {0, 0}; }));
    EXPECT_TRUE(refused([](LibraryProgram& p) { p.values[1].shape = {-1}; }));
    EXPECT_TRUE(refused([](LibraryProgram& p) { p.values[0].constant = Tensor(DType::F32, {3}); }));
    LibraryProgram lacking = program;
    lacking.ops[0] = {"Conv", {}, {0}, {1}};
    EXPECT_FALSE(prepare_library(library, lacking, 1));
    lacking.ops[0] = {"Gemm", {}, {0, -1}, {1}};
    EXPECT_FALSE(prepare_library(library, lacking, 1));
  }
  EXPECT_EQ(prepare_library("nolib", program, 1).message(), "this build has no library `nolib`");
}

/// y = (x op 0.5) * 0.5, where the first operator has lost its second operand.
LibraryProgram without_second_operand(const std::string& op) {
  LibraryProgram program;
  program.values.resize(4);
  for (LibraryValue& value : program.values) value.shape = {4};
  Tensor half(DType::F32, {});
  half.as<float>()[0] = 0.5F;
  program.values[1].shape = {};
  program.values[1].constant = half;
  program.ops = {{op, {}, {0}, {2}}, {"Mul", {}, {2, 1}, {3}}};
  program.inputs = {0};
  program.outputs = {3};
  return program;
}

TEST(OneDnn, PatternsDoNotReadOperandsThatADamagedProgramLacks) {
  for (const char* op : {"Div", "Pow", "Sub", "Add", "Mul"}) {
    SCOPED_TRACE(op);
    LibraryProgram program = without_second_operand(op);
    onednn::ProgramView view(program);
    EXPECT_EQ(view.maker(2, op, 2), nullptr);
    EXPECT_NE(view.maker(2, op, 1), nullptr);
    EXPECT_FALSE(prepare_library("onednn", program, 1));
  }
}

}  // namespace
}  // namespace collage::runtime::test
