// SPDX-License-Identifier: Apache-2.0
// QGemm and GatherBlockQuantized of ONNX Runtime in all their forms, against loops over what they say.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

using Integers = std::vector<int64_t>;
constexpr int kUInt4 = 21, kInt4 = 22;  // of ONNX 1.16

class QuantizedTablesTest : public ImportTest {
 protected:
  /// An initializer of integers of 8 bits.
  void bytes(const std::string& name, const Shape& shape, int element, const Integers& values) {
    TensorProto& tensor = initializer(name, shape, element);
    for (int64_t value : values) tensor.add_int32_data(static_cast<int32_t>(value));
  }
  Integers random(size_t count, int64_t least, int64_t most) {
    Integers numbers(count);
    for (int64_t& number : numbers) number = std::uniform_int_distribution<int64_t>(least, most)(random_);
    return numbers;
  }
  std::vector<float> random_scales(size_t count) {
    std::vector<float> scales(count);
    for (float& scale : scales) scale = std::uniform_real_distribution<float>(0.01f, 0.5f)(random_);
    return scales;
  }
  /// The only output, for one input.
  std::vector<double> results(const Tensor& given) {
    auto imported = import_model();
    EXPECT_TRUE(imported) << messages();
    if (!imported) return {};
    auto outputs = ir::evaluate_graph(*imported, {given});
    EXPECT_TRUE(outputs.is_ok()) << outputs.message();
    std::vector<double> values;
    for (int64_t i = 0; outputs && i < (*outputs)[0].count(); ++i)
      values.push_back(runtime::element_as_double((*outputs)[0].view(), i));
    return values;
  }

  std::mt19937 random_{3};
};

struct Product {
  std::string name;
  bool transposes_a = false, transposes_b = false;
  float alpha = 1;
  bool is_signed = false;  ///< a, and with it the result
  bool has_signed_b = true;
  bool is_per_column = false;
  Shape bias = {-1};  ///< {-1}: none
  bool is_quantized = true;
  bool has_zero = true;  ///< of the result
};

std::ostream& operator<<(std::ostream& out, const Product& product) {
  return out << product.name;
}

class QGemmTest : public QuantizedTablesTest, public ::testing::WithParamInterface<Product> {};

TEST_P(QGemmTest, EqualsItsDefinition) {
  const Product& p = GetParam();
  constexpr int64_t kRows = 3, kSummed = 5, kColumns = 4;
  const int a_type = p.is_signed ? TensorProto::INT8 : TensorProto::UINT8;
  const int b_type = p.has_signed_b ? TensorProto::INT8 : TensorProto::UINT8;
  const int64_t least = p.is_signed ? -128 : 0, most = p.is_signed ? 127 : 255;
  const Integers a = random(kRows * kSummed, least, most);
  const Integers b = random(kSummed * kColumns, p.has_signed_b ? -128 : 0, p.has_signed_b ? 127 : 255);
  const size_t channels = p.is_per_column ? kColumns : 1;
  const std::vector<float> b_scale = random_scales(channels);
  const Integers b_zero = random(channels, p.has_signed_b ? -9 : 100, p.has_signed_b ? 9 : 140);
  const int64_t a_zero = p.is_signed ? -3 : 120, y_zero = p.has_zero ? (p.is_signed ? 5 : 131) : 0;
  const float a_scale = 0.02f, y_scale = 0.7f;

  Tensor given(p.is_signed ? DType::I8 : DType::U8, p.transposes_a ? Shape{kSummed, kRows} : Shape{kRows, kSummed});
  for (size_t i = 0; i < a.size(); ++i) given.data()[i] = static_cast<std::byte>(a[i]);
  input("a", given.shape(), a_type);
  floats("a_scale", {}, {a_scale});
  bytes("a_zero", {}, a_type, {a_zero});
  bytes("b", p.transposes_b ? Shape{kColumns, kSummed} : Shape{kSummed, kColumns}, b_type, b);
  const Shape per_channel = p.is_per_column ? Shape{kColumns} : Shape{};
  floats("b_scale", per_channel, b_scale);
  bytes("b_zero", per_channel, b_type, b_zero);
  std::vector<std::string> operands = {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero"};
  const bool has_bias = p.bias != Shape{-1};
  const Integers bias =
      has_bias ? random(static_cast<size_t>(runtime::element_count(p.bias)), -5000, 5000) : Integers{};
  operands.push_back(has_bias ? "c" : "");
  if (has_bias) bytes("c", p.bias, TensorProto::INT32, bias);
  if (p.is_quantized) {
    floats("y_scale", {}, {y_scale});
    operands.push_back("y_scale");
    if (p.has_zero) {
      bytes("y_zero", {}, a_type, {y_zero});
      operands.push_back("y_zero");
    }
  }
  auto& gemm = node("QGemm", operands, {"y"});
  gemm.set_domain("com.microsoft");
  attr(gemm, "alpha", p.alpha);
  attr(gemm, "transA", int64_t{p.transposes_a});
  attr(gemm, "transB", int64_t{p.transposes_b});
  output("y");
  const std::vector<double> got = results(given);
  ASSERT_EQ(got.size(), static_cast<size_t>(kRows * kColumns));
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t n = 0; n < kColumns; ++n) {
      const auto channel = static_cast<size_t>(p.is_per_column ? n : 0);
      int64_t sum = 0;
      for (int64_t k = 0; k < kSummed; ++k) {
        const int64_t left = a[static_cast<size_t>(p.transposes_a ? k * kRows + m : m * kSummed + k)];
        const int64_t right = b[static_cast<size_t>(p.transposes_b ? n * kSummed + k : k * kColumns + n)];
        sum += (left - a_zero) * (right - b_zero[channel]);
      }
      if (has_bias) {
        const bool by_row = p.bias.size() == 2 && p.bias[0] > 1, by_column = !p.bias.empty() && p.bias.back() > 1;
        sum += bias[static_cast<size_t>((by_row ? m * p.bias[1] : 0) + (by_column ? n : 0))];
      }
      const double real = static_cast<double>(sum) * p.alpha * a_scale * b_scale[channel];
      const double value = got[static_cast<size_t>(m * kColumns + n)];
      if (p.is_quantized) {
        const double exact = real / y_scale + static_cast<double>(y_zero);
        const double want = std::clamp(std::nearbyint(exact), static_cast<double>(least), static_cast<double>(most));
        // Only a number in the middle between two may go to either.
        const bool is_middle = std::abs(std::abs(exact - std::trunc(exact)) - 0.5) < 1e-4;
        EXPECT_NEAR(value, want, is_middle ? 1 : 0) << m << " " << n;
      } else {
        EXPECT_NEAR(value, real, 1e-4 * std::max(1.0, std::abs(real))) << m << " " << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, QGemmTest,
    ::testing::Values(Product{.name = "Plain"}, Product{.name = "TransposedLeft", .transposes_a = true},
                      Product{.name = "TransposedRight", .transposes_b = true},
                      Product{.name = "BothTransposed", .transposes_a = true, .transposes_b = true},
                      Product{.name = "Alpha", .alpha = 0.25f}, Product{.name = "Signed", .is_signed = true},
                      Product{.name = "UnsignedBoth", .has_signed_b = false},
                      Product{.name = "PerColumn", .is_per_column = true},
                      Product{.name = "PerColumnTransposed", .transposes_b = true, .is_per_column = true},
                      Product{.name = "Bias", .bias = {4}}, Product{.name = "BiasOfRows", .bias = {3, 1}},
                      Product{.name = "BiasOfAll", .bias = {3, 4}}, Product{.name = "OneBias", .bias = {}},
                      Product{.name = "BiasAlphaPerColumn", .alpha = -1.5f, .is_per_column = true, .bias = {1, 4}},
                      Product{.name = "NoZero", .is_signed = true, .has_zero = false},
                      Product{.name = "Floats", .is_quantized = false},
                      Product{.name = "FloatsOfAll",
                              .transposes_b = true,
                              .alpha = 2,
                              .is_per_column = true,
                              .bias = {4},
                              .is_quantized = false}),
    [](const auto& product) { return product.param.name; });

TEST_F(QuantizedTablesTest, AQGemmOfWeightsIsAProductOfBytes) {
  input("a", {2, 3}, TensorProto::UINT8);
  for (const char* name : {"a_scale", "b_scale", "y_scale"}) floats(name, {}, {0.5f});
  for (const char* name : {"a_zero", "y_zero"}) bytes(name, {}, TensorProto::UINT8, {1});
  bytes("b_zero", {}, TensorProto::INT8, {0});
  bytes("b", {4, 3}, TensorProto::INT8, Integers(12, 2));
  auto& gemm = node("QGemm", {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "", "y_scale", "y_zero"}, {"y"});
  gemm.set_domain("com.microsoft");
  attr(gemm, "transB", int64_t{1});
  attr(gemm, "alpha", 0.5f);
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  ASSERT_EQ(imported->node_count(), 1u);
  EXPECT_EQ(imported->node(ir::NodeId(0)).op->name, "QLinearMatMul");
  gemm.set_input(7, "");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("the zero point of the result comes with its scale"), std::string::npos) << messages();
}

struct Table {
  std::string name;
  int element = TensorProto::UINT8;
  int64_t bits = 4;
  Shape shape = {5, 32};  ///< of the numbers
  int64_t block = 16;
  Shape indices = {3};
  bool has_zeros = true;
  int64_t gather_axis = 0, quantize_axis = 1;
};

std::ostream& operator<<(std::ostream& out, const Table& table) {
  return out << table.name;
}

class GatherBlockQuantizedTest : public QuantizedTablesTest, public ::testing::WithParamInterface<Table> {
 protected:
  /// Integers of which several lie in a byte, from the lowest bits up; each row of the last axis begins a byte.
  void packed(const std::string& name, const Shape& shape, const Integers& numbers, int64_t bits) {
    const int64_t per_byte = 8 / bits, row = shape.back(), row_bytes = (row + per_byte - 1) / per_byte;
    Shape bytes_shape = shape;
    bytes_shape.back() = row_bytes;
    Integers packed(static_cast<size_t>(runtime::element_count(bytes_shape)), 0);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      packed[static_cast<size_t>(at / row * row_bytes + at % row / per_byte)] |= numbers[i]
                                                                                 << (at % row % per_byte * bits);
    }
    bytes(name, bytes_shape, TensorProto::UINT8, packed);
  }
  /// Integers of a dtype of 4 bits, two to a byte.
  void halves(const std::string& name, const Shape& shape, int element, const Integers& numbers) {
    std::string raw((numbers.size() + 1) / 2, 0);
    for (size_t i = 0; i < numbers.size(); ++i)
      raw[i / 2] = static_cast<char>(raw[i / 2] | (numbers[i] & 15) << (i % 2 * 4));
    initializer(name, shape, element).set_raw_data(raw);
  }
  void add(const std::string& name, const Shape& shape, const Table& table, const Integers& numbers) {
    if (table.element == TensorProto::UINT8) return packed(name, shape, numbers, table.bits);
    halves(name, shape, table.element, numbers);
  }
};

TEST_P(GatherBlockQuantizedTest, EqualsItsDefinition) {
  const Table& t = GetParam();
  const auto rank = static_cast<int64_t>(t.shape.size());
  const auto gather = static_cast<size_t>((t.gather_axis + rank) % rank),
             quantize = static_cast<size_t>((t.quantize_axis + rank) % rank);
  const bool is_signed = t.element == kInt4;
  const int64_t least = is_signed ? -8 : 0, most = is_signed ? 7 : (int64_t{1} << t.bits) - 1;
  Shape blocks = t.shape;
  blocks[quantize] = (blocks[quantize] + t.block - 1) / t.block;
  const auto count = static_cast<size_t>(runtime::element_count(t.shape)),
             block_count = static_cast<size_t>(runtime::element_count(blocks));
  const Integers numbers = random(count, least, most), zeros = random(block_count, least, most);
  const std::vector<float> scales = random_scales(block_count);
  add("table", t.shape, t, numbers);
  floats("scales", blocks, scales);
  std::vector<std::string> operands = {"table", "at", "scales"};
  if (t.has_zeros) {
    add("zeros", blocks, t, zeros);
    operands.push_back("zeros");
  }
  // Every other index counts from the end.
  Tensor at(DType::I64, t.indices);
  for (int64_t i = 0; i < at.count(); ++i) {
    const int64_t index = (3 * i + 1) % t.shape[gather];
    at.as<int64_t>()[static_cast<size_t>(i)] = i % 2 == 0 ? index : index - t.shape[gather];
  }
  input("at", t.indices, TensorProto::INT64);
  auto& lookup = node("GatherBlockQuantized", operands, {"y"});
  lookup.set_domain("com.microsoft");
  attr(lookup, "bits", t.bits);
  attr(lookup, "block_size", t.block);
  attr(lookup, "gather_axis", t.gather_axis);
  attr(lookup, "quantize_axis", t.quantize_axis);
  output("y");
  const std::vector<double> got = results(at);

  // [outer, extent, inner] by indices => [outer, indices, inner]
  const int64_t extent = t.shape[gather], picked = at.count();
  const auto middle = t.shape.begin() + static_cast<std::ptrdiff_t>(gather);
  const int64_t outer = runtime::element_count(Shape(t.shape.begin(), middle)),
                inner = runtime::element_count(Shape(middle + 1, t.shape.end()));
  ASSERT_EQ(got.size(), static_cast<size_t>(outer * picked * inner));
  for (int64_t i = 0; i < outer * picked * inner; ++i) {
    int64_t index = at.as<int64_t>()[static_cast<size_t>(i / inner % picked)];
    if (index < 0) index += extent;
    const int64_t from = (i / (inner * picked) * extent + index) * inner + i % inner;
    // The block of this element.
    int64_t block = 0, rest = from;
    Integers place(t.shape.size());
    for (size_t d = t.shape.size(); d-- > 0; rest /= t.shape[d]) place[d] = rest % t.shape[d];
    for (size_t d = 0; d < place.size(); ++d)
      block = block * blocks[d] + (d == quantize ? place[d] / t.block : place[d]);
    int64_t zero = t.element == TensorProto::UINT8 ? int64_t{1} << (t.bits - 1) : 0;
    if (t.has_zeros) zero = zeros[static_cast<size_t>(block)];
    const double want =
        static_cast<double>(numbers[static_cast<size_t>(from)] - zero) * scales[static_cast<size_t>(block)];
    EXPECT_NEAR(got[static_cast<size_t>(i)], want, 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, GatherBlockQuantizedTest,
    ::testing::Values(
        Table{.name = "FourBits"}, Table{.name = "FourBitsWithoutZeros", .has_zeros = false},
        Table{.name = "EightBits", .bits = 8}, Table{.name = "EightBitsWithoutZeros", .bits = 8, .has_zeros = false},
        Table{.name = "TwoBits", .bits = 2}, Table{.name = "TwoBitsWithoutZeros", .bits = 2, .has_zeros = false},
        Table{.name = "AShortLastBlock", .shape = {4, 40}}, Table{.name = "BlocksInOddNumber", .shape = {4, 48}},
        Table{.name = "OneBlock", .block = 32}, Table{.name = "OneIndex", .indices = {}},
        Table{.name = "IndicesOfTwoAxes", .indices = {2, 3}},
        Table{.name = "ThreeAxes", .shape = {3, 2, 32}, .quantize_axis = -1},
        Table{.name = "AMiddleAxis", .shape = {2, 4, 32}, .gather_axis = 1, .quantize_axis = 2},
        Table{.name = "EightBitsAlongTheFirstAxis", .bits = 8, .shape = {20, 3}, .gather_axis = 1, .quantize_axis = 0},
        Table{.name = "EightBitsAlongTheGatheredAxis", .bits = 8, .shape = {20, 3}, .quantize_axis = 0},
        Table{.name = "UnsignedHalves", .element = kUInt4},
        Table{.name = "SignedHalves", .element = kInt4, .has_zeros = false},
        Table{.name = "SignedHalvesWithZeros", .element = kInt4, .shape = {3, 24}, .indices = {2, 2}},
        Table{.name = "HalvesAlongTheFirstAxis",
              .element = kInt4,
              .shape = {33, 4},
              .gather_axis = -1,
              .quantize_axis = 0},
        Table{.name = "HalvesAlongTheGatheredAxis", .element = kUInt4, .shape = {33, 2}, .quantize_axis = 0}),
    [](const auto& table) { return table.param.name; });

TEST_F(QuantizedTablesTest, TablesThatDoNotFitAreReported) {
  input("at", {1}, TensorProto::INT64);
  bytes("table", {2, 8}, TensorProto::UINT8, Integers(16, 0));
  floats("scales", {2, 1}, {1, 1});
  auto& lookup = node("GatherBlockQuantized", {"table", "at", "scales"}, {"y"});
  lookup.set_domain("com.microsoft");
  output("y");
  attr(lookup, "block_size", int64_t{16});
  attr(lookup, "quantize_axis", int64_t{0});
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("bytes of several numbers are quantised along the last axis"), std::string::npos)
      << messages();
  lookup.mutable_attribute(1)->set_i(2);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("`quantize_axis` = 2 does not fit rank 2"), std::string::npos) << messages();
  lookup.mutable_attribute(1)->set_i(1);
  attr(lookup, "bits", int64_t{3});
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("numbers of 3 bits"), std::string::npos) << messages();
  lookup.mutable_attribute(2)->set_i(4);
  EXPECT_TRUE(import_model()) << messages();
}

}  // namespace
}  // namespace collage::import
