// SPDX-License-Identifier: Apache-2.0
// OpenBLAS against the reference kernels.
#include "tests/unit/runtime/libraries/harness.h"

namespace collage::runtime::test {
namespace {

TEST(OpenBlas, GemmOfEveryForm) {
  for (int64_t form = 0; form < 64; ++form) {
    SCOPED_TRACE("form " + std::to_string(form));
    LibraryModel model;
    int64_t rows = (form & 16) != 0 ? 1 : 5, columns = (form & 32) != 0 ? 1 : 7;
    bool trans_a = (form & 1) != 0, trans_b = (form & 2) != 0, is_scaled = (form & 4) != 0;
    std::vector<ir::ValueId> operands = {model.input(trans_a ? Shape{8, rows} : Shape{rows, 8}),
                                         model.constant(trans_b ? Shape{columns, 8} : Shape{8, columns})};
    const Shape kAddends[] = {{}, {columns}, {rows, 1}, {rows, columns}};
    if ((form & 8) != 0) operands.push_back(model.constant(kAddends[form % 4]));
    std::vector<std::pair<std::string, AttrValue>> attrs = {{"transA", int64_t{trans_a}}, {"transB", int64_t{trans_b}}};
    if (is_scaled) attrs.insert(attrs.end(), {{"alpha", 0.5}, {"beta", 0.25}});
    model.expect_runs("openblas", model.add("Gemm", operands, attrs), rows == 1 || columns == 1 ? "sgemv" : "sgemm");
  }
}

TEST(OpenBlas, MatricesBroadcastAndBatch) {
  const std::pair<Shape, Shape> kShapes[] = {
      {{4, 8}, {8, 6}}, {{2, 4, 8}, {8, 6}}, {{2, 4, 8}, {2, 8, 6}}, {{1, 3, 4, 8}, {2, 1, 8, 6}},
      {{8}, {8, 6}},    {{4, 8}, {8}},       {{2, 4, 8}, {8}},       {{8}, {8}}};
  for (const auto& [a, b] : kShapes) {
    SCOPED_TRACE(to_string(a) + " x " + to_string(b));
    LibraryModel model;
    model.expect_runs("openblas", model.add("MatMul", {model.input(a), model.input(b)}), "sgem");
  }
}

TEST(OpenBlas, Convolutions) {
  for (int64_t form = 0; form < 16; ++form) {
    SCOPED_TRACE("form " + std::to_string(form));
    LibraryModel model;
    int64_t groups = (form & 1) != 0 ? 2 : 1, taps = (form & 2) != 0 ? 3 : 1;
    bool is_flat = (form & 4) != 0;
    Shape x = {2, 4 * groups, 9}, w = {6 * groups, 4, taps};
    Ints pads = {taps / 2, taps / 2};
    if (!is_flat) {
      x.push_back(7);
      w.push_back(taps);
      pads = {taps / 2, 0, 1, taps / 2};
    }
    std::vector<std::pair<std::string, AttrValue>> attrs = {{"group", groups}};
    if (taps > 1) attrs.emplace_back("pads", pads);
    if ((form & 8) != 0) attrs.emplace_back("strides", is_flat ? Ints{2} : Ints{2, 1});
    std::vector<ir::ValueId> operands = {model.input(x), model.constant(w), model.constant({6 * groups})};
    if (form % 3 == 0) operands.pop_back();
    bool gathers = taps > 1 || (form & 8) != 0;
    model.expect_runs("openblas", model.add("Conv", operands, attrs), gathers ? "im2col + sgemm" : "sgemm");
  }
}

TEST(OpenBlas, ProductsInARow) {
  LibraryModel model;
  ir::ValueId a = model.add("MatMul", {model.input({32, 16}), model.constant({16, 24})});
  model.output(a);
  model.expect_runs("openblas", model.add("Gemm", {a, model.constant({24, 8}), model.constant({8})}),
                    "sgemm 32 x 24 x 8");
}

TEST(OpenBlas, KeepsConstantsAsTheyAre) {
  LibraryModel model;
  model.output(model.add("MatMul", {model.input({32, 16}), model.constant({16, 24})}));
  const LibraryRun run = model.run("openblas");
  ASSERT_TRUE(run.kept) << run.failure;
  EXPECT_EQ(run.given_bytes(), 16 * 24 * sizeof(float));
  EXPECT_EQ(run.kept->packed, 0u);
  EXPECT_FALSE(run.kept->is_least);
}

TEST(OpenBlas, SaysWhatItCannotDo) {
  LibraryModel model;
  model.output(model.add("Relu", {model.input({2})}));
  EXPECT_NE(model.run("openblas").failure.find("`Relu`: no routine"), std::string::npos);
}

}  // namespace
}  // namespace collage::runtime::test
