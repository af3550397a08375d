// SPDX-License-Identifier: Apache-2.0
// Attributes as their operators define them: kinds of defaults, what a node is seen to have, and that the kernels
// compute with the same defaults.
#include "compiler/ir/ops/attributes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "runtime/core/random.h"
#include "runtime/support/check.h"

namespace collage::ir {
namespace {

using runtime::Ints;

TEST(Attributes, DefaultsAreOfTheKindOfTheirAttribute) {
  for (const OpDef* op : all_ops()) {
    for (const AttrDef& attr : op->attrs) {
      const std::optional<runtime::AttrValue> value = attr.default_value();
      EXPECT_TRUE(!value || value->index() == static_cast<size_t>(attr.kind)) << op->name << "." << attr.name;
      EXPECT_FALSE(value && attr.is_required()) << op->name << "." << attr.name;
    }
  }
}

TEST(Attributes, WhatIsWrittenElseTheDefault) {
  AttrMap written;
  const AttrView gemm(*find_op("Gemm"), written);
  EXPECT_EQ(gemm.float_of("alpha"), 1);
  EXPECT_EQ(gemm.int_of("transA"), 0);
  written.set("alpha", int64_t{3});  // an int serves as a float
  written.set("transA", int64_t{1});
  EXPECT_EQ(gemm.float_of("alpha"), 3);
  EXPECT_EQ(gemm.int_of("transA"), 1);
  EXPECT_TRUE(gemm.has("alpha"));
  EXPECT_FALSE(gemm.has("beta"));
  const AttrMap none;
  EXPECT_EQ(AttrView(*find_op("Pad"), none).string_of("mode"), "constant");
  EXPECT_EQ(AttrView(*find_op("MeanVarianceNormalization"), none).ints_of("axes"), (Ints{0, 2, 3}));
  // One without a default.
  EXPECT_EQ(AttrView(*find_op("Conv"), none).ints_of("strides"), Ints());
}

/// A node of an operator, with what it needs.
struct Example {
  std::vector<Tensor> operands;
  std::map<std::string, runtime::AttrValue> attrs = {};
  size_t results = 1;
};

Tensor floats(const Shape& shape, double low = 0.25, double high = 1.25) {
  return runtime::random_tensor(DType::F32, shape, 7 + shape.size(), low, high);
}
Tensor bytes(const Shape& shape) {
  return runtime::random_tensor(DType::U8, shape, 3, 0, 200);
}
Tensor wholes(const Shape& shape, const Ints& elements) {
  Tensor made(DType::I64, shape);
  std::copy(elements.begin(), elements.end(), made.as<int64_t>().begin());
  return made;
}
Tensor list(const Ints& elements) {
  return wholes({static_cast<int64_t>(elements.size())}, elements);
}
Tensor whole(int64_t element) {
  return wholes({}, {element});
}
Tensor of_floats(const Shape& shape, const std::vector<float>& elements) {
  Tensor made(DType::F32, shape);
  std::copy(elements.begin(), elements.end(), made.as<float>().begin());
  return made;
}

/// Examples of the operators that have defaults.
std::map<std::string_view, Example> examples() {
  const Tensor signs = floats({4, 6}, -2, 2), picture = floats({1, 4, 6, 6}), channels = floats({4});
  const Tensor one = of_floats({}, {0.5F});
  Tensor zero(DType::U8, {});
  zero.as<uint8_t>()[0] = 3;
  const Example window{{whole(8)}}, reduced{{floats({2, 3, 4})}}, unary{{signs}};
  std::map<std::string_view, Example> made = {
      {"AffineGrid", {{floats({1, 2, 3}), list({1, 1, 3, 3})}}},
      {"ArgMax", reduced},
      {"ArgMin", reduced},
      {"AveragePool", {{picture}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}}},
      {"BatchNormalization", {{picture, channels, channels, channels, channels}}},
      {"BlackmanWindow", window},
      {"Cast", {{floats({8}, 400, 500)}, {{"to", int64_t{17}}}}},
      {"CastLike", {{floats({8}, 400, 500), runtime::random_tensor(DType::F8E4M3FN, {1}, 1)}}},
      {"Celu", unary},
      {"Conv", {{picture, floats({4, 4, 3, 3})}}},
      {"ConvInteger", {{bytes({1, 2, 5, 5}), bytes({2, 2, 3, 3})}}},
      {"ConvTranspose", {{picture, floats({4, 2, 3, 3})}}},
      {"CumProd", {{floats({2, 3}), whole(1)}}},
      {"CumSum", {{floats({2, 3}), whole(1)}}},
      {"DFT", {{floats({1, 8, 1})}}},
      {"DeformConv", {{picture, floats({4, 4, 3, 3}), floats({1, 18, 4, 4})}}},
      {"DepthToSpace", {{floats({1, 8, 2, 2})}, {{"blocksize", int64_t{2}}}}},
      {"DequantizeLinear", {{bytes({2, 3, 4}), floats({3})}}},
      {"Elu", unary},
      {"EyeLike", {{floats({3, 4})}}},
      {"Flatten", {{floats({2, 3, 4})}}},
      {"GRU", {{floats({3, 2, 4}), floats({1, 15, 4}), floats({1, 15, 5})}}},
      {"Gather", {{floats({3, 4}), list({2, 0})}}},
      {"GatherElements", {{floats({3, 4}), wholes({1, 4}, {2, 1, 0, 1})}}},
      {"GatherND", {{floats({3, 4}), wholes({2, 1}, {2, 0})}}},
      {"Gelu", unary},
      {"Gemm", {{floats({4, 4}), floats({4, 4}), floats({4})}}},
      {"GlobalLpPool", {{picture}}},
      {"GridSample", {{picture, floats({1, 3, 3, 2}, -1.5, 1.5)}}},
      {"GroupNormalization", {{picture, channels, channels}, {{"num_groups", int64_t{2}}}}},
      {"HammingWindow", window},
      {"HannWindow", window},
      {"HardSigmoid", unary},
      {"Hardmax", {{floats({3, 4, 5})}}},
      {"InstanceNormalization", {{picture, channels, channels}}},
      {"IsInf",
       {{of_floats({3}, {1, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()})}}},
      {"LRN", {{picture}, {{"size", int64_t{3}}}}},
      {"LSTM", {{floats({3, 2, 4}), floats({1, 20, 4}), floats({1, 20, 5})}}},
      {"LayerNormalization", {{floats({2, 3, 4}), channels}}},
      {"LeakyRelu", unary},
      {"LogSoftmax", {{floats({3, 4, 5})}}},
      {"LpNormalization", {{floats({3, 4})}}},
      {"LpPool", {{picture}, {{"kernel_shape", Ints{3, 3}}}}},
      {"MaxPool", {{picture}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}, 2}},
      {"MaxRoiPool", {{picture, of_floats({1, 5}, {0, 1, 1, 4, 5})}, {{"pooled_shape", Ints{2, 2}}}}},
      {"MeanVarianceNormalization", {{picture}}},
      {"MelWeightMatrix", {{whole(4), whole(16), whole(8000), of_floats({}, {0}), of_floats({}, {4000})}}},
      {"Mod", {{list({7, -7, 7}), list({3, 3, -3})}}},
      {"Multinomial", {{floats({1, 5})}, {{"seed", 7.0}}}},
      {"NegativeLogLikelihoodLoss", {{floats({3, 4}), list({2, 0, 1})}}},
      {"NonMaxSuppression",
       {{of_floats({1, 2, 4}, {0, 0, 2, 3, 1, 1, 4, 2}), of_floats({1, 1, 2}, {0.5F, 0.75F}), whole(2)}}},
      {"OneHot", {{list({1, 2}), whole(4), of_floats({2}, {0, 1})}}},
      {"Pad", {{floats({3}), list({1, 1})}}},
      {"QLinearConv", {{bytes({1, 2, 5, 5}), one, zero, bytes({2, 2, 3, 3}), one, zero, of_floats({}, {90}), zero}}},
      {"QuantizeLinear", {{floats({2, 3, 4}), floats({3})}}},
      {"RNN", {{floats({3, 2, 4}), floats({1, 5, 4}), floats({1, 5, 5})}}},
      {"RandomNormalLike", {{signs}, {{"seed", 7.0}}}},
      {"RandomUniformLike", {{signs}, {{"seed", 7.0}}}},
      {"ReduceSum", reduced},
      {"Reshape", {{floats({2, 3}), list({0, 3})}}},
      {"Resize", {{floats({1, 1, 4, 4}), Tensor(), of_floats({4}, {1, 1, 1.5F, 0.5F})}}},
      {"ReverseSequence", {{floats({3, 3}), list({1, 2, 3})}}},
      {"RoiAlign", {{picture, of_floats({1, 4}, {1, 1, 4, 5}), list({0})}}},
      {"STFT", {{floats({1, 16, 1}), whole(4), floats({8})}}},
      {"ScatterElements", {{floats({3, 4}), wholes({1, 4}, {2, 1, 0, 1}), floats({1, 4})}}},
      {"ScatterND", {{floats({3, 4}), wholes({2, 1}, {2, 0}), floats({2, 4})}}},
      {"Selu", unary},
      {"Shape", reduced},
      {"Shrink", unary},
      {"Softmax", {{floats({3, 4, 5})}}},
      {"SoftmaxCrossEntropyLoss", {{floats({3, 4}), list({2, 0, 1})}}},
      {"Split", {{floats({4, 2})}, {}, 2}},
      {"TensorScatter", {{floats({1, 2, 4, 3}), floats({1, 2, 2, 3})}}},
      {"ThresholdedRelu", unary},
      {"TopK", {{floats({3, 4}), list({2})}, {}, 2}},
      {"Trilu", {{floats({3, 3})}}},
      {"Unique", {{of_floats({4}, {3, 1, 3, 2})}}},
  };
  for (const OpDef* op : all_ops()) {
    if (op->name.starts_with("Reduce")) made.emplace(op->name, reduced);
  }
  return made;
}

constexpr const char* kNoResults = "no results: ";

/// The results as shapes, dtypes and bits; or why there are none.
std::string results_of(const OpDef& op, const Example& example, const AttrMap& attrs) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  Graph graph;
  std::vector<ValueId> operands;
  for (const Tensor& operand : example.operands) {
    operands.push_back(operand.is_empty_handle()
                           ? ValueId()
                           : graph.add_constant("c" + std::to_string(operands.size()), make_constant(operand)));
  }
  const auto types = infer_node(graph, op, operands, attrs, example.results, {}, diags);
  if (!types) return kNoResults + diags.render();
  const auto results = evaluate_node(op, example.operands, attrs, {types->begin(), types->end()});
  if (!results) return kNoResults + results.message();
  std::string text;
  for (const Tensor& result : *results) {
    text += to_string(TensorType{result.dtype(), result.shape()});
    text.append(reinterpret_cast<const char*>(result.data()), result.bytes());
  }
  return text;
}

TEST(Attributes, AnOperatorIsWithoutFlagsThatItDoesNotHave) {
  const AttrMap none;
  AttrMap transposed;
  transposed.set("transB", int64_t{1});
  EXPECT_TRUE(AttrView(*find_op("Gemm"), transposed).is_on("transB"));
  EXPECT_FALSE(AttrView(*find_op("Gemm"), none).is_on("transB"));
  EXPECT_FALSE(AttrView(*find_op("MatMul"), none).is_on("transB"));
  EXPECT_TRUE(AttrView(*find_op("MatMul"), none).ints_of("axes").empty());
}

// Code for several operators that asks one of them for what it does not have would compute with a default that is
// nowhere.
TEST(Attributes, OthersThatItDoesNotHaveAreNotGuessed) {
  const AttrMap none;
  const AttrView gather(*find_op("Gather"), none);
  EXPECT_THROW(gather.string_of("reduction"), support::InternalError);
  EXPECT_THROW(gather.int_of("keepdims"), support::InternalError);
}

// A default stands in the definition of the operator and, as packages hold what is written, in its kernel.
TEST(Attributes, KernelsComputeWithTheSameDefaults) {
  const std::map<std::string_view, Example> all = examples();
  for (const OpDef* op : all_ops()) {
    const auto found = all.find(op->name);
    AttrMap given;
    for (const auto& [name, value] : found == all.end() ? decltype(Example::attrs)() : found->second.attrs) {
      given.set(name, value);
    }
    std::string plain;
    for (const AttrDef& attr : op->attrs) {
      const std::optional<runtime::AttrValue> value = attr.default_value();
      if (!value) continue;
      ASSERT_NE(found, all.end()) << op->name << " has defaults and no example";
      if (plain.empty()) plain = results_of(*op, found->second, given);
      EXPECT_FALSE(plain.starts_with(kNoResults)) << op->name << ": " << plain;
      AttrMap written = given;
      written.set(std::string(attr.name), *value);
      EXPECT_EQ(results_of(*op, found->second, written), plain) << op->name << "." << attr.name;
    }
  }
}

}  // namespace
}  // namespace collage::ir
