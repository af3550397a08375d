// SPDX-License-Identifier: Apache-2.0
// Caches of keys and values in every layout, against loops over what the operators say: those that grow, those with
// room for more, sequences of different lengths, one new position and several.
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

constexpr int64_t kSequences = 2, kHeadSize = 2;

enum class Operator { GroupQuery, MultiHead, Projected, Standard };

struct Cache {
  std::string name;
  Operator op = Operator::GroupQuery;
  int64_t length = 1;  ///< new positions
  int64_t past = 0;    ///< rows that the cache has
  int64_t total = 0;   ///< GroupQuery: the operand of that name
  std::vector<int64_t> starts = {0, 0};
  int64_t heads = 2, kv_heads = 2;
  bool is_causal = true;
  int64_t window = 0;

  int64_t capacity() const { return op == Operator::GroupQuery ? std::max(past, total) : past; }
};

std::ostream& operator<<(std::ostream& out, const Cache& cache) {
  return out << cache.name;
}

/// [batch, length, heads * size]  =>  [batch, heads, length, size]
Tensor by_heads(const Tensor& flat, int64_t heads) {
  const int64_t batch = flat.shape()[0], length = flat.shape()[1], size = flat.shape()[2] / heads;
  Tensor deep(DType::F32, {batch, heads, length, size});
  auto to = deep.as<float>();
  auto from = flat.as<float>();
  for (int64_t i = 0; i < flat.count(); ++i) {
    const int64_t d = i % size, h = i / size % heads, t = i / (size * heads) % length, b = i / (size * heads * length);
    to[static_cast<size_t>(((b * heads + h) * length + t) * size + d)] = from[static_cast<size_t>(i)];
  }
  return deep;
}

class CachesTest : public ImportTest, public ::testing::WithParamInterface<Cache> {
 protected:
  Tensor random(const Shape& shape) {
    Tensor tensor(DType::F32, shape);
    for (float& x : tensor.as<float>()) x = std::uniform_real_distribution<float>(-1, 1)(random_);
    return tensor;
  }
  void add(const std::string& name, const Tensor& value, int element = TensorProto::FLOAT) {
    input(name, value.shape(), element);
    inputs_.push_back(value);
  }
  static Tensor numbers(const Shape& shape, const std::vector<int64_t>& values) {
    Tensor tensor(DType::I32, shape);
    std::copy(values.begin(), values.end(), tensor.as<int32_t>().begin());
    return tensor;
  }
  onnx::NodeProto& microsoft(const std::string& op, const std::vector<std::string>& operands,
                             const std::vector<std::string>& results) {
    onnx::NodeProto& added = node(op, operands, results);
    added.set_domain("com.microsoft");
    return added;
  }

  /// Adds the node, which reads q, k and v and the caches, and gives y and the caches pk and pv of the next step.
  void build(const Cache& cache, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& past_k,
             const Tensor& past_v) {
    const std::vector<std::string> results = {"y", "pk", "pv"};
    if (cache.op == Operator::GroupQuery) {
      add("q", q);
      add("k", k);
      add("v", v);
      add("past_k", past_k);
      add("past_v", past_v);
      std::vector<int64_t> last = cache.starts;
      for (int64_t& each : last) each += cache.length - 1;
      add("last", numbers({kSequences}, last), TensorProto::INT32);
      initializer("total", {}, TensorProto::INT32).add_int32_data(static_cast<int32_t>(cache.total));
      auto& attention = microsoft("GroupQueryAttention", {"q", "k", "v", "past_k", "past_v", "last", "total"}, results);
      attr(attention, "num_heads", cache.heads);
      attr(attention, "kv_num_heads", cache.kv_heads);
      if (cache.window > 0) attr(attention, "local_window_size", cache.window);
    } else if (cache.op == Operator::MultiHead) {
      add("q", q);
      add("k", k);
      add("v", v);
      add("past_k", past_k);
      add("past_v", past_v);
      add("start", numbers({1}, {cache.starts[0]}), TensorProto::INT32);
      auto& attention =
          microsoft("MultiHeadAttention", {"q", "k", "v", "", "", "", "past_k", "past_v", "start"}, results);
      attr(attention, "num_heads", cache.heads);
      attr(attention, "unidirectional", int64_t{cache.is_causal});
    } else if (cache.op == Operator::Projected) {
      // The projection hands on queries, keys and values as they are.
      const int64_t width = q.shape()[2], all = 3 * width;
      Tensor x(DType::F32, {kSequences, cache.length, all}),
          past(DType::F32, {2, kSequences, cache.heads, cache.past, kHeadSize});
      for (int64_t i = 0; i < x.count(); ++i) {
        const Tensor& part = i % all / width == 0 ? q : i % all / width == 1 ? k : v;
        x.as<float>()[static_cast<size_t>(i)] = part.as<float>()[static_cast<size_t>(i / all * width + i % width)];
      }
      std::copy(past_k.as<float>().begin(), past_k.as<float>().end(), past.as<float>().begin());
      std::copy(past_v.as<float>().begin(), past_v.as<float>().end(), past.as<float>().begin() + past_k.count());
      std::vector<float> identity(static_cast<size_t>(all * all), 0);
      for (int64_t i = 0; i < all; ++i) identity[static_cast<size_t>(i * all + i)] = 1;
      add("x", x);
      add("past", past);
      add("start", numbers({1}, {cache.starts[0]}), TensorProto::INT32);
      floats("w", {all, all}, identity);
      auto& attention = microsoft("Attention", {"x", "w", "", "", "past", "", "start"}, {"y", "present"});
      attr(attention, "num_heads", cache.heads);
      attr(attention, "unidirectional", int64_t{cache.is_causal});
      attr(attention, "past_present_share_buffer", int64_t{1});
      initializer("axis", {1}, TensorProto::INT64).add_int64_data(0);
      attr(node("Split", {"present"}, {"pk1", "pv1"}), "axis", int64_t{0});
      node("Squeeze", {"pk1", "axis"}, {"pk"});
      node("Squeeze", {"pv1", "axis"}, {"pv"});
    } else {
      add("q", by_heads(q, cache.heads));
      add("k", by_heads(k, cache.kv_heads));
      add("v", by_heads(v, cache.kv_heads));
      add("past_k", past_k);
      add("past_v", past_v);
      Tensor starts(DType::I64, {kSequences}), counts(DType::I64, {kSequences});
      for (size_t b = 0; b < cache.starts.size(); ++b) {
        starts.as<int64_t>()[b] = cache.starts[b];
        counts.as<int64_t>()[b] = cache.starts[b] + cache.length;
      }
      add("starts", starts, TensorProto::INT64);
      add("counts", counts, TensorProto::INT64);
      set_opset(24);
      node("TensorScatter", {"past_k", "k", "starts"}, {"pk"});
      node("TensorScatter", {"past_v", "v", "starts"}, {"pv"});
      auto& attention = node("Attention", {"q", "pk", "pv", "", "", "", "counts"}, {"y4"});
      attr(attention, "is_causal", int64_t{cache.is_causal});
      attr(node("Transpose", {"y4"}, {"yt"}), "perm", std::vector<int64_t>{0, 2, 1, 3});
      TensorProto& flat = initializer("flat", {3}, TensorProto::INT64);
      for (int64_t dim : {kSequences, cache.length, cache.heads * kHeadSize}) flat.add_int64_data(dim);
      node("Reshape", {"yt", "flat"}, {"y"});
    }
    for (const std::string& name : results) output(name);
  }

  std::mt19937 random_{11};
  std::vector<Tensor> inputs_;
};

TEST_P(CachesTest, NewRowsStandWhereTheSequenceEnds) {
  const Cache cache = GetParam();
  const int64_t kv = cache.kv_heads * kHeadSize, length = cache.length, capacity = cache.capacity();
  const Tensor q = random({kSequences, length, cache.heads * kHeadSize}), k = random({kSequences, length, kv}),
               v = random({kSequences, length, kv});
  const Tensor past_k = random({kSequences, cache.kv_heads, cache.past, kHeadSize}),
               past_v = random({kSequences, cache.kv_heads, cache.past, kHeadSize});
  build(cache, q, k, v, past_k, past_v);
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  auto outputs = ir::evaluate_graph(*imported, inputs_);
  ASSERT_TRUE(outputs.is_ok()) << outputs.message();
  const Tensor new_k = by_heads(k, cache.kv_heads), new_v = by_heads(v, cache.kv_heads),
               queries = by_heads(q, cache.heads), y = by_heads((*outputs)[0], cache.heads);
  const auto at = [](const Tensor& tensor, int64_t b, int64_t h, int64_t row, int64_t d) -> double {
    const Shape& shape = tensor.shape();
    return tensor.as<float>()[static_cast<size_t>(((b * shape[1] + h) * shape[2] + row) * shape[3] + d)];
  };
  /// Row j of the cache of the next step; NaN where it is open.
  const auto row = [&](const Tensor& past, const Tensor& fresh, int64_t b, int64_t h, int64_t j, int64_t d) {
    const int64_t start = cache.starts[static_cast<size_t>(b)];
    if (j >= start && j < start + length) return at(fresh, b, h, j - start, d);
    return j < cache.past ? at(past, b, h, j, d) : std::nan("");
  };
  for (size_t i : {size_t{1}, size_t{2}}) {
    const Tensor& present = (*outputs)[i];
    ASSERT_EQ(present.shape(), (Shape{kSequences, cache.kv_heads, capacity, kHeadSize}));
    for (int64_t b = 0; b < kSequences; ++b) {
      for (int64_t h = 0; h < cache.kv_heads; ++h) {
        for (int64_t j = 0; j < capacity * kHeadSize; ++j) {
          const int64_t d = j % kHeadSize;
          const double want = row(i == 1 ? past_k : past_v, i == 1 ? new_k : new_v, b, h, j / kHeadSize, d);
          if (std::isnan(want)) continue;
          EXPECT_EQ(at(present, b, h, j / kHeadSize, d), want) << "sequence " << b << " row " << j / kHeadSize;
        }
      }
    }
  }
  for (int64_t b = 0; b < kSequences; ++b) {
    const int64_t start = cache.starts[static_cast<size_t>(b)];
    for (int64_t h = 0; h < cache.heads; ++h) {
      const int64_t g = h / (cache.heads / cache.kv_heads);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t end = cache.is_causal ? start + i + 1 : start + length;
        const int64_t begin = cache.window > 0 ? std::max<int64_t>(0, end - cache.window) : 0;
        double sum = 0;
        std::vector<double> weights;
        for (int64_t j = begin; j < end; ++j) {
          double score = 0;
          for (int64_t d = 0; d < kHeadSize; ++d) score += at(queries, b, h, i, d) * row(past_k, new_k, b, g, j, d);
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kHeadSize))));
          sum += weights.back();
        }
        for (int64_t d = 0; d < kHeadSize; ++d) {
          double want = 0;
          for (int64_t j = begin; j < end; ++j)
            want += weights[static_cast<size_t>(j - begin)] / sum * row(past_v, new_v, b, g, j, d);
          EXPECT_NEAR(at(y, b, h, i, d), want, 1e-5) << "sequence " << b << " head " << h << " query " << i;
        }
      }
    }
  }
}

std::vector<Cache> caches() {
  using enum Operator;
  return {
      {.name = "Grows", .past = 4, .total = 5, .starts = {4, 4}},
      {.name = "HasRoom", .past = 8, .total = 5, .starts = {4, 4}},
      {.name = "IsFull", .past = 5, .total = 5, .starts = {4, 4}},
      {.name = "GrowsWithShorterSequences", .past = 4, .total = 5, .starts = {4, 2}},
      {.name = "HasRoomAndShorterSequences", .past = 8, .total = 5, .starts = {1, 4}},
      {.name = "IsFullOfShorterSequences", .past = 5, .total = 5, .starts = {4, 0}},
      {.name = "GrowsBySeveral", .length = 3, .past = 4, .total = 7, .starts = {4, 4}},
      {.name = "HasRoomForSeveral", .length = 3, .past = 8, .total = 7, .starts = {4, 4}},
      {.name = "HasRoomForSomeOfSeveral", .length = 3, .past = 5, .total = 7, .starts = {4, 4}},
      {.name = "SeveralOfShorterSequences", .length = 3, .past = 8, .total = 7, .starts = {4, 1}},
      {.name = "SeveralGrowShorterSequences", .length = 2, .past = 4, .total = 6, .starts = {2, 4}},
      {.name = "PromptIntoRoom", .length = 3, .past = 8, .total = 3},
      {.name = "FirstIntoRoom", .past = 8, .total = 1},
      {.name = "PromptFills", .length = 4, .past = 4, .total = 4},
      {.name = "GrowsByMoreThanIsNew", .past = 4, .total = 6, .starts = {4, 4}},
      {.name = "HasRoomOfGroups", .past = 6, .total = 4, .starts = {3, 2}, .heads = 4},
      {.name = "GrowsInOneGroup", .length = 2, .past = 3, .total = 5, .starts = {3, 3}, .heads = 3, .kv_heads = 1},
      {.name = "WindowInRoom", .past = 8, .total = 6, .starts = {5, 3}, .window = 2},
      {.name = "WindowOfSeveral", .length = 2, .past = 6, .total = 6, .starts = {4, 2}, .window = 3},
      {.name = "MultiHead", .op = MultiHead, .past = 6, .starts = {3, 3}, .is_causal = false},
      {.name = "MultiHeadCausal", .op = MultiHead, .length = 2, .past = 6, .starts = {3, 3}},
      {.name = "MultiHeadSeveral", .op = MultiHead, .length = 2, .past = 6, .starts = {2, 2}, .is_causal = false},
      {.name = "MultiHeadPrompt", .op = MultiHead, .length = 3, .past = 5},
      {.name = "MultiHeadFull", .op = MultiHead, .past = 4, .starts = {3, 3}},
      {.name = "Projected", .op = Projected, .past = 6, .starts = {3, 3}, .is_causal = false},
      {.name = "ProjectedCausal", .op = Projected, .length = 2, .past = 6, .starts = {3, 3}},
      {.name = "ProjectedPrompt", .op = Projected, .length = 3, .past = 5},
      {.name = "Standard", .op = Standard, .past = 6, .starts = {3, 1}, .is_causal = false},
      {.name = "StandardCausal", .op = Standard, .length = 2, .past = 6, .starts = {3, 1}},
      {.name = "StandardGroups", .op = Standard, .length = 2, .past = 5, .starts = {3, 0}, .heads = 4},
  };
}

INSTANTIATE_TEST_SUITE_P(Layouts, CachesTest, ::testing::ValuesIn(caches()),
                         [](const auto& cache) { return cache.param.name; });

class CacheErrorsTest : public ImportTest {
 protected:
  onnx::NodeProto& group_query(const Shape& past) {
    for (const char* name : {"q", "k", "v"}) input(name, {1, 1, 2});
    for (const char* name : {"pk", "pv"}) input(name, past);
    input("last", {1}, TensorProto::INT32);
    auto& attention =
        node("GroupQueryAttention", {"q", "k", "v", "pk", "pv", "last", "total"}, {"y", "present_k", "present_v"});
    attention.set_domain("com.microsoft");
    for (const char* name : {"num_heads", "kv_num_heads"}) attr(attention, name, int64_t{1});
    for (const char* name : {"y", "present_k", "present_v"}) output(name);
    return attention;
  }
};

// How long the caches get is a shape: a total length that is given when the model is specialised serves, too.
TEST_F(CacheErrorsTest, ATotalLengthOfTheRunIsBound) {
  group_query({1, 1, 8, 2});
  input("total", {}, TensorProto::INT32);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("the total length of GroupQueryAttention, which its caches grow to, must be constant"),
            std::string::npos)
      << messages();
  OnnxOptions options;
  options.bound_inputs["total"] = Tensor(DType::I32, {});
  options.bound_inputs["total"].as<int32_t>()[0] = 5;
  auto imported = import_model(options);
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->outputs()[1]).type.shape, (Shape{1, 1, 8, 2}));
}

TEST_F(CacheErrorsTest, CachesThatDoNotFitAreReported) {
  group_query({1, 1, 8, 3});
  initializer("total", {}, TensorProto::INT32).add_int32_data(5);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("[1, 1, 1, 2] does not fit past keys or values of [1, 1, 8, 3]"), std::string::npos)
      << messages();
  graph().mutable_initializer(0)->set_int32_data(0, -1);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("the total length is not one length"), std::string::npos) << messages();
}

TEST_F(CacheErrorsTest, ASharedBufferHasALength) {
  input("x", {1, 1, 6});
  floats("w", {6, 6}, std::vector<float>(36, 0));
  floats("past", {2, 1, 1, 4, 2}, std::vector<float>(16, 0));
  auto& attention = node("Attention", {"x", "w", "", "", "past"}, {"y"});
  attention.set_domain("com.microsoft");
  attr(attention, "num_heads", int64_t{1});
  attr(attention, "past_present_share_buffer", int64_t{1});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("a shared buffer comes with the length of the past"), std::string::npos) << messages();
}

// A mask reaches the keys that there are; what lies behind them in the buffer is not attended anyway.
TEST_F(CacheErrorsTest, AMaskIsShorterThanTheBuffer) {
  for (const char* name : {"q", "k"}) input(name, {1, 1, 1});
  floats("v", {1, 1, 1}, {30});
  floats("pk", {1, 1, 4, 1}, {0, 0, 0, 0});
  floats("pv", {1, 1, 4, 1}, {10, 20, 7, 7});
  initializer("start", {1}, TensorProto::INT32).add_int32_data(2);
  TensorProto& mask = initializer("mask", {1, 3}, TensorProto::INT32);
  for (int keeps : {0, 1, 0}) mask.add_int32_data(keeps);
  auto& attention = node("MultiHeadAttention", {"q", "k", "v", "", "mask", "", "pk", "pv", "start"}, {"y"});
  attention.set_domain("com.microsoft");
  attr(attention, "num_heads", int64_t{1});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{20}));
}

}  // namespace
}  // namespace collage::import
