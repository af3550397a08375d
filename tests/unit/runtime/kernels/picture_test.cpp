// SPDX-License-Identifier: Apache-2.0
// Kernels on pictures, patches and boxes. Values are worked out by hand, or follow from operators that are checked
// elsewhere.
#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

AttrValue text(const char* value) {
  return std::string(value);
}

TEST(PictureKernels, AntialiasedResizeAveragesWhatItSkips) {
  Tensor x = f32({1, 8}, {0, 1, 2, 3, 4, 5, 6, 7});
  // Triangles of radius 2 at 0.5, 2.5, …: weights 1/8 3/8 3/8 1/8, the edges repeated; the first is (1 3 3 1) of 0 0 1
  // 2.
  expect_equal(
      run("Resize", {x, absent(), f32({2}, {1, 0.5F})}, {{"mode", text("linear")}, {"antialias", int64_t{1}}})[0],
      f32({1, 4}, {0.625F, 2.5F, 4.5F, 6.375F}), 1e-6);
  // Without outside weights: (3 3 1) / 7 of 0 1 2.
  expect_equal(run("Resize", {x, absent(), f32({2}, {1, 0.5F})},
                   {{"mode", text("linear")}, {"antialias", int64_t{1}}, {"exclude_outside", int64_t{1}}})[0],
               f32({1, 4}, {5.0F / 7, 2.5F, 4.5F, 44.0F / 7}), 1e-6);
  // Enlarging, it changes nothing.
  for (const char* mode : {"linear", "cubic"}) {
    expect_equal(run("Resize", {x, absent(), f32({2}, {1, 2})}, {{"mode", text(mode)}, {"antialias", int64_t{1}}})[0],
                 run("Resize", {x, absent(), f32({2}, {1, 2})}, {{"mode", text(mode)}})[0], 1e-6);
  }
}

TEST(PictureKernels, ResizeWithScalesAndSizes) {
  // 3 * 2.5 = 7.5 rows, rounded up to 8; coordinates follow the scale: (i + 0.5) / 2.5 - 0.5.
  Tensor x = f32({3}, {0, 1, 2});
  expect_equal(run("Resize", {x, absent(), f32({1}, {2.5F}), i64({1}, {8})}, {{"mode", text("linear")}})[0],
               f32({8}, {0, 0.1F, 0.5F, 0.9F, 1.3F, 1.7F, 2, 2}), 1e-6);
}

TEST(PictureKernels, GridSampleInOneAndThreeDimensions) {
  Tensor line = f32({1, 1, 3}, {1, 2, 4});
  expect_equal(run("GridSample", {line, f32({1, 3, 1}, {-1, 0.5F, 1})}, {{"align_corners", int64_t{1}}})[0],
               f32({1, 1, 3}, {1, 3, 4}));
  // x[d, h, w] = 100 d + 10 h + w is linear, so that interpolation gives the coordinates back: (w, h, d) in the grid.
  Tensor x(DType::F32, {1, 1, 3, 3, 3});
  for (size_t i = 0; i < 27; ++i) x.as<float>()[i] = static_cast<float>(100 * (i / 9) + 10 * (i / 3 % 3) + i % 3);
  for (const char* mode : {"linear", "bilinear"}) {
    expect_equal(run("GridSample", {x, f32({1, 1, 1, 2, 3}, {0, 0.5F, -0.5F, 1, 1, 1})},
                     {{"align_corners", int64_t{1}}, {"mode", text(mode)}})[0],
                 f32({1, 1, 1, 1, 2}, {66, 222}), 1e-6);
  }
  expect_equal(run("GridSample", {x, f32({1, 1, 1, 1, 3}, {0.2F, -0.9F, 5})},
                   {{"align_corners", int64_t{1}}, {"mode", text("nearest")}, {"padding_mode", text("border")}})[0],
               f32({1, 1, 1, 1, 1}, {201}));
}

// 0.3 of a pixel above the first row: rows -2 to 1, of which those above the picture are its first; as PyTorch has it.
TEST(PictureKernels, CubicGridSampleAtTheBorder) {
  Tensor x(DType::F32, {1, 1, 4, 4});
  for (size_t i = 0; i < 16; ++i) x.as<float>()[i] = static_cast<float>(i * i);
  expect_equal(run("GridSample", {x, f32({1, 1, 1, 2}, {0, -0.9F})},
                   {{"mode", text("cubic")}, {"padding_mode", text("border")}})[0],
               f32({1, 1, 1, 1}, {2.125F - 0.11025F * 28}), 1e-5);
}

TEST(PictureKernels, AffineGrid) {
  // x' = 2 x + 1, y' = y on pixel centres -0.5 and 0.5.
  Tensor theta = f32({1, 2, 3}, {2, 0, 1, 0, 1, 0});
  expect_equal(run("AffineGrid", {theta, i64({4}, {1, 1, 2, 2})})[0],
               f32({1, 2, 2, 2}, {0, -0.5F, 2, -0.5F, 0, 0.5F, 2, 0.5F}));
  expect_equal(run("AffineGrid", {theta, i64({4}, {1, 1, 1, 3})}, {{"align_corners", int64_t{1}}})[0],
               f32({1, 1, 3, 2}, {-1, 0, 1, 0, 3, 0}));
  // The identity in three dimensions gives every element back.
  Tensor x = iota({1, 1, 2, 3, 2});
  Tensor grid = run("AffineGrid", {f32({1, 3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}), i64({5}, {1, 1, 2, 3, 2})})[0];
  expect_equal(run("GridSample", {x, grid})[0], x, 1e-5);
}

TEST(PictureKernels, Col2ImAddsOverlappingBlocks) {
  // Blocks [1, 2, 3, 4] and [5, 6, 7, 8] of 2 x 2 beside each other, sharing a column.
  Tensor x = f32({1, 4, 2}, {1, 5, 2, 6, 3, 7, 4, 8});
  expect_equal(run("Col2Im", {x, i64({2}, {2, 3}), i64({2}, {2, 2})})[0], f32({1, 1, 2, 3}, {1, 7, 6, 3, 11, 8}));
  // The padding is cut off.
  Tensor line = f32({1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_equal(run("Col2Im", {line, i64({1}, {3}), i64({1}, {3})}, {{"pads", Ints{1, 1}}})[0],
               f32({1, 1, 3}, {6, 15, 14}));
}

TEST(PictureKernels, DeformConvWithoutOffsetsIsConv) {
  Tensor x = iota({2, 4, 5, 6}), w = iota({6, 2, 3, 2}), bias = iota({6});
  Attrs attrs = {{"group", int64_t{2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}, {"dilations", Ints{1, 2}}};
  Tensor wanted = run("Conv", {x, w, bias}, attrs)[0];
  const Shape& y = wanted.shape();
  Tensor offsets(DType::F32, {2, 2 * 2 * 6, y[2], y[3]});
  std::fill(offsets.as<float>().begin(), offsets.as<float>().end(), 0.0F);
  attrs.emplace_back("offset_group", int64_t{2});
  expect_equal(run("DeformConv", {x, w, offsets, bias}, attrs)[0], wanted, 1e-6);
  // A mask of 0.5 halves all but the bias.
  Tensor mask(DType::F32, {2, 12, y[2], y[3]});
  std::fill(mask.as<float>().begin(), mask.as<float>().end(), 0.5F);
  Tensor half = run("DeformConv", {x, w, offsets, absent(), mask}, attrs)[0];
  Tensor whole = run("DeformConv", {x, w, offsets}, attrs)[0];
  for (size_t i = 0; i < half.as<float>().size(); ++i) EXPECT_FLOAT_EQ(half.as<float>()[i] * 2, whole.as<float>()[i]);
}

TEST(PictureKernels, DeformConvReadsBetweenPixels) {
  Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4}), w = f32({1, 1, 1, 1}, {1});
  // Half a row down, half a column right; a place one row below the picture is 0, half a row below is half of it.
  Tensor offsets = f32({1, 2, 2, 2}, {0.5F, 1.5F, 0, 1, 0.5F, 0, 0, 0});
  expect_equal(run("DeformConv", {x, w, offsets})[0], f32({1, 1, 2, 2}, {2.5F, 2, 3, 0}));
}

TEST(PictureKernels, RoiAlign) {
  Tensor x = iota({1, 1, 4, 4});
  Attrs attrs = {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}, {"sampling_ratio", int64_t{1}}};
  // The region 0 .. 4 has bins 0 .. 2 and 2 .. 4; with half pixels they are sampled at 0.5 and 2.5.
  expect_equal(run("RoiAlign", {x, f32({1, 4}, {0, 0, 4, 4}), i64({1}, {0})}, attrs)[0],
               f32({1, 1, 2, 2}, {2.5F, 4.5F, 10.5F, 12.5F}));
  attrs.emplace_back("coordinate_transformation_mode", text("output_half_pixel"));
  expect_equal(run("RoiAlign", {x, f32({1, 4}, {0, 0, 4, 4}), i64({1}, {0})}, attrs)[0],
               f32({1, 1, 2, 2}, {5, 7, 13, 15}));
  attrs.emplace_back("mode", text("max"));
  expect_equal(run("RoiAlign", {x, f32({1, 4}, {0, 0, 2, 2}), i64({1}, {0})}, attrs)[0],
               f32({1, 1, 2, 2}, {1.25F, 1.5F, 2.25F, 2.5F}));
  // NaN stays in a bin that has it, as in MaxPool. Samples that lie on pixels give their neighbours no weight.
  Tensor pixels = iota({1, 1, 4, 4});
  pixels.as<float>()[6] = NAN;
  expect_equal(run("RoiAlign", {pixels, f32({1, 4}, {0, 0, 2, 2}), i64({1}, {0})}, attrs)[0],
               f32({1, 1, 2, 2}, {1.25F, NAN, 2.25F, NAN}));
  pixels.as<float>()[10] = INFINITY;
  expect_equal(run("RoiAlign", {pixels, f32({1, 4}, {0.5F, 0.5F, 2.5F, 2.5F}), i64({1}, {0})}, attrs)[0],
               f32({1, 1, 2, 2}, {5, NAN, 9, INFINITY}));
  std::string why;
  run("RoiAlign", {x, f32({1, 4}, {0, 0, 2, 2}), i64({1}, {1})}, attrs, 1, &why);
  EXPECT_EQ(why, "picture 1 of 1");
  run("RoiAlign", {x, f32({1, 4}, {0, 0, 1e9F, 2}), i64({1}, {0})}, {}, 1, &why);
  EXPECT_EQ(why, "region 0 needs too many samples");
}

TEST(PictureKernels, MaxRoiPool) {
  Tensor x = iota({1, 1, 4, 4});
  const Attrs attrs = {{"pooled_shape", runtime::Ints{2, 2}}};
  // Both ends of a region belong to it: 0 .. 3 are four pixels.
  expect_equal(run("MaxRoiPool", {x, f32({1, 5}, {0, 0, 0, 3, 3})}, attrs)[0], f32({1, 1, 2, 2}, {5, 7, 13, 15}));
  // Three pixels in two bins share the one in the middle.
  expect_equal(run("MaxRoiPool", {x, f32({1, 5}, {0, 1, 1, 3, 3})}, attrs)[0], f32({1, 1, 2, 2}, {10, 11, 14, 15}));
  // Scaled, then rounded: halves go away from 0.
  const Attrs halved = {{"pooled_shape", runtime::Ints{1, 1}}, {"spatial_scale", 0.5F}};
  expect_equal(run("MaxRoiPool", {x, f32({2, 5}, {0, 0, 0, 3, 3, 0, 5, 0, 2, 1})}, halved)[0],
               f32({2, 1, 1, 1}, {10, 7}));
  // Bins outside of the picture are 0, those that reach into it have what they share with it.
  expect_equal(run("MaxRoiPool", {x, f32({1, 5}, {0, 2, 2, 9, 5})}, attrs)[0], f32({1, 1, 2, 2}, {15, 0, 0, 0}));
  Tensor pixels = iota({1, 1, 4, 4});
  pixels.as<float>()[5] = NAN;
  expect_equal(run("MaxRoiPool", {pixels, f32({1, 5}, {0, 0, 0, 3, 3})}, attrs)[0],
               f32({1, 1, 2, 2}, {NAN, 7, 13, 15}));
  std::string why;
  run("MaxRoiPool", {x, f32({1, 5}, {1, 0, 0, 3, 3})}, attrs, 1, &why);
  EXPECT_EQ(why, "picture 1.000000 of 1");
  run("MaxRoiPool", {x, f32({1, 5}, {NAN, 0, 0, 3, 3})}, attrs, 1, &why);
  EXPECT_EQ(why, "picture nan of 1");
  expect_equal(run("MaxRoiPool", {x, f32({1, 5}, {0, -1e30F, NAN, 1e30F, INFINITY})}, halved)[0],
               f32({1, 1, 1, 1}, {15}));
}

TEST(PictureKernels, NonMaxSuppression) {
  // 0 and 1 overlap by 0.9 / 1.1, 2 lies elsewhere.
  Tensor boxes = f32({1, 3, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11});
  Tensor scores = f32({1, 2, 3}, {0.9F, 0.95F, 0.5F, 0.3F, 0.3F, 0.8F});
  auto kept = [&](int64_t most, float overlap, float score) {
    return run("NonMaxSuppression", {boxes, scores, i64({1}, {most}), f32({1}, {overlap}), f32({}, {score})})[0];
  };
  expect_equal(kept(9, 0.5F, 0.0F), i64({4, 3}, {0, 0, 1, 0, 0, 2, 0, 1, 2, 0, 1, 0}));
  expect_equal(kept(1, 0.5F, 0.85F), i64({1, 3}, {0, 0, 1}));
  expect_equal(kept(9, 0.85F, 0.4F), i64({4, 3}, {0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 1, 2}));
  EXPECT_EQ(run("NonMaxSuppression", {boxes, scores})[0].shape(), (Shape{0, 3}));
  // The same boxes by their centres (x, y) and sizes.
  Tensor centers = f32({1, 3, 4}, {0.5F, 0.5F, 1, 1, 0.6F, 0.5F, 1, 1, 10.5F, 0.5F, 1, 1});
  expect_equal(run("NonMaxSuppression", {centers, scores, i64({}, {9}), f32({}, {0.5F}), f32({}, {0.0F})},
                   {{"center_point_box", int64_t{1}}})[0],
               i64({4, 3}, {0, 0, 1, 0, 0, 2, 0, 1, 2, 0, 1, 0}));
}

}  // namespace
}  // namespace collage::runtime
