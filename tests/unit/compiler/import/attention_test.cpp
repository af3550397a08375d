// SPDX-License-Identifier: Apache-2.0
// Attention in every form against loops over the definition of opset 24.
#include <cmath>
#include <random>

#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

constexpr int64_t kBatch = 2, kQueries = 3, kKeys = 4, kSize = 5, kValueSize = 2;

enum class Mask { None, Flags, Numbers, Short };

struct Form {
  std::string name;
  int64_t heads = 2, kv_heads = 2, past = 0;
  bool is_flat = false, is_causal = false, has_lengths = false;
  Mask mask = Mask::None;
  double softcap = 0;
  int64_t left = -1;
};

std::ostream& operator<<(std::ostream& out, const Form& form) {
  return out << form.name;
}

class AttentionTest : public ImportTest, public ::testing::WithParamInterface<Form> {
 protected:
  Tensor random(const Shape& shape) {
    Tensor tensor(DType::F32, shape);
    for (float& x : tensor.as<float>()) x = std::uniform_real_distribution<float>(-1, 1)(random_);
    return tensor;
  }
  std::mt19937 random_{7};
};

/// Element [b, h, i, d] of [batch, heads, length, size], or of [batch, length, heads * size].
struct Heads {
  const Tensor& tensor;
  int64_t heads, length, size;
  bool is_flat;
  double at(int64_t b, int64_t h, int64_t i, int64_t d) const {
    int64_t flat = ((b * length + i) * heads + h) * size + d, deep = ((b * heads + h) * length + i) * size + d;
    return tensor.as<float>()[static_cast<size_t>(is_flat ? flat : deep)];
  }
};

TEST_P(AttentionTest, EqualsTheDefinition) {
  const Form form = GetParam();
  const int64_t total = form.past + kKeys, mask_keys = form.mask == Mask::Short ? total - 1 : total;
  auto shape = [&](int64_t heads, int64_t length, int64_t size) {
    return form.is_flat ? Shape{kBatch, length, heads * size} : Shape{kBatch, heads, length, size};
  };
  std::vector<std::string> names = {"q", "k", "v", "", "", "", ""};
  std::vector<Tensor> inputs = {random(shape(form.heads, kQueries, kSize)), random(shape(form.kv_heads, kKeys, kSize)),
                                random(shape(form.kv_heads, kKeys, kValueSize))};
  for (size_t i = 0; i < 3; ++i) input(names[i], inputs[i].shape());
  Tensor mask;
  if (form.mask == Mask::Flags || form.mask == Mask::Short) {
    mask = Tensor(DType::Bool, {kQueries, mask_keys});
    // The last query may attend nothing.
    for (int64_t i = 0; i < mask.count(); ++i)
      mask.as<uint8_t>()[static_cast<size_t>(i)] = i / mask_keys < kQueries - 1 && i % 3 != 1 ? 1 : 0;
  } else if (form.mask == Mask::Numbers) {
    mask = random({kBatch, 1, kQueries, mask_keys});
  }
  if (form.mask != Mask::None) {
    names[3] = "mask";
    input("mask", mask.shape(), mask.dtype() == DType::Bool ? TensorProto::BOOL : TensorProto::FLOAT);
    inputs.push_back(mask);
  }
  Tensor past_k = random({kBatch, form.kv_heads, form.past, kSize});
  Tensor past_v = random({kBatch, form.kv_heads, form.past, kValueSize});
  if (form.past > 0) {
    names[4] = "pk";
    names[5] = "pv";
    input("pk", past_k.shape());
    input("pv", past_v.shape());
    inputs.push_back(past_k);
    inputs.push_back(past_v);
  }
  Tensor lengths(DType::I64, {kBatch});
  lengths.as<int64_t>()[0] = 4;
  lengths.as<int64_t>()[1] = 2;  // fewer than there are queries: the first attends nothing if it is causal
  if (form.has_lengths) {
    names[6] = "lengths";
    input("lengths", {kBatch}, TensorProto::INT64);
    inputs.push_back(lengths);
  }
  set_opset(25);
  auto& attention = node("Attention", names, {"y", "", "", "p"});
  if (form.is_flat) {
    attr(attention, "q_num_heads", form.heads);
    attr(attention, "kv_num_heads", form.kv_heads);
  }
  attr(attention, "is_causal", int64_t{form.is_causal});
  attr(attention, "softcap", static_cast<float>(form.softcap));
  attr(attention, "left_window_size", form.left);
  attr(attention, "qk_matmul_output_mode", int64_t{3});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  auto outputs = ir::evaluate_graph(*imported, inputs);
  ASSERT_TRUE(outputs.is_ok()) << outputs.message();
  ASSERT_EQ((*outputs)[0].shape(), shape(form.heads, kQueries, kValueSize));

  Heads q{inputs[0], form.heads, kQueries, kSize, form.is_flat},
      k{inputs[1], form.kv_heads, kKeys, kSize, form.is_flat};
  Heads v{inputs[2], form.kv_heads, kKeys, kValueSize, form.is_flat};
  Heads old_k{past_k, form.kv_heads, form.past, kSize, false},
      old_v{past_v, form.kv_heads, form.past, kValueSize, false};
  Heads y{(*outputs)[0], form.heads, kQueries, kValueSize, form.is_flat};
  for (int64_t b = 0; b < kBatch; ++b) {
    const int64_t valid = form.has_lengths ? lengths.as<int64_t>()[static_cast<size_t>(b)] : total;
    const int64_t offset = form.has_lengths ? valid - kQueries : form.past;
    for (int64_t h = 0; h < form.heads; ++h) {
      const int64_t g = h / (form.heads / form.kv_heads);
      for (int64_t i = 0; i < kQueries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t j = 0; j < total; ++j) {
          double s = 0;
          for (int64_t d = 0; d < kSize; ++d)
            s += q.at(b, h, i, d) * (j < form.past ? old_k.at(b, g, j, d) : k.at(b, g, j - form.past, d));
          s /= std::sqrt(static_cast<double>(kSize));
          if (form.softcap > 0) s = form.softcap * std::tanh(s / form.softcap);
          bool allowed =
              j < valid && (!form.is_causal || j <= i + offset) && (form.left < 0 || j >= i + offset - form.left);
          if (form.mask == Mask::Flags || form.mask == Mask::Short)
            allowed = allowed && j < mask_keys && mask.as<uint8_t>()[static_cast<size_t>(i * mask_keys + j)] != 0;
          if (form.mask == Mask::Numbers)
            s += mask.as<float>()[static_cast<size_t>((b * kQueries + i) * mask_keys + j)];
          weights.push_back(allowed ? std::exp(s) : 0);
          sum += weights.back();
        }
        for (int64_t d = 0; d < kValueSize; ++d) {
          double want = 0;
          for (int64_t j = 0; sum > 0 && j < total; ++j)
            want += weights[static_cast<size_t>(j)] / sum *
                    (j < form.past ? old_v.at(b, g, j, d) : v.at(b, g, j - form.past, d));
          EXPECT_NEAR(y.at(b, h, i, d), want, 2e-6) << "batch " << b << " head " << h << " query " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, AttentionTest,
    ::testing::Values(Form{.name = "Plain"}, Form{.name = "Flat", .is_flat = true},
                      Form{.name = "Causal", .is_causal = true},
                      Form{.name = "GroupedFlat", .heads = 4, .is_flat = true},
                      Form{.name = "OneKeyHead", .heads = 3, .kv_heads = 1, .mask = Mask::Numbers},
                      Form{.name = "Flags", .mask = Mask::Flags},
                      Form{.name = "ShortFlagsCausal", .is_causal = true, .mask = Mask::Short},
                      Form{.name = "Softcap", .mask = Mask::Numbers, .softcap = 0.5},
                      Form{.name = "PastCausal", .past = 2, .is_causal = true},
                      Form{.name = "FlatPastGrouped", .heads = 4, .past = 3, .is_flat = true, .is_causal = true},
                      Form{.name = "Lengths", .has_lengths = true},
                      Form{.name = "LengthsCausal", .is_causal = true, .has_lengths = true},
                      Form{.name = "Window", .past = 1, .is_causal = true, .left = 1}),
    [](const auto& form) { return form.param.name; });

using BadAttentionTest = ImportTest;

TEST_F(BadAttentionTest, OperandsThatDoNotFitAreReported) {
  set_opset(23);
  input("q", {1, 2, 6});
  input("k", {1, 3, 6});
  input("v", {1, 3, 6});
  auto& attention = node("Attention", {"q", "k", "v"}, {"y"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("[1, 2, 6] does not divide into 0 heads"), std::string::npos) << messages();
  attr(attention, "q_num_heads", int64_t{3});
  attr(attention, "kv_num_heads", int64_t{2});
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("queries of 2 and keys of 3 numbers do not multiply"), std::string::npos) << messages();
  attr(attention, "is_casual", int64_t{1});
  attention.mutable_attribute(1)->set_i(3);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("did you mean `is_causal`?"), std::string::npos) << messages();
  attention.mutable_attribute()->RemoveLast();
  set_opset(22);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("operator `Attention` is not supported"), std::string::npos) << messages();
  set_opset(23);
  EXPECT_TRUE(import_model()) << messages();
}

// What exporters write around the operator is what rules for attention match: two products and a softmax.
TEST_F(BadAttentionTest, PlainAttentionHasNothingBetweenTheSoftmaxAndTheSecondProduct) {
  set_opset(23);
  for (const char* name : {"q", "k", "v"}) input(name, {1, 2, 4, 8});
  attr(node("Attention", {"q", "k", "v"}, {"y"}), "is_causal", int64_t{1});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  std::string ops;
  for (ir::NodeId id : imported->node_ids()) ops += std::string(imported->node(id).op->name) + " ";
  EXPECT_EQ(ops, "Transpose MatMul Mul Where Softmax MatMul ");
}

// docs/manual/numerics.md: a key that is excluded has no say in the softmax, its value is multiplied by 0.
TEST_F(BadAttentionTest, NanOfAnExcludedKey) {
  set_opset(23);
  for (const char* name : {"q", "k", "v"}) input(name, {1, 1, 2, 1});
  attr(node("Attention", {"q", "k", "v"}, {"y"}), "is_causal", int64_t{1});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  const float nan = std::nanf("");
  const auto attended = [&](float key, float value) {
    std::vector<Tensor> inputs(3);
    for (Tensor& tensor : inputs) tensor = Tensor(DType::F32, {1, 1, 2, 1});
    for (Tensor& tensor : inputs) tensor.as<float>()[0] = tensor.as<float>()[1] = 1;
    inputs[1].as<float>()[1] = key;
    inputs[2].as<float>()[1] = value;
    auto outputs = ir::evaluate_graph(*imported, inputs);
    EXPECT_TRUE(outputs) << outputs.message();
    return std::vector<float>((*outputs)[0].as<float>().begin(), (*outputs)[0].as<float>().end());
  };
  const std::vector<float> of_key = attended(nan, 3), of_value = attended(1, nan);
  EXPECT_EQ(of_key[0], 1);
  EXPECT_TRUE(std::isnan(of_key[1]));
  EXPECT_TRUE(std::isnan(of_value[0]));
}

}  // namespace
}  // namespace collage::import
