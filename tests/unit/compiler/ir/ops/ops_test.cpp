// SPDX-License-Identifier: Apache-2.0
// Shape functions on legal nodes, the operator table, and work counts. Expected shapes are worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/compiler/ir/ops/fixture.h"

namespace collage::ir {
namespace {

TEST(Ops, TableIsSortedCompleteAndDocumented) {
  std::vector<std::string> names = op_names();
  EXPECT_GE(names.size(), 90u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const OpDef* op : all_ops()) {
    EXPECT_EQ(find_op(op->name), op);
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_NE(op->work, nullptr) << op->name;
    EXPECT_NE(op->doc.find(std::string(op->name) + "("), std::string_view::npos) << op->name << " has no example";
    EXPECT_LE(op->min_inputs, op->max_inputs) << op->name;
    EXPECT_LE(op->min_outputs, op->max_outputs) << op->name;
  }
  EXPECT_EQ(find_op("Relux"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
}

TEST(Ops, Elementwise) {
  OneNode n;
  EXPECT_EQ(n.infer("Relu", {n.input({2, 3})}), "f32[2, 3]");
  EXPECT_EQ(n.infer("Add", {n.input({2, 1, 4}), n.input({3, 1})}), "f32[2, 3, 4]");
  EXPECT_EQ(n.infer("Add", {n.input({0, 4}), n.input({1, 4})}), "f32[0, 4]");
  EXPECT_EQ(n.infer("Less", {n.input({4}, DType::I32), n.input({}, DType::I32)}), "bool[4]");
  EXPECT_EQ(n.infer("Sum", {n.input({4}), n.input({2, 1}), n.input({1})}), "f32[2, 4]");
  EXPECT_EQ(n.infer("Where", {n.input({2, 1}, DType::Bool), n.input({3}), n.input({})}), "f32[2, 3]");
  EXPECT_EQ(n.infer("Cast", {n.input({5})}, {{"to", integer(7)}}), "i64[5]");
  EXPECT_EQ(n.infer("Clip", {n.input({5}), ValueId(), n.input({})}), "f32[5]");
  EXPECT_EQ(n.infer("PRelu", {n.input({1, 8, 4, 4}), n.input({8, 1, 1})}), "f32[1, 8, 4, 4]");
  EXPECT_EQ(n.infer("Pow", {n.input({2}), n.input({}, DType::I64)}), "f32[2]");
  EXPECT_EQ(n.infer("Dropout", {n.input({2})}, {}, 2), "f32[2] bool[2]");
}

TEST(Ops, Conv) {
  OneNode n;
  // (224 + 6 - 7) / 2 + 1 = 112
  EXPECT_EQ(n.infer("Conv", {n.input({1, 3, 224, 224}), n.input({64, 3, 7, 7})},
                    {{"strides", ints({2, 2})}, {"pads", ints({3, 3, 3, 3})}}),
            "f32[1, 64, 112, 112]");
  // extent (3 - 1) * 2 + 1 = 5: 9 - 5 + 1
  EXPECT_EQ(n.infer("Conv", {n.input({1, 2, 9}), n.input({4, 2, 3}), n.input({4})}, {{"dilations", ints({2})}}),
            "f32[1, 4, 5]");
  EXPECT_EQ(n.infer("Conv", {n.input({2, 8, 5, 5}), n.input({8, 1, 3, 3})}, {{"group", integer(8)}}),
            "f32[2, 8, 3, 3]");
  // 5 / 2 rounded up, whatever the kernel
  EXPECT_EQ(n.infer("Conv", {n.input({1, 1, 5, 7}), n.input({1, 1, 3, 3})},
                    {{"strides", ints({2, 2})}, {"auto_pad", text("SAME_UPPER")}}),
            "f32[1, 1, 3, 4]");
  EXPECT_EQ(n.infer("Conv", {n.input({1, 1, 5, 7}), n.input({1, 1, 3, 3})},
                    {{"strides", ints({2, 2})}, {"auto_pad", text("VALID")}}),
            "f32[1, 1, 2, 3]");
  EXPECT_EQ(n.infer("Conv", {n.input({1, 1, 4, 5, 6}), n.input({2, 1, 1, 3, 3})}), "f32[1, 2, 4, 3, 4]");
}

TEST(Ops, ResizeRoundsItsExtentInSinglePrecision) {
  OneNode n;
  Constant scales;
  scales.data = Tensor(DType::F32, {1});
  scales.data.as<float>()[0] = 50.0f / 7.0f;
  EXPECT_EQ(n.infer("Resize", {n.input({7}), ValueId(), n.graph.add_constant("scales", scales)}), "f32[50]");
}

TEST(Ops, ResizeScalesTheRegionThatItCrops) {
  OneNode n;
  const auto floats = [&](const std::vector<float>& values) {
    Constant constant;
    constant.data = Tensor(DType::F32, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), constant.data.as<float>().begin());
    return n.graph.add_constant(n.graph.unique_name("f"), std::move(constant));
  };
  const ValueId x = n.input({1, 1, 4, 10}), none;
  const ValueId region = floats({0, 0, 0.5f, 0.1f, 1, 1, 1, 0.8f}), scales = floats({1, 1, 3, 1});
  const std::vector<std::pair<std::string, runtime::AttrValue>> crop = {
      {"coordinate_transformation_mode", text("tf_crop_and_resize")}};
  // 4 * 0.5 * 3 and 10 * 0.7
  EXPECT_EQ(n.infer("Resize", {x, region, scales}, crop), "f32[1, 1, 6, 7]");
  // Elsewhere there is no region.
  EXPECT_EQ(n.infer("Resize", {x, region, scales}), "f32[1, 1, 12, 10]");
  // Sizes are the extents whatever the region is, which need not be known then.
  EXPECT_EQ(n.infer("Resize", {x, n.input({8}), none, n.ints({1, 1, 5, 6})}, crop), "f32[1, 1, 5, 6]");
}

TEST(Ops, Recurrent) {
  OneNode n;
  ValueId x = n.input({7, 2, 10}), lengths = n.input({2}, DType::I32), none;
  EXPECT_EQ(n.infer("LSTM", {x, n.input({1, 20, 10}), n.input({1, 20, 5})}, {}, 3),
            "f32[7, 1, 2, 5] f32[1, 2, 5] f32[1, 2, 5]");
  EXPECT_EQ(n.infer("LSTM",
                    {x, n.input({2, 20, 10}), n.input({2, 20, 5}), n.input({2, 40}), lengths, none, n.input({2, 2, 5}),
                     n.input({2, 15})},
                    {{"direction", text("bidirectional")}}, 1),
            "f32[7, 2, 2, 5]");
  // Batch first: 7 sequences of 2 steps.
  EXPECT_EQ(n.infer("GRU", {x, n.input({1, 15, 10}), n.input({1, 15, 5})}, {{"layout", integer(1)}}, 2),
            "f32[7, 2, 1, 5] f32[7, 1, 5]");
  EXPECT_EQ(n.infer("RNN", {x, n.input({1, 5, 10}), n.input({1, 5, 5})}), "f32[7, 1, 2, 5]");
}

TEST(Ops, RecurrentWorkCountsItsProducts) {
  OneNode n;
  ValueId x = n.input({7, 2, 10}), w = n.input({1, 20, 10}), r = n.input({1, 20, 5});
  // 7 * 2 steps of 20 rows of 10 + 5 numbers, whichever results are wanted
  for (std::vector<std::string> results : {std::vector<std::string>{"y"}, {"", "h"}, {"", "", "c"}}) {
    std::vector<TensorType> types(3, TensorType{DType::F32, {1, 2, 5}});
    types[0].shape = {7, 1, 2, 5};
    types.resize(results.size());
    NodeId node = n.graph.add_node(*find_op("LSTM"), {x, w, r}, {}, results, types);
    EXPECT_EQ(work_of(n.graph, node).macs, 14 * 20 * 15);
  }
}

TEST(Ops, Indexing) {
  OneNode n;
  ValueId x = n.input({4, 5, 6});
  EXPECT_EQ(n.infer("GatherElements", {x, n.input({4, 9, 1}, DType::I64)}, {{"axis", integer(1)}}), "f32[4, 9, 1]");
  EXPECT_EQ(n.infer("GatherND", {x, n.input({7, 2}, DType::I64)}), "f32[7, 6]");
  EXPECT_EQ(n.infer("GatherND", {x, n.input({4, 2, 1}, DType::I32)}, {{"batch_dims", integer(1)}}), "f32[4, 2, 6]");
  EXPECT_EQ(n.infer("ScatterND", {x, n.input({7, 2}, DType::I64), n.input({7, 6})}), "f32[4, 5, 6]");
  EXPECT_EQ(n.infer("ScatterElements", {x, n.input({1, 5, 2}, DType::I64), n.input({1, 5, 2})}), "f32[4, 5, 6]");
  EXPECT_EQ(n.infer("OneHot", {n.input({2, 3}, DType::I64), n.ints({4}), n.input({2})}, {{"axis", integer(1)}}),
            "f32[2, 4, 3]");
  EXPECT_EQ(n.infer("NonZero", {n.ints({0, 3, 0, 4})}), "i64[1, 2]");
  EXPECT_EQ(n.infer("TopK", {x, n.ints({3})}, {{"axis", integer(1)}}, 2), "f32[4, 3, 6] i64[4, 3, 6]");
  EXPECT_EQ(n.infer("Einsum", {x, n.input({6, 5})}, {{"equation", text("aij,ji")}}), "f32[4]");
  EXPECT_EQ(n.infer("Einsum", {x, n.input({2, 1, 6, 3})}, {{"equation", text("...ij,...jk->...ik")}}),
            "f32[2, 4, 5, 3]");
  EXPECT_EQ(n.infer("MaxUnpool", {n.input({1, 2, 3, 4}), n.input({1, 2, 3, 4}, DType::I64)},
                    {{"kernel_shape", ints({2, 3})}, {"strides", ints({2, 2})}, {"pads", ints({0, 1, 0, 0})}}),
            "f32[1, 2, 6, 8]");
  EXPECT_EQ(n.infer("EyeLike", {n.input({2, 3})}, {{"dtype", integer(9)}}), "bool[2, 3]");
}

TEST(Ops, ShapesFromElements) {
  OneNode n;
  EXPECT_EQ(n.infer("Unique", {n.ints({2, 2, 7})}, {}, 4), "i64[2] i64[2] i64[3] i64[2]");
  EXPECT_EQ(n.infer("Unique", {n.ints({2, 2, 7})}, {{"axis", integer(0)}}), "i64[2]");
  EXPECT_EQ(n.infer("CumProd", {n.input({2, 3}, DType::I32), n.ints({1})}), "i32[2, 3]");
  EXPECT_EQ(n.infer("TensorScatter", {n.input({2, 8, 4}), n.input({2, 3, 4}), n.input({2}, DType::I64)}),
            "f32[2, 8, 4]");
  EXPECT_EQ(n.infer("TfIdfVectorizer", {n.input({3, 4}, DType::I32)},
                    {{"max_gram_length", integer(2)},
                     {"max_skip_count", integer(0)},
                     {"min_gram_length", integer(1)},
                     {"mode", text("TF")},
                     {"ngram_counts", ints({0, 1})},
                     {"ngram_indexes", ints({0, 5})},
                     {"pool_int64s", ints({7, 7, 8})}}),
            "f32[3, 6]");
}

TEST(Ops, PicturesAndBoxes) {
  OneNode n;
  ValueId x = n.input({2, 6, 9, 9}), none;
  EXPECT_EQ(n.infer("GridSample", {n.input({2, 3, 4, 5, 6}), n.input({2, 7, 8, 9, 3})}), "f32[2, 3, 7, 8, 9]");
  EXPECT_EQ(n.infer("AffineGrid", {n.input({2, 3, 4}), n.ints({2, 5, 7, 8, 9})}), "f32[2, 7, 8, 9, 3]");
  EXPECT_EQ(n.infer("Col2Im", {n.input({1, 18, 16}), n.ints({6, 6}), n.ints({3, 3})}), "f32[1, 2, 6, 6]");
  EXPECT_EQ(n.infer("DeformConv", {x, n.input({4, 3, 3, 3}), n.input({2, 54, 7, 7}), none, n.input({2, 27, 7, 7})},
                    {{"group", integer(2)}, {"offset_group", integer(3)}}),
            "f32[2, 4, 7, 7]");
  EXPECT_EQ(n.infer("RoiAlign", {x, n.input({5, 4}), n.input({5}, DType::I64)},
                    {{"output_height", integer(3)}, {"output_width", integer(2)}}),
            "f32[5, 6, 3, 2]");
  EXPECT_EQ(n.infer("MaxRoiPool", {x, n.input({5, 5})}, {{"pooled_shape", ints({3, 2})}}), "f32[5, 6, 3, 2]");
  EXPECT_EQ(
      n.infer("Resize", {n.input({7}), none, none, n.ints({3})}, {{"mode", text("cubic")}, {"antialias", integer(1)}}),
      "f32[3]");
  EXPECT_EQ(n.infer("ReduceMax", {n.input({2, 3}, DType::Bool)}, {{"axes", ints({1})}}), "bool[2, 1]");
  EXPECT_EQ(n.infer("BitCast", {n.input({3})}, {{"to", integer(6)}}), "i32[3]");
}

TEST(Ops, SignalsAndRandomNumbers) {
  OneNode n;
  ValueId none;
  EXPECT_EQ(n.infer("DFT", {n.input({2, 10, 1}), n.ints({16})}, {{"onesided", integer(1)}}), "f32[2, 9, 2]");
  EXPECT_EQ(n.infer("DFT", {n.input({2, 10, 2})}, {{"inverse", integer(1)}}), "f32[2, 10, 2]");
  EXPECT_EQ(n.infer("DFT", {n.input({2, 10, 2})}, {{"inverse", integer(1)}, {"onesided", integer(1)}}),
            "f32[2, 18, 1]");
  EXPECT_EQ(n.infer("STFT", {n.input({2, 100, 1}), n.ints({10}), n.input({20})}), "f32[2, 9, 11, 2]");
  EXPECT_EQ(n.infer("HannWindow", {n.ints({8})}, {{"output_datatype", integer(11)}}), "f64[8]");
  EXPECT_EQ(n.infer("MelWeightMatrix", {n.ints({8}), n.ints({16}), n.ints({8192}), n.input({}), n.input({})}),
            "f32[9, 8]");
  EXPECT_EQ(n.infer("RandomNormalLike", {n.input({2, 3}, DType::I32)}, {{"dtype", integer(11)}}), "f64[2, 3]");
  EXPECT_EQ(n.infer("Bernoulli", {n.input({2})}, {{"dtype", integer(7)}}), "i64[2]");
  EXPECT_EQ(n.infer("Multinomial", {n.input({2, 5})}, {{"sample_size", integer(9)}}), "i32[2, 9]");
}

TEST(Ops, ConvTranspose) {
  OneNode n;
  // 2 * (3 - 1) + 3
  EXPECT_EQ(n.infer("ConvTranspose", {n.input({1, 4, 3, 3}), n.input({4, 2, 3, 3})}, {{"strides", ints({2, 2})}}),
            "f32[1, 2, 7, 7]");
  EXPECT_EQ(n.infer("ConvTranspose", {n.input({1, 4, 3, 3}), n.input({4, 2, 3, 3})},
                    {{"strides", ints({2, 2})},
                     {"pads", ints({1, 1, 1, 1})},
                     {"output_padding", ints({1, 1})},
                     {"group", integer(2)}}),
            "f32[1, 4, 6, 6]");
  EXPECT_EQ(n.infer("ConvTranspose", {n.input({1, 1, 3}), n.input({1, 1, 3})},
                    {{"strides", ints({3})}, {"output_shape", ints({10})}}),
            "f32[1, 1, 10]");
  EXPECT_EQ(n.infer("ConvTranspose", {n.input({1, 1, 3}), n.input({1, 1, 3})},
                    {{"strides", ints({2})}, {"auto_pad", text("SAME_LOWER")}}),
            "f32[1, 1, 6]");
}

TEST(Ops, Pools) {
  OneNode n;
  runtime::AttrValue k3 = ints({3, 3}), s2 = ints({2, 2});
  EXPECT_EQ(n.infer("MaxPool", {n.input({1, 8, 112, 112})},
                    {{"kernel_shape", k3}, {"strides", s2}, {"pads", ints({1, 1, 1, 1})}}),
            "f32[1, 8, 56, 56]");
  EXPECT_EQ(n.infer("MaxPool", {n.input({1, 1, 6, 6})}, {{"kernel_shape", k3}, {"strides", s2}}), "f32[1, 1, 2, 2]");
  EXPECT_EQ(n.infer("MaxPool", {n.input({1, 1, 6, 6})},
                    {{"kernel_shape", k3}, {"strides", s2}, {"ceil_mode", integer(1)}}, 2),
            "f32[1, 1, 3, 3] i64[1, 1, 3, 3]");
  // ceil((4 - 1) / 3) + 1 = 2 windows, at 0 and 3
  EXPECT_EQ(n.infer("MaxPool", {n.input({1, 1, 4})},
                    {{"kernel_shape", ints({1})}, {"strides", ints({3})}, {"ceil_mode", integer(1)}}),
            "f32[1, 1, 2]");
  // The window at 4 would start after an input of 4 elements, so it is dropped: 2 of ceil((4 - 1) / 2) + 1 = 3 windows
  // remain.
  EXPECT_EQ(n.infer("AveragePool", {n.input({1, 1, 4})},
                    {{"kernel_shape", ints({1})}, {"strides", ints({2})}, {"ceil_mode", integer(1)}}),
            "f32[1, 1, 2]");
  // VALID keeps whole windows only, whatever `ceil_mode` says.
  EXPECT_EQ(n.infer("MaxPool", {n.input({1, 1, 6})},
                    {{"kernel_shape", ints({3})},
                     {"strides", ints({2})},
                     {"auto_pad", text("VALID")},
                     {"ceil_mode", integer(1)}}),
            "f32[1, 1, 2]");
  EXPECT_EQ(n.infer("GlobalAveragePool", {n.input({2, 5, 3, 4})}), "f32[2, 5, 1, 1]");
}

/// ceil((padded - extent) / stride) + 1 is 1 where the extent exceeds the padded input by less than the stride.
TEST(Ops, PoolsOfOneWindowThatIsWiderThanItsOperand) {
  OneNode n;
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    SCOPED_TRACE(op);
    EXPECT_EQ(n.infer(op, {n.input({1, 16, 7, 7})},
                      {{"kernel_shape", ints({128, 128})}, {"strides", ints({128, 128})}, {"ceil_mode", integer(1)}}),
              "f32[1, 16, 1, 1]");
    EXPECT_EQ(
        n.infer(
            op, {n.input({1, 1, 3})},
            {{"kernel_shape", ints({6})}, {"strides", ints({2})}, {"pads", ints({1, 1})}, {"ceil_mode", integer(1)}}),
        "f32[1, 1, 1]");
  }
  const ValueId x = n.input({1, 16, 7, 7});
  AttrMap attrs;
  attrs.set("kernel_shape", ints({128, 128}));
  attrs.set("strides", ints({128, 128}));
  attrs.set("ceil_mode", integer(1));
  n.graph.add_node(*find_op("AveragePool"), {x}, attrs, {"y"}, {{DType::F32, {1, 16, 1, 1}}});
  EXPECT_EQ(work_of(n.graph, n.graph.value(n.graph.find_value("y")).producer).flops, 16.0 * 49);
}

TEST(Ops, MatrixProducts) {
  OneNode n;
  EXPECT_EQ(n.infer("Gemm", {n.input({3, 2}), n.input({4, 3}), n.input({4})},
                    {{"transA", integer(1)}, {"transB", integer(1)}}),
            "f32[2, 4]");
  EXPECT_EQ(n.infer("MatMul", {n.input({2, 1, 3, 4}), n.input({5, 4, 6})}), "f32[2, 5, 3, 6]");
  EXPECT_EQ(n.infer("MatMul", {n.input({4}), n.input({4})}), "f32[]");
  EXPECT_EQ(n.infer("MatMul", {n.input({4}), n.input({2, 4, 6})}), "f32[2, 6]");
  EXPECT_EQ(n.infer("MatMul", {n.input({2, 3, 4}), n.input({4})}), "f32[2, 3]");
}

TEST(Ops, ShapesFromConstants) {
  OneNode n;
  ValueId x = n.input({2, 3, 4});
  EXPECT_EQ(n.infer("Reshape", {x, n.ints({0, -1})}), "f32[2, 12]");
  EXPECT_EQ(n.infer("Reshape", {x, n.ints({-1})}), "f32[24]");
  EXPECT_EQ(n.infer("Reshape", {n.input({0, 3}), n.ints({3, 0})}, {{"allowzero", integer(1)}}), "f32[3, 0]");
  EXPECT_EQ(n.infer("Reshape", {n.input({1}), n.ints({})}), "f32[]");
  EXPECT_EQ(n.infer("Flatten", {x}), "f32[2, 12]");
  EXPECT_EQ(n.infer("Flatten", {x}, {{"axis", integer(3)}}), "f32[24, 1]");
  EXPECT_EQ(n.infer("Flatten", {x}, {{"axis", integer(-1)}}), "f32[6, 4]");
  EXPECT_EQ(n.infer("Squeeze", {n.input({1, 3, 1})}), "f32[3]");
  EXPECT_EQ(n.infer("Squeeze", {n.input({1, 3, 1}), n.ints({-1})}), "f32[1, 3]");
  EXPECT_EQ(n.infer("Unsqueeze", {x, n.ints({0, -1})}), "f32[1, 2, 3, 4, 1]");
  EXPECT_EQ(n.infer("Expand", {n.input({3, 1}), n.ints({2, 1, 6})}), "f32[2, 3, 6]");
  EXPECT_EQ(n.infer("Tile", {x, n.ints({1, 2, 0})}), "f32[2, 6, 0]");
  EXPECT_EQ(n.infer("Slice", {x, n.ints({-1, 0}), n.ints({INT64_MIN, 100}), n.ints({2, 1}), n.ints({-2, 2})}),
            "f32[2, 2, 2]");
  EXPECT_EQ(n.infer("Slice", {x, n.ints({3}), n.ints({1}), n.ints({0})}), "f32[0, 3, 4]");
  EXPECT_EQ(n.infer("Pad", {x, n.ints({0, 1, -1, 0, 2, 0})}), "f32[2, 6, 3]");
  EXPECT_EQ(n.infer("ConstantOfShape", {n.ints({2, 2})}), "f32[2, 2]");
  EXPECT_EQ(n.infer("Shape", {x}), "i64[3]");
  EXPECT_EQ(n.infer("Shape", {x}, {{"start", integer(-2)}, {"end", integer(9)}}), "i64[2]");
  EXPECT_EQ(n.infer("Range", {n.scalar<int64_t>(DType::I64, 10), n.scalar<int64_t>(DType::I64, 1),
                              n.scalar<int64_t>(DType::I64, -4)}),
            "i64[3]");
  EXPECT_EQ(n.infer("Range", {n.scalar<float>(DType::F32, 0), n.scalar<float>(DType::F32, 1),
                              n.scalar<float>(DType::F32, 0.25f)}),
            "f32[4]");
  EXPECT_EQ(n.infer("Resize", {n.input({1, 1, 2, 3}), ValueId(), ValueId(), n.ints({1, 1, 5, 6})}), "f32[1, 1, 5, 6]");
}

TEST(Ops, Movement) {
  OneNode n;
  ValueId x = n.input({2, 3, 4});
  EXPECT_EQ(n.infer("Transpose", {x}), "f32[4, 3, 2]");
  EXPECT_EQ(n.infer("Transpose", {x}, {{"perm", ints({1, 2, 0})}}), "f32[3, 4, 2]");
  EXPECT_EQ(n.infer("Concat", {x, n.input({2, 5, 4})}, {{"axis", integer(-2)}}), "f32[2, 8, 4]");
  EXPECT_EQ(n.infer("Split", {x}, {{"axis", integer(2)}}, 2), "f32[2, 3, 2] f32[2, 3, 2]");
  EXPECT_EQ(n.infer("Split", {x, n.ints({1, 3})}, {{"axis", integer(-1)}}, 2), "f32[2, 3, 1] f32[2, 3, 3]");
  EXPECT_EQ(n.infer("Gather", {x, n.input({5, 6}, DType::I32)}, {{"axis", integer(1)}}), "f32[2, 5, 6, 4]");
  EXPECT_EQ(n.infer("Gather", {x, n.input({}, DType::I64)}), "f32[3, 4]");
  EXPECT_EQ(n.infer("DepthToSpace", {n.input({1, 8, 2, 3})}, {{"blocksize", integer(2)}}), "f32[1, 2, 4, 6]");
  EXPECT_EQ(n.infer("SpaceToDepth", {n.input({1, 2, 4, 6})}, {{"blocksize", integer(2)}}), "f32[1, 8, 2, 3]");
}

TEST(Ops, Reductions) {
  OneNode n;
  ValueId x = n.input({2, 3, 4});
  EXPECT_EQ(n.infer("ReduceMean", {x}), "f32[1, 1, 1]");
  EXPECT_EQ(n.infer("ReduceMean", {x}, {{"axes", ints({-1})}, {"keepdims", integer(0)}}), "f32[2, 3]");
  EXPECT_EQ(n.infer("ReduceSum", {x, n.ints({0, 2})}, {{"keepdims", integer(0)}}), "f32[3]");
  EXPECT_EQ(n.infer("ReduceSum", {x}, {{"noop_with_empty_axes", integer(1)}}), "f32[2, 3, 4]");
  EXPECT_EQ(n.infer("ArgMax", {x}, {{"axis", integer(-1)}, {"keepdims", integer(0)}}), "i64[2, 3]");
  EXPECT_EQ(n.infer("Softmax", {x}), "f32[2, 3, 4]");
  EXPECT_EQ(n.infer("LayerNormalization", {x, n.input({3, 4}), n.input({4})}, {{"axis", integer(1)}}, 3),
            "f32[2, 3, 4] f32[2, 1, 1] f32[2, 1, 1]");
  EXPECT_EQ(n.infer("LayerNormalization", {n.input({3, 4}, DType::F16), n.input({4}, DType::F16)}, {}, 3),
            "f16[3, 4] f32[3, 1] f32[3, 1]");
  EXPECT_EQ(n.infer("LayerNormalization", {n.input({3, 4}, DType::F16), n.input({4}, DType::F16)},
                    {{"stash_type", integer(16)}}, 3),
            "f16[3, 4] bf16[3, 1] bf16[3, 1]");
}

double macs(OneNode& n, std::string_view op, std::vector<ValueId> inputs,
            std::vector<std::pair<std::string, runtime::AttrValue>> attrs) {
  AttrMap map;
  for (auto& [key, value] : attrs) map.set(key, value);
  NodeId node = append_inferred(n.graph, *find_op(op), inputs, map, {n.graph.unique_name("y")}, {}, n.diags);
  return node.is_valid() ? work_of(n.graph, node).macs : -1;
}

TEST(Ops, Work) {
  OneNode n;
  ValueId x = n.input({1, 8, 10, 10});
  EXPECT_EQ(macs(n, "Conv", {x, n.input({16, 4, 3, 3})}, {{"group", integer(2)}}), 16.0 * 64 * 4 * 9);
  EXPECT_EQ(macs(n, "ConvTranspose", {x, n.input({8, 3, 2, 2})}, {{"strides", ints({2, 2})}}), 800.0 * 3 * 4);
  EXPECT_EQ(macs(n, "Gemm", {n.input({5, 2}), n.input({5, 7})}, {{"transA", integer(1)}}), 2.0 * 7 * 5);
  EXPECT_EQ(macs(n, "MatMul", {n.input({3, 2, 5}), n.input({5, 7})}, {}), 3.0 * 2 * 7 * 5);
  EXPECT_EQ(macs(n, "Relu", {x}, {}), 0.0);
}

TEST(Ops, WorkAndBytesOfANode) {
  OneNode n;
  ValueId x = n.input({4, 8});
  NodeId node = append_inferred(n.graph, *find_op("Mul"), {x, x}, {}, {"square"}, {}, n.diags);
  ASSERT_TRUE(node.is_valid());
  EXPECT_EQ(work_of(n.graph, node).flops, 32.0);
  EXPECT_EQ(bytes_of(n.graph, node), 2 * 32 * 4.0) << "an operand that is read twice counts once";
}

}  // namespace
}  // namespace collage::ir
