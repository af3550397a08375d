// SPDX-License-Identifier: Apache-2.0
// Reference kernels that move elements, and those that make tensors from shapes.
#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

TEST(MovementKernels, Transpose) {
  expect_equal(run("Transpose", {iota({2, 3})})[0], f32({3, 2}, {0, 3, 1, 4, 2, 5}));
  expect_equal(run("Transpose", {iota({1, 2, 3})}, {{"perm", Ints{2, 0, 1}}})[0], f32({3, 1, 2}, {0, 3, 1, 4, 2, 5}));
  expect_equal(run("Transpose", {iota({})})[0], f32({}, {0}));
}

TEST(MovementKernels, ReshapeAndKin) {
  expect_equal(run("Reshape", {iota({2, 3}), i64({2}, {-1, 2})})[0], iota({3, 2}));
  expect_equal(run("Flatten", {iota({2, 3, 2})}, {{"axis", int64_t{2}}})[0], iota({6, 2}));
  expect_equal(run("Squeeze", {iota({1, 3}), i64({1}, {0})})[0], iota({3}));
  expect_equal(run("Unsqueeze", {iota({3}), i64({1}, {-1})})[0], iota({3, 1}));
  std::vector<Tensor> dropout = run("Dropout", {iota({2})}, {}, 2);
  expect_equal(dropout[0], iota({2}));
  expect_equal(dropout[1], boolean({2}, {1, 1}));
}

TEST(MovementKernels, ExpandAndTile) {
  expect_equal(run("Expand", {f32({2, 1}, {1, 2}), i64({3}, {2, 1, 2})})[0], f32({2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2}));
  expect_equal(run("Tile", {f32({2, 2}, {1, 2, 3, 4}), i64({2}, {2, 2})})[0],
               f32({4, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
  expect_equal(run("Tile", {f32({2}, {1, 2}), i64({1}, {0})})[0], f32({0}, {}));
}

TEST(MovementKernels, ConcatAndSplit) {
  Tensor a = f32({2, 1}, {1, 2});
  Tensor b = f32({2, 2}, {3, 4, 5, 6});
  expect_equal(run("Concat", {a, b, a}, {{"axis", int64_t{-1}}})[0], f32({2, 4}, {1, 3, 4, 1, 2, 5, 6, 2}));
  std::vector<Tensor> parts = run("Split", {iota({2, 4}), i64({3}, {1, 0, 3})}, {{"axis", int64_t{1}}}, 3);
  expect_equal(parts[0], f32({2, 1}, {0, 4}));
  expect_equal(parts[1], f32({2, 0}, {}));
  expect_equal(parts[2], f32({2, 3}, {1, 2, 3, 5, 6, 7}));
  expect_equal(run("Split", {iota({4})}, {}, 2)[1], f32({2}, {2, 3}));
}

TEST(MovementKernels, Slice) {
  Tensor x = iota({3, 4});
  expect_equal(run("Slice", {x, i64({2}, {0, -3}), i64({2}, {2, INT64_MAX})})[0], f32({2, 3}, {1, 2, 3, 5, 6, 7}));
  expect_equal(run("Slice", {x, i64({1}, {-1}), i64({1}, {INT64_MIN}), i64({1}, {1}), i64({1}, {-2})})[0],
               f32({3, 2}, {3, 1, 7, 5, 11, 9}));
  expect_equal(run("Slice", {x, i64({1}, {1}), i64({1}, {3}), i64({1}, {0}), i64({1}, {INT64_MAX})})[0],
               f32({1, 4}, {4, 5, 6, 7}));
  expect_equal(run("Slice", {x, i64({1}, {2}), i64({1}, {0}), i64({1}, {0}), i64({1}, {INT64_MIN})})[0],
               f32({1, 4}, {8, 9, 10, 11}));
  expect_equal(run("Slice", {x, i64({1}, {2}), i64({1}, {1})})[0], f32({0, 4}, {}));
  // Bounds of a run that leave nothing, where the shape was inferred from others.
  const Tensor start = i64({1}, {2}), end = i64({1}, {1});
  Tensor y = f32({1, 4}, {0, 0, 0, 0});
  const std::vector<TensorView> inputs = {x.view(), start.view(), end.view()};
  const std::vector<TensorView> outputs = {y.view()};
  const AttrMap none;
  EXPECT_FALSE(find_reference_kernel("Slice")({inputs, outputs, none}));
}

TEST(MovementKernels, Gather) {
  Tensor x = iota({3, 2});
  expect_equal(run("Gather", {x, i64({2}, {-1, 0})})[0], f32({2, 2}, {4, 5, 0, 1}));
  expect_equal(run("Gather", {x, i32({1, 2}, {1, 1})}, {{"axis", int64_t{-1}}})[0], f32({3, 1, 2}, {1, 1, 3, 3, 5, 5}));
  std::string why;
  run("Gather", {x, i64({1}, {3})}, {}, 1, &why);
  EXPECT_EQ(why, "index 3 is out of range for an axis of extent 3");
  run("Gather", {x, i64({1}, {INT64_MIN})}, {}, 1, &why);
  EXPECT_NE(why, "");
}

TEST(MovementKernels, Pad) {
  Tensor x = f32({3}, {1, 2, 3});
  expect_equal(run("Pad", {x, i64({2}, {1, 2}), f32({}, {9})})[0], f32({6}, {9, 1, 2, 3, 9, 9}));
  expect_equal(run("Pad", {x, i64({2}, {-1, 1})})[0], f32({3}, {2, 3, 0}));
  expect_equal(run("Pad", {x, i64({2}, {2, 1})}, {{"mode", std::string("reflect")}})[0], f32({6}, {3, 2, 1, 2, 3, 2}));
  expect_equal(run("Pad", {x, i64({2}, {2, 1})}, {{"mode", std::string("edge")}})[0], f32({6}, {1, 1, 1, 2, 3, 3}));
  expect_equal(run("Pad", {x, i64({2}, {2, 4})}, {{"mode", std::string("wrap")}})[0],
               f32({9}, {2, 3, 1, 2, 3, 1, 2, 3, 1}));
  // A border repeats what negative pads leave, here [2, 3].
  expect_equal(run("Pad", {x, i64({2}, {-1, 3})}, {{"mode", std::string("wrap")}})[0], f32({5}, {2, 3, 2, 3, 2}));
  expect_equal(run("Pad", {x, i64({2}, {-1, 1})}, {{"mode", std::string("reflect")}})[0], f32({3}, {2, 3, 2}));
  expect_equal(run("Pad", {iota({2, 2}), i64({4}, {0, 1, 1, 0})})[0], f32({3, 3}, {0, 0, 1, 0, 2, 3, 0, 0, 0}));
}

TEST(MovementKernels, DepthAndSpace) {
  Tensor x = iota({1, 8, 1, 1});
  expect_equal(run("DepthToSpace", {x}, {{"blocksize", int64_t{2}}})[0], f32({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}));
  Tensor crd = run("DepthToSpace", {x}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}})[0];
  expect_equal(crd, f32({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
  Tensor dcr = run("DepthToSpace", {x}, {{"blocksize", int64_t{2}}})[0];
  expect_equal(run("SpaceToDepth", {dcr}, {{"blocksize", int64_t{2}}})[0], x);
}

TEST(MovementKernels, Generators) {
  expect_equal(run("Shape", {iota({2, 3, 4})}, {{"start", int64_t{-2}}})[0], i64({2}, {3, 4}));
  expect_equal(run("Size", {iota({2, 3, 4})})[0], i64({}, {24}));
  expect_equal(run("ConstantOfShape", {i64({2}, {1, 2})}, {{"value", i32({1}, {7})}})[0], i32({1, 2}, {7, 7}));
  expect_equal(run("ConstantOfShape", {i64({0}, {})})[0], f32({}, {0}));
  expect_equal(run("Range", {i32({}, {5}), i32({}, {0}), i32({}, {-2})})[0], i32({3}, {5, 3, 1}));
}

TEST(MovementKernels, ResizeNearest) {
  Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  Tensor scales = f32({4}, {1, 1, 1, 2});
  Attrs asymmetric = {{"coordinate_transformation_mode", std::string("asymmetric")},
                      {"nearest_mode", std::string("floor")}};
  expect_equal(run("Resize", {x, absent(), scales}, asymmetric)[0], f32({1, 1, 2, 4}, {1, 1, 2, 2, 3, 3, 4, 4}));
  expect_equal(run("Resize", {x, absent(), absent(), i64({4}, {1, 1, 4, 2})})[0],
               f32({1, 1, 4, 2}, {1, 2, 1, 2, 3, 4, 3, 4}));
}

TEST(MovementKernels, ResizeLinear) {
  Tensor x = f32({1, 1, 2}, {0, 4});
  Tensor scales = f32({3}, {1, 1, 2});
  auto with = [](std::string mode) {
    return Attrs{{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::move(mode)}};
  };
  // sources -0.25, 0.25, 0.75, 1.25, clamped to [0, 1]
  expect_equal(run("Resize", {x, absent(), scales}, with("half_pixel"))[0], f32({1, 1, 4}, {0, 1, 3, 4}));
  expect_equal(run("Resize", {x, absent(), scales}, with("asymmetric"))[0], f32({1, 1, 4}, {0, 2, 4, 4}));
  expect_equal(run("Resize", {x, absent(), scales}, with("align_corners"))[0], f32({1, 1, 4}, {0, 4 / 3.f, 8 / 3.f, 4}),
               1e-6);
}

}  // namespace
}  // namespace collage::runtime
