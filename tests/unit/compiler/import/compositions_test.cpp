// SPDX-License-Identifier: Apache-2.0
// Operators that the importer composes of others, against numbers worked out from their definitions.
#include <cmath>

#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

using Numbers = std::vector<float>;

class CompositionsTest : public ImportTest {
 protected:
  onnx::NodeProto& microsoft(const std::string& op, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs) {
    onnx::NodeProto& added = node(op, inputs, outputs);
    added.set_domain("com.microsoft");
    return added;
  }
  /// `name` as f16, the value `name.half`.
  void half(const std::string& name) {
    attr(node("Cast", {name}, {name + ".half"}), "to", int64_t{TensorProto::FLOAT16});
  }
  void expect_refused(const std::string& message) {
    EXPECT_FALSE(import_model());
    EXPECT_NE(messages().find(message), std::string::npos) << messages();
  }
  Numbers run_model() {
    auto imported = import_model();
    EXPECT_TRUE(imported) << messages();
    return imported ? run(*imported) : Numbers();
  }
  void expect_near(const Numbers& want) {
    Numbers got = run_model();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
  }
};

TEST_F(CompositionsTest, FlexAttentionHoldsGraphs) {
  input("x", {1, 1, 2, 2});  // two queries, keys and values: 1 2, 3 4
  auto& attention = node("FlexAttention", {"x", "x", "x"}, {"y"});
  attention.set_domain("ai.onnx.preview");
  // The graphs read a value of the model, and use a name that it has.
  floats("by", {}, {0});
  auto add_graph = [&attention](const std::string& name, const std::string& op) -> onnx::GraphProto& {
    auto& attribute = *attention.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& inner = *attribute.mutable_g()->add_node();
    inner.set_op_type(op);
    for (const char* operand : {"given", "by"}) inner.add_input(operand);
    inner.add_output("x");
    attribute.mutable_g()->add_input()->set_name("given");
    attribute.mutable_g()->add_output()->set_name("x");
    return *attribute.mutable_g();
  };
  output("y");
  add_graph("score_mod", "Mul");  // all scores are 0: the mean of the values
  expect_near({2, 3, 2, 3});
  onnx::GraphProto& second = add_graph("prob_mod", "Add");
  expect_near({2, 3, 2, 3});
  second.mutable_node(0)->set_op_type("Equal");
  expect_refused("`prob_mod` makes bool[1, 1, 2, 2] of f32[1, 1, 2, 2]");
  attention.mutable_attribute(1)->set_name("mask_mod");
  expect_refused("attribute `mask_mod` is of kind GRAPH");
  attention.mutable_attribute(1)->set_name("prob_mod");
  second.add_input()->set_name("more");
  expect_refused("`prob_mod` is no graph of one tensor that gives one");
}

TEST_F(CompositionsTest, RmsNormalization) {
  set_opset(23);
  input("x", {1, 2});
  floats("scale", {2}, {1, 10});
  attr(node("RMSNormalization", {"x", "scale"}, {"y"}), "epsilon", 0.0f);
  output("y");
  double root = std::sqrt((1.0 + 4.0) / 2);
  expect_near({static_cast<float>(1 / root), static_cast<float>(20 / root)});
}

TEST_F(CompositionsTest, SkipNormalizationsGiveTheirSum) {
  input("x", {1, 2});
  floats("skip", {1, 2}, {2, 3});
  floats("scale", {2}, {1, 1});
  floats("bias", {2}, {0, 1});
  microsoft("SkipSimplifiedLayerNormalization", {"x", "skip", "scale", "bias"}, {"y", "", "", "sum"});
  output("sum");
  output("y");
  expect_near({3, 6});  // [1, 2] + [2, 3] + [0, 1]
}

TEST_F(CompositionsTest, SwishAndGatedSwish) {
  set_opset(28);
  input("x", {2});
  attr(node("Swish", {"x"}, {"s"}), "alpha", 2.0f);
  node("SwiGLU", {"x", "s"}, {"y"});
  output("y");
  auto swish = [](double x, double alpha) { return x / (1 + std::exp(-alpha * x)); };
  expect_near({static_cast<float>(swish(1, 1) * swish(1, 2)), static_cast<float>(swish(2, 1) * swish(2, 2))});
}

TEST_F(CompositionsTest, RotaryEmbeddingTurnsPairs) {
  set_opset(23);
  input("x", {1, 1, 1, 5});  // 1 2 3 4 turn, 5 stays
  floats("cos", {3, 2}, {9, 9, 9, 9, 0, 1});
  floats("sin", {3, 2}, {9, 9, 9, 9, 1, 0});
  initializer("position", {1, 1}, TensorProto::INT64).add_int64_data(2);
  auto& rotary = node("RotaryEmbedding", {"x", "cos", "sin", "position"}, {"y"});
  attr(rotary, "rotary_embedding_dim", int64_t{4});
  output("y");
  expect_near({-3, 2, 1, 4, 5});  // (1, 3) by a quarter, (2, 4) not at all
  attr(rotary, "interleaved", int64_t{1});
  expect_near({-2, 1, 3, 4, 5});  // (1, 2) by a quarter, (3, 4) not at all
}

TEST_F(CompositionsTest, CausalConvolutionCarriesItsState) {
  set_opset(27);
  input("x", {1, 1, 3});
  floats("w", {1, 1, 3}, {100, 10, 1});
  floats("past", {1, 1, 2}, {8, 9});
  node("CausalConvWithState", {"x", "w", "", "past"}, {"y", "state"});
  attr(node("Concat", {"y", "state"}, {"both"}), "axis", int64_t{2});
  output("both");
  expect_near({891, 912, 123, 2, 3});
  graph().mutable_initializer(1)->set_dims(2, 1);
  graph().mutable_initializer(1)->mutable_float_data()->RemoveLast();
  expect_refused("the past state has shape [1, 1, 1], need [1, 1, 2]");
}

TEST_F(CompositionsTest, LinearAttentionStepByStep) {
  set_opset(27);
  input("q", {1, 2, 1});  // 1 2
  floats("k", {1, 2, 1}, {3, 5});
  floats("v", {1, 2, 1}, {7, 11});
  floats("decay", {1, 2, 1}, {0, static_cast<float>(std::log(0.5))});
  floats("beta", {1, 2, 1}, {1, 0.1f});
  auto& attention = node("LinearAttention", {"q", "k", "v", "", "decay", "beta"}, {"y", "state"});
  for (const char* name : {"q_num_heads", "kv_num_heads"}) attr(attention, name, int64_t{1});
  attr(node("Concat", {"y", "last"}, {"both"}), "axis", int64_t{1});
  initializer("flat", {3}, TensorProto::INT64);
  for (int64_t dim : {1, 1, 1}) graph().mutable_initializer(graph().initializer_size() - 1)->add_int64_data(dim);
  node("Reshape", {"state", "flat"}, {"last"});
  output("both");
  // S = 3 * 7;  then S = 21 / 2, v = 0.1 * (11 - 10.5 * 5), S + 5 v
  float state = 10.5f + 5 * 0.1f * (11 - 52.5f);
  expect_near({21, 2 * state, state});
  graph().mutable_initializer(2)->set_dims(1, 1);
  graph().mutable_initializer(2)->mutable_float_data()->RemoveLast();
  expect_refused("the lengths of the operands differ");
}

TEST_F(CompositionsTest, FusedProductsAndActivations) {
  input("a", {2, 2});  // 1 2, 3 4
  floats("b", {2, 2}, {1, -1, 0, 1});
  auto& product = microsoft("FusedMatMul", {"a", "b"}, {"p"});
  attr(product, "transB", int64_t{1});
  attr(product, "alpha", 2.0f);
  floats("c", {2}, {0, -100});
  auto& gemm = microsoft("FusedGemm", {"p", "b", "c"}, {"y"});
  attr(gemm, "activation", std::string("Relu"));
  output("y");
  // p = 2 a bT = -2 4, -2 8;  p b + c = -2, 2 + 4 - 100
  expect_near({0, 0, 0, 0});
  attr(gemm, "beta", 0.0f);
  expect_near({0, 6, 0, 10});
}

TEST_F(CompositionsTest, ParametersOfAFusedActivationKeepTheirPlaces) {
  input("a", {1, 2});  // 1 2
  floats("b", {2, 1}, {1, -1});
  auto& gemm = microsoft("FusedGemm", {"a", "b"}, {"y"});
  attr(gemm, "activation", std::string("HardSigmoid"));
  attr(gemm, "activation_beta", 0.4f);
  output("y");
  expect_near({0.2f});  // 0.2 * (1 - 2) + 0.4
}

TEST_F(CompositionsTest, WeightsOfFourBitsAreUnpacked) {
  input("x", {1, 8});  // 1 … 8
  // The low four bits come first: 0 1 2 3 4 5 6 7, less 8 each, times 0.5.
  initializer("w", {1, 1, 4}, TensorProto::UINT8).set_raw_data(std::string("\x10\x32\x54\x76", 4));
  floats("scale", {1}, {0.5f});
  auto& product = microsoft("MatMulNBits", {"x", "w", "scale"}, {"y"});
  attr(product, "K", int64_t{8});
  attr(product, "N", int64_t{1});
  attr(product, "bits", int64_t{4});
  attr(product, "block_size", int64_t{8});
  output("y");
  float want = 0;
  for (int i = 0; i < 8; ++i) want += static_cast<float>((i + 1) * (i - 8)) * 0.5f;
  expect_near({want});
  initializer("zero", {1}, TensorProto::UINT8).set_raw_data("\x03");
  product.add_input("zero");
  want = 0;
  for (int i = 0; i < 8; ++i) want += static_cast<float>((i + 1) * (i - 3)) * 0.5f;
  expect_near({want});
  graph().mutable_initializer(0)->set_raw_data("\x10");
  graph().mutable_initializer(0)->set_dims(2, 1);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("the weights have 1 bytes, need 4"), std::string::npos) << messages();
  attr(product, "weight_prepacked", int64_t{1});
  expect_refused("weights that are packed for one processor");
}

TEST_F(CompositionsTest, ProductsOfBytesHaveScalesOfSixteenBits) {
  input("x", {2});
  initializer("a", {1, 2}, TensorProto::UINT8).set_raw_data("\xc8\xc8");
  initializer("b", {2, 1}, TensorProto::UINT8).set_raw_data("\xc8\xc8");
  floats("scale", {}, {0.0625f});
  half("scale");
  microsoft("MatMulIntegerToFloat", {"a", "b", "scale.half", "scale.half"}, {"p"});
  attr(node("Cast", {"p"}, {"y"}), "to", int64_t{TensorProto::FLOAT});
  output("y");
  expect_near({312.5f});  // 2 * 200 * 200 / 256: the sum itself is no f16
}

TEST_F(CompositionsTest, QuantizedSums) {
  initializer("a", {2}, TensorProto::UINT8).set_raw_data("\x0a\x0c");
  initializer("b", {2}, TensorProto::UINT8).set_raw_data("\x01\x02");
  floats("half", {}, {0.5f});
  floats("one", {}, {1});
  initializer("ten", {}, TensorProto::UINT8).set_raw_data("\x0a");
  input("x", {2});
  microsoft("QLinearAdd", {"a", "half", "ten", "b", "one", "", "one", "ten"}, {"sum"});
  microsoft("DequantizeLinear", {"sum", "one", "ten"}, {"y"});
  output("y");
  expect_near({1, 3});  // (0 + 1), (1 + 2)
}

TEST_F(CompositionsTest, WithoutAZeroPointIntegersKeepTheirDtype) {
  initializer("a", {2}, TensorProto::INT8).set_raw_data("\xfb\x03");  // -5 3
  initializer("zero", {}, TensorProto::INT8).set_raw_data(std::string(1, 0));
  floats("one", {}, {1});
  input("x", {2});
  microsoft("QLinearAdd", {"a", "one", "", "a", "one", "", "one"}, {"sum"});
  attr(microsoft("QLinearConcat", {"one", "zero", "sum", "one", "", "a", "one", ""}, {"all"}), "axis", int64_t{0});
  microsoft("DequantizeLinear", {"all", "one"}, {"y"});
  output("y");
  expect_near({-10, 6, -5, 3});
}

TEST_F(CompositionsTest, AttentionOfSixteenBitsHasAMask) {
  input("x", {1, 2, 2});                                         // 1 2, 3 4
  floats("w", {2, 6}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1});     // queries and keys are 0, values x
  auto& mask = initializer("mask", {1, 2}, TensorProto::INT32);  // the second key alone
  for (int keeps : {0, 1}) mask.add_int32_data(keeps);
  half("x");
  half("w");
  attr(microsoft("Attention", {"x.half", "w.half", "", "mask"}, {"a"}), "num_heads", int64_t{1});
  attr(node("Cast", {"a"}, {"y"}), "to", int64_t{TensorProto::FLOAT});
  output("y");
  expect_near({3, 4, 3, 4});
}

TEST_F(CompositionsTest, OperandsThatComeTogetherAreNotDropped) {
  input("x", {1, 2, 6});
  floats("past", {1, 1, 1, 6}, Numbers(6, 0));
  floats("flat", {1, 6}, Numbers(6, 0));
  floats("rows", {1, 1, 6}, Numbers(6, 0));
  for (const char* name : {"last", "total"}) initializer(name, {1}, TensorProto::INT32).add_int32_data(1);
  output("y");
  auto& attention = microsoft("GroupQueryAttention", {"x", "", "x", "", "", "last", "total"}, {"y"});
  for (const char* name : {"num_heads", "kv_num_heads"}) attr(attention, name, int64_t{1});
  expect_refused("error: keys and values come together");
  attention.set_input(1, "x");
  EXPECT_TRUE(import_model()) << messages();
  for (const char* past : {"flat", "rows"}) {
    for (int i : {3, 4}) attention.set_input(i, past);
    expect_refused("operand 3 has " + std::string(past == std::string("flat") ? "2" : "3") + " dimensions, need 4");
  }
  attention.set_input(4, "");
  expect_refused("error: past keys and values come together");

  attention.Clear();
  attention.set_op_type("MultiHeadAttention");
  attention.set_domain("com.microsoft");
  for (const char* name : {"x", "x", "x", "", "", "", "past"}) attention.add_input(name);
  attention.add_output("y");
  attr(attention, "num_heads", int64_t{1});
  expect_refused("(MultiHeadAttention): error: past keys and values come together");
}

TEST_F(CompositionsTest, SegmentsNeedTheirEmbedding) {
  input("x", {1});
  initializer("ids", {1, 1}, TensorProto::INT32).add_int32_data(0);
  for (const char* name : {"words", "positions"}) floats(name, {1, 2}, {1, 3});
  floats("scale", {2}, {1, 1});
  microsoft("EmbedLayerNormalization", {"ids", "ids", "words", "positions", "", "scale", "scale"}, {"y"});
  output("y");
  expect_refused("segment ids and their embedding come together");
}

TEST_F(CompositionsTest, WhatIsNotUnderstoodIsRefused) {
  input("x", {1, 2, 4});
  auto& unknown = microsoft("BiasGelo", {"x", "x"}, {"y"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("did you mean `BiasGelu`?"), std::string::npos) << messages();
  unknown.set_op_type("QuickGelu");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("operand 1 of QuickGelu is not supported"), std::string::npos) << messages();
  unknown.set_op_type("FusedMatMul");
  unknown.mutable_input()->RemoveLast();
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("operand 1 of FusedMatMul is left out"), std::string::npos) << messages();
}

}  // namespace
}  // namespace collage::import
