// SPDX-License-Identifier: Apache-2.0
// What inference says about nodes that cannot be: each row is a node and a part of its message. Absurd numbers must end
// in a message, too, and not in overflow (the suite runs under UBSan).
#include <gtest/gtest.h>

#include "tests/unit/compiler/ir/ops/fixture.h"

namespace collage::ir {
namespace {

#define EXPECT_SAYS(actual, part)                                                                     \
  do {                                                                                                \
    std::string said = actual;                                                                        \
    EXPECT_NE(said.find(part), std::string::npos) << "it says: " << said << "\nexpected: " << (part); \
  } while (false)

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(OpErrors, Arity) {
  OneNode n;
  ValueId x = n.input({2});
  EXPECT_EQ(n.infer("Relu", {x, x}), "WrongArity: `Relu` takes 1 operand, found 2");
  EXPECT_EQ(n.infer("Conv", {x}), "WrongArity: `Conv` takes 2 to 3 operands, found 1");
  EXPECT_EQ(n.infer("Concat", {}, {{"axis", integer(0)}}), "WrongArity: `Concat` takes at least 1 operand, found 0");
  EXPECT_EQ(n.infer("Add", {x, ValueId()}), "WrongArity: operand 1 of `Add` cannot be left out");
  EXPECT_EQ(n.infer("Sum", {x, ValueId()}), "WrongArity: operand 1 of `Sum` cannot be left out");
  EXPECT_EQ(n.infer("Relu", {x}, {}, 2), "WrongArity: `Relu` has 1 result, found 2");
}

TEST(OpErrors, AttributeSchema) {
  OneNode n;
  ValueId x = n.input({1, 1, 4, 4});
  EXPECT_EQ(n.infer("MaxPool", {x}), "BadAttribute: `MaxPool` needs the attribute `kernel_shape`");
  EXPECT_EQ(n.infer("MaxPool", {x}, {{"kernel_shape", integer(3)}}),
            "BadAttribute: attribute `kernel_shape` of `MaxPool` is an int, needs a list of ints");
  EXPECT_EQ(n.infer("LeakyRelu", {x}, {{"alpha", integer(1)}}), "f32[1, 1, 4, 4]") << "an int serves as a float";
  EXPECT_EQ(n.infer("Relu", {x}, {{"alpha", integer(1)}}), "BadAttribute: `Relu` has no attribute `alpha`");
}

TEST(OpErrors, UnknownAttributeGetsAHint) {
  OneNode n;
  ValueId x = n.input({1, 1, 4, 4});
  n.infer("Conv", {x, x}, {{"stride", ints({1, 1})}});
  EXPECT_SAYS(n.diags.render(), "did you mean `strides`?");
}

TEST(OpErrors, PointAtTheOperandAndTheAttribute) {
  OneNode n;
  support::FileId file = n.sources.add("m.ir", "%y = MatMul(%a, %b) {}");
  ValueId a = n.input({2, 3});
  NodeSource source{{file, 5, 11}, {{file, 12, 14}, {file, 16, 18}}, {}, ""};
  EXPECT_FALSE(infer_node(n.graph, *find_op("MatMul"), {a, a}, {}, 1, source, n.diags));
  ASSERT_EQ(n.diags.records().size(), 1u);
  EXPECT_EQ(n.diags.records()[0].span, (support::Span{file, 16, 18}));
  EXPECT_SAYS(n.diags.render(), "m.ir:1:17: error: MatMul, operand 1 (`%x`): inner dimensions differ: 3 and 2");
}

TEST(OpErrors, Recurrent) {
  OneNode n;
  ValueId x = n.input({7, 2, 10}), w = n.input({1, 20, 10}), r = n.input({1, 20, 5}), none;
  EXPECT_SAYS(n.infer("LSTM", {x, w, n.input({1, 15, 5})}), "ShapeMismatch: LSTM, operand 2");
  EXPECT_SAYS(n.infer("GRU", {x, w, r}), "ShapeMismatch: GRU, operand 1");
  EXPECT_SAYS(n.infer("LSTM", {x, w, r}, {{"direction", text("both")}}), "forward, reverse or bidirectional");
  EXPECT_SAYS(n.infer("LSTM", {x, w, r}, {{"direction", text("bidirectional")}}), "ShapeMismatch: LSTM, operand 1");
  EXPECT_SAYS(n.infer("LSTM", {x, w, r}, {{"hidden_size", integer(6)}}), "`hidden_size` is 6, but R has 5");
  EXPECT_SAYS(n.infer("LSTM", {x, w, r}, {{"activations", runtime::Strings{"Tanh"}}}), "has 1 names, needs 3");
  EXPECT_SAYS(n.infer("LSTM", {x, w, r}, {{"activations", runtime::Strings{"Tanh", "Tanh", "Sinus"}}}), "Sinus");
  EXPECT_SAYS(n.infer("LSTM", {x, w, r}, {{"clip", -1.0}}), "`clip` must not be negative");
  EXPECT_SAYS(n.infer("LSTM", {x, w, r, none, n.input({2})}), "operand has dtype f32, needs i32");
  EXPECT_SAYS(n.infer("RNN", {x, n.input({1, 5, 10}), n.input({1, 5, 5})}, {}, 3), "`RNN` has 1 to 2 results");
  EXPECT_SAYS(n.infer("LSTM", {x, w, n.input({1, 4, kHuge})}), "exceeds 1 TiB");
}

TEST(OpErrors, Indexing) {
  OneNode n;
  ValueId x = n.input({4, 5, 6});
  EXPECT_SAYS(n.infer("GatherElements", {x, n.input({5, 5, 6}, DType::I64)}, {{"axis", integer(1)}}),
              "exceed the data");
  EXPECT_SAYS(n.infer("GatherElements", {x, n.input({4, 5, 6})}), "indices have dtype f32");
  EXPECT_SAYS(n.infer("GatherND", {x, n.input({7, 4}, DType::I64)}), "index tuples of length 4 into 3 dimensions");
  EXPECT_SAYS(n.infer("GatherND", {x, n.input({7, 1}, DType::I64)}, {{"batch_dims", integer(2)}}), "`batch_dims` = 2");
  EXPECT_SAYS(n.infer("ScatterND", {x, n.input({7, 2}, DType::I64), n.input({7, 5})}), "needs [7, 6]");
  EXPECT_SAYS(n.infer("ScatterElements", {x, n.input({4, 5, 6}, DType::I64), x}, {{"reduction", text("mean")}}),
              "`reduction` is one of none, add, mul, max, min");
  EXPECT_SAYS(n.infer("OneHot", {n.input({2}, DType::I64), n.input({}, DType::I64), n.input({2})}), "NotConstant");
  EXPECT_SAYS(n.infer("OneHot", {n.input({2}, DType::I64), n.ints({-1}), n.input({2})}), "the depth -1 is illegal");
  EXPECT_SAYS(n.infer("TopK", {x, n.ints({7})}), "k = 7 of an axis of extent 6");
  EXPECT_SAYS(n.infer("TopK", {x, n.ints({1, 2})}), "operand is one number");
  EXPECT_SAYS(n.infer("NonZero", {x}), "NotConstant");
  EXPECT_SAYS(n.infer("CumSum", {x, n.ints({3})}), "axis 3 is out of range for rank 3");
  EXPECT_SAYS(n.infer("ReverseSequence", {x, n.ints({1, 2, 3, 4})}), "needs [5]");
  EXPECT_SAYS(n.infer("Det", {x}), "matrices must be square");
  EXPECT_SAYS(
      n.infer("MaxUnpool", {x, n.input({4, 5, 6}, DType::I64)}, {{"kernel_shape", ints({2})}, {"pads", ints({99, 0})}}),
      "leave nothing");
}

TEST(OpErrors, PicturesAndBoxes) {
  OneNode n;
  ValueId x = n.input({2, 6, 9, 9}), none;
  EXPECT_SAYS(n.infer("GridSample", {x, n.input({2, 4, 4, 3})}), "needs [2, 4, 4, 2]");
  EXPECT_SAYS(n.infer("AffineGrid", {n.input({2, 2, 3}), n.ints({2, 5, 7})}), "the size has 3 numbers, needs 4 or 5");
  EXPECT_SAYS(n.infer("AffineGrid", {n.input({2, 2, 3}), n.ints({2, 5, 0, 7})}), "extent 0 is not positive");
  EXPECT_SAYS(n.infer("Col2Im", {n.input({1, 17, 16}), n.ints({6, 6}), n.ints({3, 3})}), "17 rows do not divide");
  EXPECT_SAYS(n.infer("Col2Im", {n.input({1, 18, 15}), n.ints({6, 6}), n.ints({3, 3})}), "needs [1, 18, 16]");
  EXPECT_SAYS(n.infer("Col2Im", {n.input({1, 18, 16}), n.ints({2, 6}), n.ints({3, 3})}), "exceeds the padded input");
  EXPECT_SAYS(n.infer("DeformConv", {x, n.input({4, 6, 3, 3}), n.input({2, 17, 7, 7})}), "needs [2, 18, 7, 7]");
  EXPECT_SAYS(n.infer("DeformConv", {x, n.input({4, 6, 3, 3}), n.input({2, 18, 7, 7})}, {{"offset_group", integer(4)}}),
              "6 input channels do not divide into 4 groups");
  EXPECT_SAYS(n.infer("RoiAlign", {x, n.input({5, 5}), n.input({5}, DType::I64)}), "needs [5, 4]");
  EXPECT_SAYS(n.infer("RoiAlign", {x, n.input({5, 4}), n.input({5}, DType::I64)}, {{"output_width", integer(0)}}),
              "`output_width` must be between 1 and");
  EXPECT_SAYS(n.infer("RoiAlign", {x, n.input({5, 4}), n.input({5}, DType::I64)}, {{"sampling_ratio", integer(40000)}}),
              "`sampling_ratio` must be between 0 and 1024");
  EXPECT_SAYS(n.infer("RoiAlign", {n.input({1, 1, 0, 7}), n.input({5, 4}), n.input({5}, DType::I64)}),
              "the pictures have no pixels");
  EXPECT_SAYS(n.infer("MaxRoiPool", {x, n.input({5, 4})}, {{"pooled_shape", ints({2, 2})}}), "needs [5, 5]");
  EXPECT_SAYS(n.infer("MaxRoiPool", {x, n.input({5, 5})}, {{"pooled_shape", ints({2})}}),
              "`pooled_shape` must be two numbers between 1 and 65536, found [2]");
  EXPECT_SAYS(n.infer("MaxRoiPool", {x, n.input({5, 5})}, {{"pooled_shape", ints({0, 2})}}), "found [0, 2]");
  EXPECT_SAYS(n.infer("MaxRoiPool", {n.input({1, 1, 0, 7}), n.input({5, 5})}, {{"pooled_shape", ints({2, 2})}}),
              "the pictures have no pixels");
  EXPECT_SAYS(n.infer("NonMaxSuppression", {n.input({1, 3, 4}), n.input({1, 2, 3})}), "NotConstant");
  EXPECT_SAYS(n.infer("NonMaxSuppression", {n.input({1, 3, 4}), n.input({1, 2, 4})}), "needs [1, 2, 3]");
  EXPECT_SAYS(n.infer("Resize", {n.input({7}), none, none, n.ints({3})}, {{"antialias", integer(1)}}),
              "`antialias` filters linear and cubic interpolation");
  EXPECT_SAYS(n.infer("BitCast", {n.input({3})}, {{"to", integer(7)}}), "not as wide as those of f32");
  EXPECT_SAYS(n.infer("BitwiseAnd", {n.input({3}), n.input({3})}), "needs an integer");
}

TEST(OpErrors, SignalsAndRandomNumbers) {
  OneNode n;
  ValueId none;
  EXPECT_SAYS(n.infer("DFT", {n.input({2, 10, 3})}), "1 part (real) or 2 (complex), found 3");
  EXPECT_SAYS(n.infer("DFT", {n.input({2, 10, 2})}, {{"onesided", integer(1)}}), "the signal is complex");
  EXPECT_SAYS(n.infer("DFT", {n.input({2, 10, 2})}, {{"axis", integer(2)}}), "real and imaginary parts");
  EXPECT_SAYS(n.infer("DFT", {n.input({2, 10, 2}), n.ints({0})}), "0 is not between 1 and");
  EXPECT_SAYS(n.infer("STFT", {n.input({2, 10, 1}), n.ints({0})}), "0 is not between 1 and");
  EXPECT_SAYS(n.infer("STFT", {n.input({2, 10, 1}), n.ints({1}), n.input({12})}), "10 samples hold no frame of 12");
  EXPECT_SAYS(n.infer("STFT", {n.input({2, 10, 1}), n.ints({1}), n.input({4}), n.ints({5})}), "needs [5]");
  EXPECT_SAYS(n.infer("HannWindow", {n.input({}, DType::I64)}), "NotConstant");
  EXPECT_SAYS(n.infer("HannWindow", {n.ints({8})}, {{"output_datatype", integer(9)}}), "not a supported number type");
  EXPECT_SAYS(n.infer("RandomNormalLike", {n.input({2}, DType::I32)}), "without `dtype` the result is i32");
  EXPECT_SAYS(n.infer("Multinomial", {n.input({2, 0})}), "nothing to choose from");
  EXPECT_SAYS(n.infer("TensorScatter", {n.input({2, 8, 4}), n.input({2, 9, 4})}), "needs [2, 8, 4]");
  EXPECT_SAYS(n.infer("TensorScatter", {n.input({2, 8}), n.input({2, 8})}), "`axis` is that of the batch");
  EXPECT_SAYS(n.infer("Unique", {n.input({3})}), "NotConstant");
  EXPECT_SAYS(n.infer("TfIdfVectorizer", {n.input({3}, DType::I32)},
                      {{"max_gram_length", integer(1)},
                       {"max_skip_count", integer(0)},
                       {"min_gram_length", integer(1)},
                       {"mode", text("TF")},
                       {"ngram_counts", ints({0, 4})},
                       {"ngram_indexes", ints({0})},
                       {"pool_int64s", ints({7})}}),
              "holds no whole 1-grams");
}

TEST(OpErrors, Einsum) {
  OneNode n;
  ValueId x = n.input({4, 5});
  auto say = [&](const std::string& equation) { return n.infer("Einsum", {x}, {{"equation", text(equation)}}); };
  EXPECT_SAYS(say("ij,jk->ik"), "the equation has 2 terms for 1 operands");
  EXPECT_SAYS(say("ijk->i"), "does not fit an operand of rank 2");
  EXPECT_SAYS(say("ii->i"), "dimensions of extent 4 and 5");
  EXPECT_SAYS(say("ij->k"), "occurs in no operand");
  EXPECT_SAYS(say("ij->ii"), "occurs twice in the result");
  EXPECT_SAYS(say("i1->i"), "has the character `1`");
  EXPECT_SAYS(say("......->"), "`...` occurs twice");
}

TEST(OpErrors, Dtypes) {
  OneNode n;
  EXPECT_SAYS(n.infer("Add", {n.input({2}), n.input({2}, DType::I32)}), "TypeMismatch: Add, operand 1");
  EXPECT_SAYS(n.infer("Sqrt", {n.input({2}, DType::I32)}), "operand has dtype i32, needs f32, f64, f16 or bf16");
  EXPECT_SAYS(n.infer("ReduceMax", {n.input({2}, DType::F8E4M3FN)}), "dtype f8e4m3fn, needs a number or bool");
  EXPECT_SAYS(n.infer("ReduceMin", {n.input({2}, DType::U4)}), "operand has dtype u4, needs a number or bool");
  EXPECT_SAYS(n.infer("And", {n.input({2}), n.input({2})}), "needs bool");
  EXPECT_SAYS(n.infer("Gather", {n.input({2}), n.input({2})}), "need i64 or i32");
  EXPECT_SAYS(n.infer("Cast", {n.input({2})}, {{"to", integer(99)}}), "`to` = 99");
}

TEST(OpErrors, Broadcasting) {
  OneNode n;
  EXPECT_SAYS(n.infer("Add", {n.input({2, 3}), n.input({2})}),
              "ShapeMismatch: Add, operand 1 (`%x.1`): shapes [2, 3] and [2] do not broadcast");
  EXPECT_SAYS(n.infer("PRelu", {n.input({3}), n.input({2, 3})}), "does not broadcast to [3]");
  EXPECT_SAYS(n.infer("Gemm", {n.input({2, 3}), n.input({3, 4}), n.input({2, 2})}), "does not broadcast to [2, 4]");
  EXPECT_SAYS(n.infer("MatMul", {n.input({2, 2, 3}), n.input({3, 3, 4})}), "batch dimensions [2] and [3]");
  EXPECT_SAYS(n.infer("MatMul", {n.input({}), n.input({3})}), "rank 0");
}

TEST(OpErrors, Windows) {
  OneNode n;
  ValueId x = n.input({1, 4, 8, 8});
  ValueId w = n.input({6, 4, 3, 3});
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"strides", ints({0, 1})}}), "`strides` must be between 1 and");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"strides", ints({1})}}), "`strides` has 1 values, needs 2");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"pads", ints({0, 0, 0, -1})}}), "`pads` must be between 0 and");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"dilations", ints({kHuge, 1})}}), "`dilations` must be between 1 and");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"dilations", ints({4, 4})}}),
              "kernel extent 9 exceeds the padded input extent 8 in spatial dimension 0");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"group", integer(0)}}), "`group` must be positive");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"group", integer(3)}}), "4 input channels do not divide into 3 groups");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"group", integer(2)}}),
              "take 4 input channels per group, but the input has 4 in 2 groups");
  EXPECT_SAYS(n.infer("Conv", {x, n.input({5, 2, 3, 3})}, {{"group", integer(2)}}), "5 output channels");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"auto_pad", text("SAME")}}), "found \"SAME\"");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"auto_pad", text("SAME_UPPER")}, {"pads", ints({1, 1, 1, 1})}}),
              "exclude each other");
  EXPECT_SAYS(n.infer("Conv", {x, w}, {{"kernel_shape", ints({5, 5})}}), "the weights have kernel [3, 3]");
  EXPECT_SAYS(n.infer("Conv", {x, w, n.input({5})}), "operand has shape [5], needs [6]");
  EXPECT_SAYS(n.infer("Conv", {n.input({4, 8}), n.input({4, 8})}), "rank 2, needs rank 3 to 5");
  EXPECT_SAYS(n.infer("MaxPool", {x}, {{"kernel_shape", ints({9, 9})}}), "exceeds the padded input extent 8");
  const std::vector<std::pair<std::string, runtime::AttrValue>> wide = {
      {"kernel_shape", ints({12, 8})}, {"strides", ints({4, 4})}, {"ceil_mode", integer(1)}};
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    EXPECT_SAYS(n.infer(op, {x}, wide),
                "kernel extent 12 exceeds the padded input extent 8 in spatial dimension 0 by its stride, 4, or more");
    EXPECT_SAYS(n.infer(op, {n.input({1, 1, 0})},
                        {{"kernel_shape", ints({3})}, {"strides", ints({5})}, {"ceil_mode", integer(1)}}),
                "kernel extent 3 exceeds the padded input extent 0 in spatial dimension 0");
  }
  EXPECT_SAYS(n.infer("MaxPool", {x}, {{"kernel_shape", ints({0, 1})}}), "must have extents between 1 and");
  EXPECT_SAYS(n.infer("MaxPool", {x}, {{"kernel_shape", ints({2, 2})}, {"pads", ints({2, 2, 2, 2})}}),
              "smaller than the kernel extent 2");
  EXPECT_SAYS(n.infer("ConvTranspose", {x, n.input({4, 1, 1, 1})}, {{"pads", ints({4, 4, 4, 4})}}), "output extent 0");
}

TEST(OpErrors, AxesAndConstants) {
  OneNode n;
  ValueId x = n.input({2, 3, 4});
  EXPECT_SAYS(n.infer("Softmax", {x}, {{"axis", integer(3)}}), "`axis` = 3 is out of range: rank 3 allows -3 to 2");
  EXPECT_SAYS(n.infer("Softmax", {n.input({})}), "a scalar has no axis");
  EXPECT_SAYS(n.infer("Transpose", {x}, {{"perm", ints({0, 1, 1})}}), "axis 1 is named twice");
  EXPECT_SAYS(n.infer("Transpose", {x}, {{"perm", ints({0, 1})}}), "`perm` has 2 values, needs 3");
  EXPECT_SAYS(n.infer("ReduceMax", {x}, {{"axes", ints({0, -3})}}), "axis 0 is named twice");
  EXPECT_SAYS(n.infer("Reshape", {x, n.input({2}, DType::I64)}), "NotConstant: operand 1 of `Reshape`");
  EXPECT_SAYS(n.infer("Reshape", {x, n.ints({5, -1})}), "24 elements do not fill");
  EXPECT_SAYS(n.infer("Reshape", {x, n.ints({-1, -1})}), "more than one dimension is -1");
  EXPECT_SAYS(n.infer("Reshape", {x, n.ints({kHuge, 4})}), "too large");
  EXPECT_SAYS(n.infer("Reshape", {x, n.ints({2, 3})}), "has 24 elements");
  const ValueId many = n.ints(std::vector<int64_t>(129, 1));
  for (const char* op : {"Reshape", "Expand", "Tile", "Unsqueeze"})
    EXPECT_SAYS(n.infer(op, {x, many}), "a list of 129 elements, at most 128 are possible");
  EXPECT_SAYS(n.infer("Split", {n.input({129}), many}, {{"axis", integer(0)}}, 129), "f32[1] f32[1]");
  EXPECT_SAYS(n.infer("Squeeze", {x, n.ints({0})}), "is not 1");
  EXPECT_SAYS(n.infer("Unsqueeze", {x, n.ints({5})}), "axis 5 is out of range");
  EXPECT_SAYS(n.infer("Concat", {x, n.input({2, 3, 5})}, {{"axis", integer(0)}}), "differ in more than axis 0");
  EXPECT_SAYS(n.infer("Concat", {x, n.input({2, 3})}, {{"axis", integer(2)}}), "differ in more than axis 2");
  EXPECT_SAYS(n.infer("Split", {x}, {{"axis", integer(1)}}, 2), "does not split into 2 equal parts");
  EXPECT_SAYS(n.infer("Split", {x, n.ints({1, 1})}, {{"axis", integer(1)}}, 2), "sum up to 2");
  EXPECT_SAYS(n.infer("Split", {x, n.ints({kHuge, kHuge})}, {{"axis", integer(1)}}, 2), "exceed the extent 3");
  EXPECT_SAYS(n.infer("Slice", {x, n.ints({0}), n.ints({1}), n.ints({0}), n.ints({0})}), "a step is 0");
  EXPECT_SAYS(n.infer("Pad", {x, n.ints({0, 0, 0, 0, 0, -5})}), "do not fit dimension 2");
  EXPECT_SAYS(n.infer("Pad", {x, n.ints({2, 0, 0, 0, 0, 0})}, {{"mode", text("reflect")}}),
              "reflect more than dimension 0");
  EXPECT_SAYS(n.infer("Range",
                      {n.scalar<float>(DType::F32, 0), n.scalar<float>(DType::F32, 1), n.scalar<float>(DType::F32, 0)}),
              "the step is 0");
  EXPECT_SAYS(n.infer("ArgMax", {n.input({0, 2})}), "axis 0 is empty");
  EXPECT_SAYS(n.infer("Resize", {n.input({2, 2})}), "neither `scales` nor `sizes`");
  const std::vector<std::pair<std::string, runtime::AttrValue>> crop = {
      {"coordinate_transformation_mode", text("tf_crop_and_resize")}};
  Constant twice, backwards;
  twice.data = Tensor(DType::F32, {1});
  twice.data.as<float>()[0] = 2;
  backwards.data = Tensor(DType::F32, {2});
  backwards.data.as<float>()[0] = 0.75F;
  backwards.data.as<float>()[1] = 0.25F;
  const ValueId scale = n.graph.add_constant("scale", twice), region = n.graph.add_constant("region", backwards);
  EXPECT_SAYS(n.infer("Resize", {n.input({8}), n.input({2}), scale}, crop), "NotConstant: operand 1 of `Resize`");
  EXPECT_SAYS(n.infer("Resize", {n.input({8}), region, scale}, crop),
              "nothing lies between 0.75 and 0.25 of dimension 0");
  EXPECT_SAYS(n.infer("Resize", {n.input({8}), ValueId(), scale}, crop), "needs a region of interest");
}

TEST(OpErrors, AbsurdSizes) {
  OneNode n;
  EXPECT_SAYS(n.infer("ConstantOfShape", {n.ints({kHuge, kHuge})}), "exceeds 1 TiB");
  EXPECT_SAYS(n.infer("ConstantOfShape", {n.ints({0, kHuge, kHuge})}), "exceeds 1 TiB");
  EXPECT_SAYS(n.infer("Tile", {n.input({4}), n.ints({kHuge})}), "too large");
  EXPECT_SAYS(n.infer("Expand", {n.input({1}), n.ints({1 << 20, 1 << 20, 1 << 20})}), "exceeds 1 TiB");
  EXPECT_SAYS(n.infer("Pad", {n.input({4}), n.ints({INT64_MAX, INT64_MAX})}), "do not fit");
  EXPECT_SAYS(n.infer("Col2Im", {n.input({1, 1, 8}), n.ints({1 << 20, 1 << 20, 1 << 20}), n.ints({1, 1, 1})}),
              "too many blocks");
  Constant tiny;
  tiny.data = Tensor(DType::F32, {1});
  tiny.data.as<float>()[0] = 1e-9F;
  ValueId scale = n.graph.add_constant("scale", tiny);
  EXPECT_SAYS(n.infer("Resize", {n.input({8}), ValueId(), scale, n.ints({1})}), "is not what its scale gives, 0");
  EXPECT_SAYS(n.infer("Relu", {n.input({kHuge, kHuge})}), "operand 0 of `Relu` has type");
  EXPECT_SAYS(n.infer("Relu", {n.input({-1})}), "negative dimension");
  EXPECT_SAYS(n.infer("Relu", {n.input(Shape(65, 1))}), "65 dimensions");
  EXPECT_SAYS(n.infer("SpaceToDepth", {n.input({1, 1, 4, 4})}, {{"blocksize", integer(kHuge)}}),
              "`blocksize` must be between");
  EXPECT_SAYS(n.infer("DepthToSpace", {n.input({1, 4, 4, 4})}, {{"blocksize", integer(-2)}}),
              "`blocksize` must be between");
  EXPECT_SAYS(n.infer("ConvTranspose", {n.input({1, 1, 1 << 20}), n.input({1, 1, 1})}, {{"strides", ints({1 << 20})}}),
              "exceeds 1 TiB");
  EXPECT_SAYS(n.infer("ConvTranspose", {n.input({1, 2, 1}), n.input({2, 2, 1})}, {{"group", integer(kHuge)}}),
              "do not divide");
  EXPECT_EQ(n.infer("LRN", {n.input({1, 4})}, {{"size", integer(INT64_MAX)}}), "f32[1, 4]");
}

}  // namespace
}  // namespace collage::ir
