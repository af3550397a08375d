// SPDX-License-Identifier: Apache-2.0
// Reference kernels that work by index tensors, along lines of an axis, and on matrices; Einsum; Resize. Values are the
// examples of ONNX's Operators.md or worked out by hand.
#include "runtime/core/element.h"
#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

TEST(IndexingKernels, GatherAndScatterElements) {
  Tensor x = f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_equal(run("GatherElements", {x, i64({2, 3}, {1, 2, 0, -1, 0, 0})})[0], f32({2, 3}, {4, 8, 3, 7, 2, 3}));
  expect_equal(run("GatherElements", {x, i32({1, 2}, {2, -3})}, {{"axis", int64_t{1}}})[0], f32({1, 2}, {3, 1}));
  Tensor row = f32({1, 5}, {1, 2, 3, 4, 5});
  expect_equal(
      run("ScatterElements", {row, i64({1, 2}, {1, -2}), f32({1, 2}, {1.5f, 2.5f})}, {{"axis", int64_t{1}}})[0],
      f32({1, 5}, {1, 1.5f, 3, 2.5f, 5}));
  expect_equal(run("ScatterElements", {row, i64({1, 2}, {1, 1}), f32({1, 2}, {10, 20})},
                   {{"axis", int64_t{-1}}, {"reduction", std::string("add")}})[0],
               f32({1, 5}, {1, 32, 3, 4, 5}));
  std::string why;
  run("GatherElements", {x, i64({1, 1}, {3})}, {}, 1, &why);
  EXPECT_EQ(why, "index 3 is out of range for an axis of extent 3");
}

TEST(IndexingKernels, GatherAndScatterND) {
  Tensor x = f32({2, 2}, {0, 1, 2, 3});
  expect_equal(run("GatherND", {x, i64({2, 2}, {0, 0, 1, -1})})[0], f32({2}, {0, 3}));
  expect_equal(run("GatherND", {x, i64({2, 1}, {1, 0})})[0], f32({2, 2}, {2, 3, 0, 1}));
  expect_equal(run("GatherND", {iota({2, 2, 2}), i64({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}})[0],
               f32({2, 2}, {2, 3, 4, 5}));
  expect_equal(run("ScatterND", {f32({4}, {1, 2, 3, 4}), i64({2, 1}, {3, 1}), f32({2}, {9, 10})})[0],
               f32({4}, {1, 10, 3, 9}));
  expect_equal(
      run("ScatterND", {x, i64({2, 1}, {0, 0}), f32({2, 2}, {5, 5, 2, 9})}, {{"reduction", std::string("max")}})[0],
      f32({2, 2}, {5, 9, 2, 3}));
}

TEST(IndexingKernels, OneHot) {
  expect_equal(run("OneHot", {i64({3}, {0, -1, 7}), i64({}, {3}), f32({2}, {2, 5})})[0],
               f32({3, 3}, {5, 2, 2, 2, 2, 5, 2, 2, 2}));
  expect_equal(run("OneHot", {i64({2}, {1, 0}), f32({1}, {2}), i64({2}, {0, 1})}, {{"axis", int64_t{0}}})[0],
               i64({2, 2}, {0, 1, 1, 0}));
}

TEST(IndexingKernels, CompressAndNonZero) {
  Tensor x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_equal(run("Compress", {x, boolean({3}, {0, 1, 1})}, {{"axis", int64_t{0}}})[0], f32({2, 2}, {3, 4, 5, 6}));
  expect_equal(run("Compress", {x, boolean({5}, {0, 1, 0, 0, 1})})[0], f32({2}, {2, 5}));
  expect_equal(run("NonZero", {f32({2, 2}, {1, 0, 1, -1})})[0], i64({2, 3}, {0, 1, 1, 0, 0, 1}));
  expect_equal(run("NonZero", {f32({}, {2})})[0], i64({1, 1}, {0}));
}

TEST(IndexingKernels, DataDependentKernelsFindTheirShapes) {
  Tensor x = f32({2, 2}, {1, 0, 1, -1});
  DataDependentKernel non_zero = find_data_dependent_kernel("NonZero");
  ASSERT_NE(non_zero, nullptr);
  Result<std::vector<Tensor>> found = non_zero(std::vector<TensorView>{x.view()}, {});
  ASSERT_TRUE(found);
  expect_equal((*found)[0], i64({2, 3}, {0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(find_data_dependent_kernel("Relu"), nullptr);
  // Outputs for another number of elements than there are.
  Tensor too_small(DType::I64, {2, 2});
  Status status = find_reference_kernel("NonZero")(
      {std::vector<TensorView>{x.view()}, std::vector<TensorView>{too_small.view()}, {}});
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("result 0 has shape [2, 3], not [2, 2]"), std::string::npos) << status.message();
}

TEST(IndexingKernels, TopKPrefersTheFirstOfEquals) {
  Tensor x = f32({2, 4}, {0, 3, 3, 1, 8, 9, 11, 10});
  std::vector<Tensor> y = run("TopK", {x, i64({1}, {3})}, {}, 2);
  expect_equal(y[0], f32({2, 3}, {3, 3, 1, 11, 10, 9}));
  expect_equal(y[1], i64({2, 3}, {1, 2, 3, 2, 3, 1}));
  y = run("TopK", {x, i64({1}, {1})}, {{"axis", int64_t{0}}, {"largest", int64_t{0}}}, 2);
  expect_equal(y[0], f32({1, 4}, {0, 3, 3, 1}));
  expect_equal(y[1], i64({1, 4}, {0, 0, 0, 0}));
}

TEST(IndexingKernels, TopKTakesNoNumbersForTheGreatest) {
  const float nan = std::nanf("");
  Tensor x = f32({5}, {1, nan, 3, nan, 2});
  std::vector<Tensor> y = run("TopK", {x, i64({1}, {3})}, {}, 2);
  expect_equal(y[1], i64({3}, {1, 3, 2}));
  y = run("TopK", {x, i64({1}, {4})}, {{"largest", int64_t{0}}}, 2);
  expect_equal(y[1], i64({4}, {0, 4, 2, 1}));
}

TEST(IndexingKernels, Unique) {
  Tensor x = f32({6}, {2, 1, 1, 3, 4, 3});
  std::vector<Tensor> y = run("Unique", {x}, {}, 4);
  expect_equal(y[0], f32({4}, {1, 2, 3, 4}));
  expect_equal(y[1], i64({4}, {1, 0, 3, 4}));
  expect_equal(y[2], i64({6}, {1, 0, 0, 2, 3, 2}));
  expect_equal(y[3], i64({4}, {2, 1, 2, 1}));
  y = run("Unique", {x}, {{"sorted", int64_t{0}}}, 4);
  expect_equal(y[0], f32({4}, {2, 1, 3, 4}));
  expect_equal(y[1], i64({4}, {0, 1, 3, 4}));
  expect_equal(y[2], i64({6}, {0, 1, 1, 2, 3, 2}));
  expect_equal(y[3], i64({4}, {1, 2, 2, 1}));
  // Columns.
  y = run("Unique", {i32({2, 3}, {3, 1, 3, 0, 5, 0})}, {{"axis", int64_t{-1}}}, 4);
  expect_equal(y[0], i32({2, 2}, {1, 3, 5, 0}));
  expect_equal(y[1], i64({2}, {1, 0}));
  expect_equal(y[2], i64({3}, {1, 0, 1}));
  expect_equal(run("Unique", {boolean({3}, {1, 0, 1})})[0], boolean({2}, {0, 1}));
  // What is no number is one value, after all others.
  const float nan = std::nanf("");
  expect_equal(run("Unique", {f32({4}, {nan, 1, nan, 0})})[0], f32({3}, {0, 1, nan}));
  EXPECT_EQ(run("Unique", {f32({0}, {})})[0].shape(), Shape{0});
  Tensor half(DType::F16, {5});
  const std::vector<double> values = {3, nan, 1, nan, 2};
  for (size_t i = 0; i < values.size(); ++i) set_element(half.view(), static_cast<int64_t>(i), values[i]);
  EXPECT_EQ(run("Unique", {half})[0].shape(), Shape{4});
}

TEST(IndexingKernels, TensorScatter) {
  Tensor cache = iota({2, 4, 1}), update = f32({2, 2, 1}, {10, 11, 20, 21});
  expect_equal(run("TensorScatter", {cache, update, i64({2}, {1, 2})})[0],
               f32({2, 4, 1}, {0, 10, 11, 3, 4, 5, 20, 21}));
  expect_equal(run("TensorScatter", {cache, update})[0], f32({2, 4, 1}, {10, 11, 2, 3, 20, 21, 6, 7}));
  expect_equal(run("TensorScatter", {cache, update, i64({2}, {3, 0})}, {{"mode", std::string("circular")}})[0],
               f32({2, 4, 1}, {11, 1, 2, 10, 20, 21, 6, 7}));
  std::string why;
  run("TensorScatter", {cache, update, i64({2}, {3, 0})}, {}, 1, &why);
  EXPECT_EQ(why, "2 entries from index 3 on do not fit an axis of extent 4");
}

TEST(IndexingKernels, CumProd) {
  Tensor x = f32({4}, {1, 2, 3, 4});
  expect_equal(run("CumProd", {x, i32({}, {0})})[0], f32({4}, {1, 2, 6, 24}));
  expect_equal(run("CumProd", {x, i64({}, {0})}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}})[0],
               f32({4}, {24, 12, 4, 1}));
  expect_equal(run("CumProd", {i32({2, 2}, {1, 2, 3, 4}), i64({}, {-2})})[0], i32({2, 2}, {1, 2, 3, 8}));
}

TEST(IndexingKernels, TfIdfVectorizer) {
  Attrs attrs = {{"max_gram_length", int64_t{2}},
                 {"max_skip_count", int64_t{0}},
                 {"min_gram_length", int64_t{1}},
                 {"mode", std::string("TF")},
                 {"ngram_counts", Ints{0, 3}},
                 {"ngram_indexes", Ints{0, 1, 2, 4, 3}},
                 {"pool_int64s", Ints{2, 3, 5, 2, 3, 3, 2}}};
  Tensor x = i32({2, 4}, {2, 3, 2, 9, 5, 5, 2, 2});
  expect_equal(run("TfIdfVectorizer", {x}, attrs)[0], f32({2, 5}, {2, 1, 0, 1, 1, 2, 0, 2, 0, 0}));
  attrs[1].second = int64_t{1};
  // 2 . 2 is no gram of the pool, 3 . 9 neither; single numbers count once.
  expect_equal(run("TfIdfVectorizer", {x}, attrs)[0], f32({2, 5}, {2, 1, 0, 1, 1, 2, 0, 2, 0, 0}));
  attrs[3].second = std::string("IDF");
  attrs.emplace_back("weights", Floats{0.5, 1.0, 2.0, 3.0, 4.0});
  expect_equal(run("TfIdfVectorizer", {x}, attrs)[0], f32({2, 5}, {0.5F, 1, 0, 3, 4, 0.5F, 0, 2, 0, 0}));
}

TEST(IndexingKernels, CumSum) {
  Tensor x = f32({5}, {1, 2, 3, 4, 5});
  expect_equal(run("CumSum", {x, i32({}, {0})})[0], f32({5}, {1, 3, 6, 10, 15}));
  expect_equal(run("CumSum", {x, i64({}, {-1})}, {{"exclusive", int64_t{1}}})[0], f32({5}, {0, 1, 3, 6, 10}));
  expect_equal(run("CumSum", {x, i32({}, {0})}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}})[0],
               f32({5}, {14, 12, 9, 5, 0}));
  expect_equal(run("CumSum", {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i32({}, {0})})[0], f32({2, 3}, {1, 2, 3, 5, 7, 9}));
}

TEST(IndexingKernels, ReverseSequence) {
  // Time first: sequence b is column b.
  expect_equal(run("ReverseSequence", {f32({3, 2}, {0, 10, 1, 11, 2, 12}), i64({2}, {3, 2})})[0],
               f32({3, 2}, {2, 11, 1, 10, 0, 12}));
  expect_equal(run("ReverseSequence", {f32({2, 3}, {0, 1, 2, 10, 11, 12}), i64({2}, {1, 3})},
                   {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}})[0],
               f32({2, 3}, {0, 1, 2, 12, 11, 10}));
}

TEST(IndexingKernels, Matrices) {
  Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_equal(run("Trilu", {x})[0], f32({2, 3}, {1, 2, 3, 0, 5, 6}));
  expect_equal(run("Trilu", {x, i64({}, {-1})}, {{"upper", int64_t{0}}})[0], f32({2, 3}, {0, 0, 0, 4, 0, 0}));
  expect_equal(run("EyeLike", {x}, {{"k", int64_t{1}}, {"dtype", int64_t{7}}})[0], i64({2, 3}, {0, 1, 0, 0, 0, 1}));
  expect_equal(run("Det", {f32({2, 2, 2}, {1, 2, 3, 4, 0, 2, 1, 5})})[0], f32({2}, {-2, -2}), 1e-6);
  expect_equal(run("Det", {f32({2, 2}, {0, 1, NAN, 1})})[0], f32({}, {NAN}));
}

TEST(IndexingKernels, Einsum) {
  auto einsum = [](const std::string& equation, const std::vector<Tensor>& operands) {
    return run("Einsum", operands, {{"equation", equation}})[0];
  };
  Tensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_equal(einsum("ij->ji", {a}), f32({3, 2}, {1, 4, 2, 5, 3, 6}));
  expect_equal(einsum("ij -> i", {a}), f32({2}, {6, 15}));
  expect_equal(einsum("ii->i", {f32({2, 2}, {1, 2, 3, 4})}), f32({2}, {1, 4}));
  expect_equal(einsum("ij,jk", {a, f32({3, 1}, {1, 0, -1})}), f32({2, 1}, {-2, -2}));
  expect_equal(einsum("i,i->", {f32({2}, {2, 3}), f32({2}, {5, 7})}), f32({}, {31}));
  // Two batches against one.
  expect_equal(einsum("...ij,...j->...i", {iota({2, 1, 2}), f32({1, 2}, {1, 10})}), f32({2, 1}, {10, 32}));
}

TEST(IndexingKernels, ResizeCubic) {
  // Half-way between 1 and 2 of 0 1 2 3 a cubic is at 1.5, whatever a; at the edge the border repeats.
  Tensor x = f32({1, 1, 1, 4}, {0, 1, 2, 3});
  Tensor y = run("Resize", {x, absent(), f32({4}, {1, 1, 1, 2})},
                 {{"mode", std::string("cubic")}, {"coordinate_transformation_mode", std::string("asymmetric")}})[0];
  // At 0.5: weights -0.09375 0.59375 0.59375 -0.09375 on 0 0 1 2, and at 2.5 on 1 2 3 3.
  expect_equal(y, f32({1, 1, 1, 8}, {0, 0.40625f, 1, 1.5f, 2, 2.59375f, 3, 3.09375f}), 1e-6);
  // Without what is outside, the weights are scaled up: (0.59375 * 0 + 0.59375 * 1 - 0.09375 * 2) / 1.09375
  y = run("Resize", {x, absent(), f32({4}, {1, 1, 1, 2})},
          {{"mode", std::string("cubic")},
           {"exclude_outside", int64_t{1}},
           {"coordinate_transformation_mode", std::string("asymmetric")}})[0];
  EXPECT_NEAR(y.as<float>()[1], 0.40625 / 1.09375, 1e-6);
}

TEST(IndexingKernels, ResizeCropsARegion) {
  // Corners 0 and 1.5 of extent 3: coordinates 0, 1.5, 3; the last one is outside.
  Tensor y = run("Resize", {f32({3}, {1, 2, 3}), f32({2}, {0, 1.5f}), absent(), i64({1}, {3})},
                 {{"mode", std::string("linear")},
                  {"extrapolation_value", 9.0},
                  {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}})[0];
  expect_equal(y, f32({3}, {1, 2.5f, 9}));
  // 5 * (0.75 - 0.25) * 2 elements from 1 to 3.
  y = run("Resize", {f32({5}, {1, 2, 3, 4, 5}), f32({2}, {0.25f, 0.75f}), f32({1}, {2})},
          {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}})[0];
  expect_equal(y, f32({5}, {2, 2.5f, 3, 3.5f, 4}));
}

TEST(IndexingKernels, ResizeAlignsCornersOfTheRoundedExtent) {
  // 5 * 0.7 = 3.5, so 3 elements: corners and the middle.
  Tensor y =
      run("Resize", {f32({5}, {0, 1, 2, 3, 4}), absent(), f32({1}, {0.7f})},
          {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("align_corners")}})[0];
  expect_equal(y, f32({3}, {0, 2, 4}));
}

TEST(IndexingKernels, GridSample) {
  Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  auto sample = [&](std::vector<float> place, Attrs attrs) {
    return run("GridSample", {x, f32({1, 1, 1, 2}, std::move(place))}, attrs)[0].as<float>()[0];
  };
  Attrs corners = {{"align_corners", int64_t{1}}};
  EXPECT_FLOAT_EQ(sample({0, 0}, {}), 2.5f);
  EXPECT_FLOAT_EQ(sample({1, -1}, corners), 2);
  // The outer edge of the picture: half a pixel from the corner's centre, where the other half is 0.
  EXPECT_FLOAT_EQ(sample({1, -1}, {}), 0.5f);
  EXPECT_FLOAT_EQ(sample({1, -1}, {{"padding_mode", std::string("border")}}), 2);
  EXPECT_FLOAT_EQ(sample({1, -1}, {{"padding_mode", std::string("reflection")}}), 2);
  // 2 is one picture beyond the middle, mirrored at the edge 1.
  EXPECT_FLOAT_EQ(sample({1.5f, -0.5f}, {{"padding_mode", std::string("reflection")}}), 2);
  EXPECT_FLOAT_EQ(sample({0.4f, 0.4f}, {{"mode", std::string("nearest")}}), 4);
  EXPECT_FLOAT_EQ(sample({-9, 0}, {{"mode", std::string("nearest")}}), 0);
  EXPECT_FLOAT_EQ(sample({0, 0}, {{"mode", std::string("bicubic")}, {"padding_mode", std::string("border")}}), 2.5f);
  sample({NAN, INFINITY}, {});
}

TEST(IndexingKernels, Losses) {
  Tensor log = f32({2, 3}, {-1, -2, -3, -4, -5, -6});
  Tensor classes = i64({2}, {2, 0}), weights = f32({3}, {2, 1, 0.5f});
  auto loss = [&](Attrs attrs) { return run("NegativeLogLikelihoodLoss", {log, classes, weights}, attrs)[0]; };
  expect_equal(loss({{"reduction", std::string("none")}}), f32({2}, {1.5f, 8}));
  expect_equal(loss({{"reduction", std::string("sum")}}), f32({}, {9.5f}));
  expect_equal(loss({}), f32({}, {3.8f}), 1e-6);
  expect_equal(loss({{"ignore_index", int64_t{0}}}), f32({}, {3}));
  // Two equal scores: log(2).
  std::vector<Tensor> y = run("SoftmaxCrossEntropyLoss", {f32({1, 2, 1}, {5, 5}), i32({1, 1}, {1})}, {}, 2);
  expect_equal(y[0], f32({}, {0.6931472f}), 1e-6);
  expect_equal(y[1], f32({1, 2, 1}, {-0.6931472f, -0.6931472f}), 1e-6);
  std::string why;
  run("NegativeLogLikelihoodLoss", {log, i64({2}, {0, 3})}, {}, 1, &why);
  EXPECT_EQ(why, "class 3 is not within 0 to 2");
}

}  // namespace
}  // namespace collage::runtime
