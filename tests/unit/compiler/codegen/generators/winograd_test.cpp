// SPDX-License-Identifier: Apache-2.0
// Minimal filters are exact on small whole numbers in double; convolutions by them over random geometry.
#include "compiler/codegen/schedule/minimal_filter.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

using codegen::Matrix;
using codegen::MinimalFilter;

std::vector<double> times(const Matrix& matrix, const std::vector<double>& vector) {
  std::vector<double> product;
  for (const std::vector<double>& row : matrix) {
    double sum = 0;
    for (size_t k = 0; k < row.size(); ++k) sum += row[k] * vector[k];
    product.push_back(sum);
  }
  return product;
}

TEST(MinimalFilters, CorrelateExactly) {
  int filters = 0;
  for (int taps = 1; taps <= 5; ++taps) {
    for (const MinimalFilter& filter : codegen::minimal_filters(taps)) {
      SCOPED_TRACE(testing::Message() << "F(" << filter.outputs << ", " << taps << ")");
      ++filters;
      std::vector<double> x, w;
      for (int i = 0; i < filter.products(); ++i) x.push_back((i * 7 + 3) % 11 - 5);
      for (int i = 0; i < taps; ++i) w.push_back((i * 5 + 2) % 7 - 3);
      std::vector<double> products = times(filter.input, x);
      const std::vector<double> weights = times(filter.weights, w);
      ASSERT_EQ(products.size(), weights.size());
      for (size_t i = 0; i < products.size(); ++i) products[i] *= weights[i];
      const std::vector<double> y = times(filter.output, products);
      ASSERT_EQ(y.size(), static_cast<size_t>(filter.outputs));
      for (size_t i = 0; i < y.size(); ++i) {
        double expected = 0;
        for (size_t j = 0; j < w.size(); ++j) expected += x[i + j] * w[j];
        EXPECT_NEAR(y[i], expected, 1e-12);
      }
    }
  }
  EXPECT_GE(filters, 8);
  EXPECT_TRUE(codegen::minimal_filters(7).empty());
}

class WinogradKernels : public KernelTest {
 protected:
  /// All nodes ask for it; inputs and the result have their channels last.
  static codegen::LowerOptions options(const Model& model) {
    codegen::LowerOptions options;
    for (const auto* values : {&model.graph.inputs(), &model.graph.outputs()}) {
      for (ValueId value : *values) {
        const size_t rank = model.graph.value(value).type.shape.size();
        if (rank >= 3) options.layouts[value] = runtime::layout_of_rank(runtime::kChannelsLast, rank);
      }
    }
    for (ir::NodeId node : model.graph.node_ids()) options.generators[node] = "winograd";
    return options;
  }
};

TEST_F(WinogradKernels, RandomGeometry) {
  int tried = 0;
  for (unsigned seed = 0; tried < 150; ++seed) {
    SCOPED_TRACE(seed);
    if (seed % 30 == 0) make(1 + static_cast<int>(seed / 30) % 3);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    const auto rank = static_cast<size_t>(pick(0, 5) == 0 ? 1 : pick(0, 3) == 0 ? 3 : 2);
    const int64_t out_channels = pick(0, 2) == 0 ? pick(30, 90) : pick(2, 20);
    Shape x = {pick(1, 2), pick(0, 2) == 0 ? pick(17, 40) : pick(2, 9)};
    Shape w = {out_channels, x[1]};
    runtime::Ints strides, begins, ends;
    bool fits = true;
    for (size_t d = 0; d < rank; ++d) {
      const bool is_depth = rank == 3 && d == 0;
      const int64_t kernel = pick(0, 1) == 0 ? 3 : pick(d + 1 == rank ? 2 : 1, 5);
      x.push_back(is_depth ? pick(1, 5) : pick(2, rank == 1 ? 70 : 23));
      w.push_back(kernel);
      strides.push_back(is_depth ? pick(1, 2) : 1);
      begins.push_back(pick(0, 3));
      ends.push_back(pick(0, 3));
      // A result of one position has no layout but the plain one.
      fits = fits && x.back() + begins[d] + ends[d] >= kernel + (d + 1 == rank ? 1 : 0);
    }
    if (!fits) continue;
    ++tried;
    begins.insert(begins.end(), ends.begin(), ends.end());
    std::vector<ValueId> operands = {model.input(x), model.constant(w)};
    if (pick(0, 1) == 0) operands.push_back(model.constant({out_channels}));
    ir::AttrMap attrs;
    attrs.set("strides", strides);
    attrs.set("pads", begins);
    ValueId y = model.op("Conv", operands, attrs);
    if (pick(0, 1) == 0) y = model.op("Add", {y, model.input(model.graph.value(y).type.shape)});
    if (pick(0, 1) == 0) y = model.op(pick(0, 1) == 0 ? "Relu" : "Gelu", {y});
    model.graph.mark_output(y);
    const RunStats stats = check(model, *jit_, 3e-5, -1, 1, options(model));
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
    if (HasFailure()) FAIL() << "x " << runtime::to_string(x) << " w " << runtime::to_string(w);
  }
}

TEST_F(WinogradKernels, TransposedPhases) {
  for (int threads = 1; threads <= 3; ++threads) {
    make(threads);
    for (const int64_t kernel : {3, 4, 5}) {
      Model model(static_cast<unsigned>(kernel));
      ir::AttrMap attrs;
      attrs.set("strides", runtime::Ints{2, 2});
      attrs.set("pads", runtime::Ints{1, 1, 1, 1});
      ValueId y =
          model.op("ConvTranspose", {model.input({2, 20, 9, 11}), model.constant({20, 18, kernel, kernel})}, attrs);
      model.graph.mark_output(model.op("Tanh", {y}));
      const RunStats stats = check(model, *jit_, 3e-5, -1, 1, options(model));
      EXPECT_EQ(stats.kernels, 4);
      EXPECT_EQ(stats.references, 0);
    }
  }
}

TEST_F(WinogradKernels, PhasesOnAnEnlargedPicture) {
  make(2);
  Model model(1);
  ir::Constant scales;
  scales.data = runtime::Tensor(ir::DType::F32, {4});
  std::fill(scales.data.as<float>().begin(), scales.data.as<float>().end(), 2.0F);
  std::fill_n(scales.data.as<float>().begin(), 2, 1.0F);
  ir::AttrMap nearest;
  nearest.set("coordinate_transformation_mode", "asymmetric");
  nearest.set("nearest_mode", "floor");
  ValueId large = model.op(
      "Resize", {model.input({1, 24, 13, 10}), ValueId(), model.graph.add_constant("scales", scales)}, nearest);
  ir::AttrMap attrs;
  attrs.set("pads", runtime::Ints{1, 1, 1, 1});
  model.graph.mark_output(model.op("Conv", {large, model.constant({33, 24, 3, 3}), model.constant({33})}, attrs));
  const RunStats stats = check(model, *jit_, 3e-5, -1, 1, options(model));
  EXPECT_EQ(stats.kernels, 4);
  EXPECT_EQ(stats.references, 0);
}

/// A phase without depth taps has no products; it is left to the direct generator.
TEST_F(WinogradKernels, PhaseWithoutDepthTaps) {
  make(2);
  Model model(1);
  ir::AttrMap attrs;
  attrs.set("strides", runtime::Ints{2, 1, 1});
  model.graph.mark_output(
      model.op("ConvTranspose", {model.input({1, 18, 3, 9, 8}), model.constant({18, 20, 1, 3, 3})}, attrs));
  const RunStats stats = check(model, *jit_, 3e-5, -1, 1, options(model));
  EXPECT_EQ(stats.kernels, 2);
  EXPECT_EQ(stats.references, 0);
}

/// The weights, about 5 MB when transformed, do not stay in a second-level cache; threads share the channels.
TEST_F(WinogradKernels, ManyChannels) {
  for (int threads : {1, 2, 5}) {
    make(threads);
    Model model(static_cast<unsigned>(threads));
    ir::AttrMap attrs;
    attrs.set("pads", runtime::Ints{1, 1, 1, 1});
    model.graph.mark_output(
        model.op("Conv", {model.input({1, 180, 11, 14}), model.constant({200, 180, 3, 3}, -0.1F, 0.1F)}, attrs));
    const RunStats stats = check(model, *jit_, 3e-5, -1, 1, options(model));
    EXPECT_EQ(stats.references, 0);
  }
}

/// What no minimal filter computes is refused, so that the search learns of it.
TEST_F(WinogradKernels, RefusesStrides) {
  make(1);
  Model model(1);
  ir::AttrMap attrs;
  attrs.set("strides", runtime::Ints{2, 2});
  model.graph.mark_output(model.op("Conv", {model.input({1, 16, 9, 9}), model.constant({16, 16, 3, 3})}, attrs));
  const auto lowered = jit_->lower(model.graph, model.graph.node_ids(), options(model));
  ASSERT_FALSE(lowered.is_ok());
  EXPECT_NE(lowered.message().find("generator `winograd` does not take"), std::string::npos) << lowered.message();
}

}  // namespace
}  // namespace collage::codegen_test
