// SPDX-License-Identifier: Apache-2.0
// Nodes cut into parts: what the parts compute, put side by side, is what the whole computes.
#include "compiler/ir/placement/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/verify.h"
#include "runtime/core/random.h"

namespace collage::testing {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::SplitAxis;
using ir::Tensor;
using ir::ValueId;
using runtime::Ints;

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  Ints picks(size_t count, int64_t low, int64_t high) {
    Ints list;
    for (size_t i = 0; i < count; ++i) list.push_back(pick(low, high));
    return list;
  }

  Tensor data(const ir::Shape& shape) {
    Tensor tensor(ir::DType::F32, shape);
    for (float& value : tensor.as<float>()) value = std::uniform_real_distribution<float>(-1, 1)(random_);
    return tensor;
  }
  ValueId input(const std::string& name, const ir::Shape& shape) {
    inputs_.push_back(data(shape));
    return graph.add_input(name, {ir::DType::F32, shape});
  }
  ValueId input(const std::string& name, const ir::TensorType& type, int64_t low, int64_t high) {
    const auto from = static_cast<double>(low), to = static_cast<double>(high);
    inputs_.push_back(runtime::random_tensor(type.dtype, type.shape, random_(), from, to));
    return graph.add_input(name, type);
  }
  ValueId constant(const std::string& name, const ir::Shape& shape) {
    ir::Constant constant;
    constant.data = data(shape);
    return graph.add_constant(name, std::move(constant));
  }
  ValueId list(const std::string& name, const Ints& numbers) {
    ir::Constant constant;
    constant.data = Tensor(ir::DType::I64, {static_cast<int64_t>(numbers.size())});
    std::copy(numbers.begin(), numbers.end(), constant.data.as<int64_t>().begin());
    return graph.add_constant(name, std::move(constant));
  }
  /// An invalid id where the shapes do not fit.
  ValueId add(const std::string& op, std::vector<ValueId> operands, const std::string& result,
              std::vector<std::pair<std::string, runtime::AttrValue>> attrs = {}) {
    return add_all(op, std::move(operands), {result}, std::move(attrs)).front();
  }
  /// All results; an invalid id where the shapes do not fit.
  std::vector<ValueId> add_all(const std::string& op, std::vector<ValueId> operands, std::vector<std::string> results,
                               std::vector<std::pair<std::string, runtime::AttrValue>> attrs = {}) {
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    runtime::AttrMap map;
    for (auto& [name, value] : attrs) map.set(name, value);
    NodeId node = ir::append_inferred(graph, *ir::find_op(op), std::move(operands), map, std::move(results), {}, diags);
    return node.is_valid() ? graph.node(node).outputs : std::vector<ValueId>{ValueId()};
  }

  /// How many parts came out: 0 and `why` where the nodes cannot be cut so. Their results are compared.
  size_t check(SplitAxis axis, int count, NodeId at = NodeId(0)) {
    std::vector<NodeId> nodes = graph.node_ids();
    const auto split = ir::split_nodes(graph, nodes, at, axis, count);
    why = split ? "" : split.message();
    if (!split) return 0;
    const std::vector<ir::SplitPart>& parts = *split;
    auto whole = ir::evaluate_graph(graph, inputs_);
    EXPECT_TRUE(whole) << whole.message();
    if (!whole) return 0;
    const size_t results = parts[0].results.size();
    std::vector<Tensor> joined;
    for (size_t r = 0; r < results; ++r)
      joined.emplace_back(expected(parts, r, *whole).dtype(), expected(parts, r, *whole).shape());
    std::vector<int64_t> ends(results);
    for (const ir::SplitPart& part : parts) {
      ir::verify(part.graph);
      std::vector<Tensor> operands;
      for (const auto& [value, slice] : part.reads) {
        auto index = std::find(graph.inputs().begin(), graph.inputs().end(), value) - graph.inputs().begin();
        operands.push_back(ir::slice_of(inputs_[static_cast<size_t>(index)], slice));
      }
      auto made = ir::evaluate_graph(part.graph, operands);
      EXPECT_TRUE(made) << made.message();
      if (!made) return 0;
      for (size_t r = 0; r < results; ++r) {
        const ir::Slice& slice = part.results[r].second;
        EXPECT_EQ(slice.begin, ends[r]);
        ends[r] = slice.end;
        put((*made)[r], slice, &joined[r]);
      }
    }
    for (size_t r = 0; r < results; ++r) {
      EXPECT_EQ(ends[r], joined[r].shape()[static_cast<size_t>(parts[0].results[r].second.axis)]);
      EXPECT_TRUE(runtime::identical(joined[r], expected(parts, r, *whole))) << graph.node(NodeId(0)).op->name;
    }
    return parts.size();
  }

  Graph graph;
  std::string why;

 private:
  /// Result `r` of the parts, as the whole graph computes it.
  const Tensor& expected(const std::vector<ir::SplitPart>& parts, size_t r, const std::vector<Tensor>& whole) const {
    const ValueId value = parts[0].results[r].first;
    const auto index = std::find(graph.outputs().begin(), graph.outputs().end(), value) - graph.outputs().begin();
    return whole[static_cast<size_t>(index)];
  }

  /// The inverse of slice_of.
  static void put(const Tensor& part, const ir::Slice& slice, Tensor* whole) {
    std::vector<int64_t> strides = runtime::row_major_strides(whole->shape());
    std::vector<int64_t> inner = runtime::row_major_strides(part.shape());
    for (int64_t i = 0; i < part.count(); ++i) {
      int64_t to = slice.begin * strides[static_cast<size_t>(slice.axis)];
      for (size_t d = 0; d < strides.size(); ++d) to += i / inner[d] % part.shape()[d] * strides[d];
      size_t bytes = size_of(part.dtype());
      std::memcpy(whole->data() + static_cast<size_t>(to) * bytes, part.data() + static_cast<size_t>(i) * bytes, bytes);
    }
  }

  std::mt19937_64 random_;
  std::vector<Tensor> inputs_;
};

TEST(Slices, OfSeveralRanges) {
  Model m(1);
  const ir::Shape shape{3, 7, 2};
  const Tensor whole = m.data(shape);
  const ir::Slice slice = ir::slice_of_ranges(1, {{0, 0}, {0, 1}, {1, 2}, {3, 4}, {6, 7}});
  EXPECT_EQ(slice, (ir::Slice{1, 0, 2, {{3, 4}, {6, 7}}}));
  EXPECT_EQ(slice.extent(), 4);
  EXPECT_FALSE(ir::is_view({ir::DType::F32, shape}, slice));
  const Tensor cut = ir::slice_of(whole, slice);
  ASSERT_EQ(cut.shape(), (ir::Shape{3, 4, 2}));
  const int64_t rows[] = {0, 1, 3, 6};
  for (int64_t i = 0; i < cut.count(); ++i) {
    const int64_t from = (i / 8 * 7 + rows[i / 2 % 4]) * 2 + i % 2;
    EXPECT_EQ(cut.as<float>()[static_cast<size_t>(i)], whole.as<float>()[static_cast<size_t>(from)]) << i;
  }
  // Elements from the middle of one range to the middle of another.
  std::vector<float> some(3);
  ir::slice_of(runtime::late_random_tensor(ir::DType::F32, shape, 5), slice)
      .read(3, {reinterpret_cast<std::byte*>(some.data()), 3 * sizeof(float)});
  const Tensor made = ir::slice_of(runtime::random_tensor(ir::DType::F32, shape, 5), slice);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(some[i], made.as<float>()[i + 3]);
}

TEST(Slices, OfElementsThatAreNotMadeAreMadeAlone) {
  const ir::Shape shape{6, 5, 8};
  const Tensor late = runtime::late_random_tensor(ir::DType::F16, shape, 3);
  const Tensor at_once = runtime::random_tensor(ir::DType::F16, shape, 3);
  for (const ir::Slice& slice : {ir::Slice{0, 2, 5}, ir::Slice{1, 1, 4}, ir::Slice{2, 3, 8}, ir::Slice{1, 2, 2}}) {
    const Tensor part = ir::slice_of(late, slice), expected = ir::slice_of(at_once, slice);
    EXPECT_TRUE(runtime::identical(part, expected)) << slice.axis;
    EXPECT_TRUE(runtime::identical(part, ir::slice_of(late, slice)));
    if (expected.bytes() > 0) {
      EXPECT_EQ(std::memcmp(part.data(), expected.data(), expected.bytes()), 0);
    }
  }
  EXPECT_FALSE(runtime::identical(ir::slice_of(late, {0, 0, 3}), ir::slice_of(late, {0, 3, 6})));
  EXPECT_FALSE(late.is_made());
}

constexpr SplitAxis kAxes[] = {SplitAxis::Batch, SplitAxis::Channels, SplitAxis::Rows};

TEST(SplitNodes, RandomConvolutionsAndWhatFollows) {
  size_t cut = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Model m(seed);
    int64_t group = m.pick(0, 2) == 0 ? m.pick(2, 4) : 1;
    int64_t inside = m.pick(1, 3);
    int64_t outside = m.pick(1, 4);
    ir::Shape kernel = m.picks(2, 1, 4);
    ValueId x = m.input("x", {m.pick(1, 4), group * inside, m.pick(3, 13), m.pick(3, 9)});
    ValueId w = m.constant("w", {group * outside, inside, kernel[0], kernel[1]});
    ValueId b = m.constant("b", {group * outside});
    std::vector<std::pair<std::string, runtime::AttrValue>> attrs = {
        {"group", group}, {"strides", m.picks(2, 1, 3)}, {"dilations", m.picks(2, 1, 2)}};
    if (m.pick(0, 3) == 0)
      attrs.emplace_back("auto_pad", std::string(m.pick(0, 1) == 0 ? "SAME_UPPER" : "SAME_LOWER"));
    else
      attrs.emplace_back("pads", m.picks(4, 0, 3));
    ValueId c = m.add("Conv", {x, w, m.pick(0, 1) == 0 ? b : ValueId()}, "c", attrs);
    if (!c.is_valid()) continue;
    if (m.pick(0, 1) == 0) {
      ir::Shape shape = m.graph.value(c).type.shape;
      for (int64_t& extent : shape) extent = m.pick(0, 2) == 0 ? 1 : extent;
      c = m.add("Add", {c, m.input("r", shape)}, "s");
    }
    if (m.pick(0, 1) == 0) c = m.add("Relu", {c}, "y");
    m.graph.mark_output(c);
    cut += m.check(kAxes[seed % 3], static_cast<int>(m.pick(2, 4))) > 0 ? 1 : 0;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(cut, 150u);
}

TEST(SplitNodes, RandomPools) {
  size_t cut = 0;
  const std::string ops[] = {"MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"};
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Model m(seed);
    const std::string& op = ops[seed % 5];
    ValueId x = m.input("x", {m.pick(1, 4), m.pick(1, 5), m.pick(4, 13), m.pick(4, 9)});
    std::vector<std::pair<std::string, runtime::AttrValue>> attrs;
    if (!op.starts_with("Global")) {
      Ints kernel = m.picks(2, 1, 4);
      attrs = {{"kernel_shape", kernel}, {"strides", m.picks(2, 1, 3)}, {"pads", m.picks(4, 0, 1)}};
      if (op != "LpPool" && m.pick(0, 1) == 0) attrs.emplace_back("dilations", m.picks(2, 1, 2));
      if (op == "AveragePool") attrs.emplace_back("count_include_pad", m.pick(0, 1));
    }
    ValueId y = m.add(op, {x}, "y", attrs);
    if (!y.is_valid()) continue;
    m.graph.mark_output(y);
    cut += m.check(kAxes[m.pick(0, 2)], static_cast<int>(m.pick(2, 4))) > 0 ? 1 : 0;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(cut, 100u);
}

/// Attributes without which the operator has no meaning.
std::vector<std::pair<std::string, runtime::AttrValue>> attributes_of(const ir::OpDef& op, ir::DType dtype) {
  if (op.name == "BitShift") return {{"direction", std::string("LEFT")}};
  if (op.name == "Cast") return {{"to", int64_t{11}}};
  if (op.name == "BitCast") return {{"to", int64_t{dtype == ir::DType::F32 ? 6 : 1}}};
  if (op.name == "Mod" && runtime::is_float(dtype)) return {{"fmod", int64_t{1}}};
  return {};
}

TEST(SplitNodes, EveryPointwiseOperator) {
  const ir::DType dtypes[] = {ir::DType::F32, ir::DType::I32, ir::DType::U8, ir::DType::Bool};
  for (const ir::OpDef* op : ir::all_ops()) {
    if (!op->is_pointwise) continue;
    size_t cut = 0;
    for (ir::DType dtype : dtypes) {
      Model m(1);
      const int operands = op->max_inputs == ir::OpDef::kVariadic ? 3 : op->max_inputs;
      const bool is_clip = op->name == "Clip";
      const ir::Shape shapes[] = {
          {4, 3, 6}, is_clip ? ir::Shape{} : ir::Shape{3, 1}, is_clip ? ir::Shape{} : ir::Shape{6}};
      std::vector<ValueId> inputs;
      for (int i = 0; i < operands; ++i) {
        const bool chooses = op->name == "Where" && i == 0;
        const ir::DType own = chooses ? ir::DType::Bool : dtype;
        inputs.push_back(m.input("x" + std::to_string(i), {own, shapes[i]}, own == ir::DType::Bool ? 0 : 1,
                                 own == ir::DType::Bool ? 2 : 5));
      }
      const ValueId y = m.add(std::string(op->name), inputs, "y", attributes_of(*op, dtype));
      if (!y.is_valid()) continue;
      m.graph.mark_output(y);
      EXPECT_EQ(m.check(SplitAxis::Batch, 2), 2u) << op->name << ": " << m.why;
      EXPECT_EQ(m.check(SplitAxis::Channels, 3), 3u) << op->name << ": " << m.why;
      EXPECT_EQ(m.check(SplitAxis::Rows, 4), 4u) << op->name << ": " << m.why;
      ++cut;
    }
    EXPECT_GT(cut, 0u) << op->name;
  }
}

// A new operator of these kinds is point-wise, or stands here.
TEST(SplitNodes, OperatorsThatAreNotPointwise) {
  std::vector<std::string> others;
  for (const ir::OpDef* op : ir::all_ops()) {
    const bool may_be = op->kind == ir::FusionKind::Elementwise || op->kind == ir::FusionKind::Broadcast;
    EXPECT_TRUE(may_be || !op->is_pointwise) << op->name;
    if (may_be && !op->is_pointwise) others.emplace_back(op->name);
  }
  EXPECT_EQ(others,
            (std::vector<std::string>{"BatchNormalization", "CastLike", "ConstantOfShape", "DequantizeLinear",
                                      "Dropout", "Expand", "EyeLike", "QuantizeLinear", "Tile", "Trilu", "Unsqueeze"}));
  for (const char* name : {"CastLike", "Dropout"}) {
    Model m(1);
    std::vector<ValueId> inputs = {m.input("x", {4, 3, 6})};
    if (name == std::string("CastLike")) inputs.push_back(m.input("like", {ir::DType::I32, {5}}, 0, 3));
    m.graph.mark_output(m.add(name, inputs, "y"));
    EXPECT_EQ(m.check(SplitAxis::Rows, 3), 3u) << m.why;
  }
}

TEST(SplitNodes, RandomProducts) {
  size_t cut = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Model m(seed);
    int64_t rows = m.pick(1, 7), inner = m.pick(1, 5), columns = m.pick(1, 7);
    ValueId c;
    if (m.pick(0, 1) == 0) {
      bool by_rows = m.pick(0, 1) == 0, by_columns = m.pick(0, 1) == 0;
      ValueId a = m.input("a", by_rows ? ir::Shape{inner, rows} : ir::Shape{rows, inner});
      ValueId b = m.constant("b", by_columns ? ir::Shape{columns, inner} : ir::Shape{inner, columns});
      const ir::Shape addends[] = {{}, {columns}, {rows, 1}, {1, columns}, {rows, columns}};
      ValueId addend = m.constant("k", addends[m.pick(0, 4)]);
      c = m.add("Gemm", {a, b, addend}, "c",
                {{"transA", int64_t{by_rows}}, {"transB", int64_t{by_columns}}, {"alpha", 0.5}, {"beta", 2.0}});
    } else {
      ir::Shape batch = m.picks(static_cast<size_t>(m.pick(0, 2)), 1, 4);
      ir::Shape left = batch, right = m.pick(0, 1) == 0 ? batch : ir::Shape();
      left.insert(left.end(), {rows, inner});
      right.insert(right.end(), {inner, columns});
      if (!batch.empty() && m.pick(0, 2) == 0) left[0] = 1;
      c = m.add("MatMul", {m.input("a", left), m.input("b", right)}, "c");
    }
    if (!c.is_valid()) continue;
    if (m.pick(0, 1) == 0) c = m.add("Mul", {c, m.constant("s", {columns})}, "y");
    m.graph.mark_output(c);
    cut += m.check(kAxes[seed % 3], static_cast<int>(m.pick(2, 4))) > 0 ? 1 : 0;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(cut, 80u);
}

struct Attention {
  int64_t batch = 1, kv_heads = 2, group = 1, queries = 3, keys = 5, size = 4;
  bool is_flat = false;  ///< operands and result are [batch, length, heads * size]
  int mask = 0;          ///< of the shapes of `attention`
  bool is_capped = false, is_chosen = false;

  int64_t heads() const { return kv_heads * group; }
};

/// [batch, heads, length, size] of an operand, for each head of the queries.
ValueId heads_of(Model& m, const Attention& a, const std::string& name, int64_t heads, int64_t length) {
  if (!a.is_flat && heads == a.heads()) return m.input(name, {a.batch, heads, length, a.size});
  ValueId x;
  if (a.is_flat) {
    x = m.input(name, {a.batch, length, heads * a.size});
    x = m.add("Reshape", {x, m.list(name + ".apart", {a.batch, length, heads, a.size})}, name + ".4");
    x = m.add("Transpose", {x}, name + ".t", {{"perm", Ints{0, 2, 1, 3}}});
  } else {
    x = m.input(name, {a.batch, heads, length, a.size});
  }
  if (heads == a.heads()) return x;
  x = m.add("Unsqueeze", {x, m.list(name + ".axes", {2})}, name + ".5");
  x = m.add("Expand", {x, m.list(name + ".wide", {a.batch, heads, a.group, length, a.size})}, name + ".e");
  return m.add("Reshape", {x, m.list(name + ".all", {a.batch, -1, length, a.size})}, name + ".r");
}

/// Returns the node of the first product.
NodeId attention(Model& m, const Attention& a) {
  ValueId q = heads_of(m, a, "q", a.heads(), a.queries);
  ValueId k = heads_of(m, a, "k", a.kv_heads, a.keys);
  ValueId v = heads_of(m, a, "v", a.kv_heads, a.keys);
  k = m.add("Transpose", {k}, "k.last", {{"perm", Ints{0, 1, 3, 2}}});
  ValueId s = m.add("MatMul", {q, k}, "s");
  const NodeId product = m.graph.find_node("s");
  if (a.is_capped) {
    s = m.add("Tanh", {m.add("Mul", {s, m.constant("down", {})}, "small")}, "tanh");
    s = m.add("Mul", {s, m.constant("up", {})}, "capped");
  }
  const ir::Shape masks[] = {{},
                             {a.queries, a.keys},
                             {a.batch, 1, 1, a.keys},
                             {1, a.heads(), a.queries, a.keys},
                             {a.heads(), 1, 1},
                             {a.batch, a.heads(), 1, a.keys}};
  if (a.mask > 0) s = m.add("Add", {s, m.input("mask", masks[a.mask])}, "masked");
  if (a.is_chosen) {
    ValueId allowed = m.add("Less", {m.constant("allowed", masks[a.mask]), m.constant("limit", {})}, "less");
    s = m.add("Where", {allowed, s, m.constant("never", {})}, "chosen");
  }
  ValueId y = m.add("MatMul", {m.add("Softmax", {s}, "p", {{"axis", int64_t{-1}}}), v}, "m");
  if (a.is_flat) {
    y = m.add("Transpose", {y}, "t", {{"perm", Ints{0, 2, 1, 3}}});
    y = m.add("Reshape", {y, m.list("joined", {0, 0, a.heads() * a.size})}, "y");
  }
  m.graph.mark_output(y);
  return product;
}

TEST(SplitNodes, RandomAttention) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Model m(seed);
    Attention a;
    a.batch = m.pick(1, 2), a.kv_heads = m.pick(1, 4), a.group = m.pick(1, 3);
    a.queries = m.pick(1, 4), a.keys = m.pick(1, 6), a.size = m.pick(1, 5);
    a.is_flat = m.pick(0, 1) == 0, a.is_capped = m.pick(0, 1) == 0, a.is_chosen = m.pick(0, 1) == 0;
    a.mask = static_cast<int>(m.pick(0, 5));
    const NodeId product = attention(m, a);
    const int count = static_cast<int>(m.pick(2, 4));
    // Heads that read one head of keys stay together, unless all of them read the same.
    const int64_t units = a.kv_heads > 1 ? a.kv_heads : a.heads();
    EXPECT_EQ(m.check(SplitAxis::Heads, count, product), units < count ? 0u : static_cast<size_t>(count)) << m.why;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

/// By name of an input, what the part reads of it.
std::map<std::string, ir::Slice> reads_of(const Model& m, const ir::SplitPart& part) {
  std::map<std::string, ir::Slice> reads;
  for (const auto& [value, slice] : part.reads) reads.emplace(m.graph.value(value).name, slice);
  return reads;
}

TEST(SplitNodes, HeadsLieInTheLastDimensionOfFlatOperands) {
  Model m(1);
  const NodeId product = attention(m, {.kv_heads = 4, .group = 2, .is_flat = true, .mask = 1});
  const auto parts = ir::split_nodes(m.graph, m.graph.node_ids(), product, SplitAxis::Heads, 2);
  ASSERT_TRUE(parts) << parts.message();
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[1].results[0].second, (ir::Slice{2, 16, 32}));  // heads 4 to 7, of 4 numbers each
  EXPECT_EQ(reads_of(m, (*parts)[1]),
            (std::map<std::string, ir::Slice>{{"q", {2, 16, 32}}, {"k", {2, 8, 16}}, {"v", {2, 8, 16}}, {"mask", {}}}));
}

TEST(SplitNodes, OneHeadOfKeysIsReadByAllParts) {
  Model m(1);
  const NodeId product = attention(m, {.kv_heads = 1, .group = 4, .mask = 3});
  const auto parts = ir::split_nodes(m.graph, m.graph.node_ids(), product, SplitAxis::Heads, 4);
  ASSERT_TRUE(parts) << parts.message();
  ASSERT_EQ(parts->size(), 4u);
  EXPECT_EQ((*parts)[2].results[0].second, (ir::Slice{1, 2, 3}));
  EXPECT_EQ(reads_of(m, (*parts)[2]),
            (std::map<std::string, ir::Slice>{{"q", {1, 2, 3}}, {"k", {}}, {"v", {}}, {"mask", {1, 2, 3}}}));
}

TEST(SplitNodes, PastKeysAndNormalisedQueriesAreCutWithTheHeads) {
  Model m(1);
  ValueId q = m.add("LayerNormalization", {m.input("q", {1, 4, 3, 8}), m.constant("scale", {8})}, "norm");
  ValueId k =
      m.add("Concat", {m.input("past", {1, 4, 8, 5}), m.input("k", {1, 4, 8, 3})}, "keys", {{"axis", int64_t{3}}});
  m.graph.mark_output(m.add("Softmax", {m.add("MatMul", {q, k}, "s")}, "p"));
  EXPECT_EQ(m.check(SplitAxis::Heads, 3, m.graph.find_node("s")), 3u) << m.why;
}

/// Queries, keys and values of one projection, and how they are taken from it.
enum class Fused { Split, SplitOfSizes, Ranges, Fives, SplitFives, Slices };

/// [batch, length, (heads + 2 * kv_heads) * size] becomes attention over flat heads. Returns the node of the first
/// product.
NodeId fused_attention(Model& m, const Attention& a, Fused how) {
  const int64_t wide = a.heads() * a.size, few = a.kv_heads * a.size, length = a.queries, c = 7;
  ValueId h = m.add("MatMul", {m.input("x", {a.batch, length, c}), m.constant("w", {c, wide + 2 * few})}, "h");
  h = m.add("Add", {h, m.constant("b", {wide + 2 * few})}, "hb");
  std::vector<ValueId> q;
  const std::pair<std::string, runtime::AttrValue> last = {"axis", int64_t{-1}};
  if (how == Fused::Split) {
    q = m.add_all("Split", {h}, {"q", "k", "v"}, {last});
  } else if (how == Fused::SplitOfSizes) {
    q = m.add_all("Split", {h, m.list("sizes", {wide, few, few})}, {"q", "k", "v"}, {last});
  } else if (how == Fused::Ranges) {
    const int64_t ends[] = {0, wide, wide + few, wide + 2 * few};
    for (size_t i = 0; i < 3; ++i) {
      const std::string name(1, "qkv"[i]);
      const ValueId from = m.list(name + ".from", {ends[i]}), to = m.list(name + ".to", {ends[i + 1]});
      q.push_back(m.add("Slice", {h, from, to, m.list(name + ".along", {-1})}, name));
    }
  } else {
    h = m.add("Reshape", {h, m.list("five", {a.batch, length, 3, a.heads(), a.size})}, "h5");
    h = m.add("Transpose", {h}, "ht", {{"perm", Ints{2, 0, 3, 1, 4}}});
    if (how == Fused::SplitFives) q = m.add_all("Split", {h}, {"q5", "k5", "v5"}, {{"axis", int64_t{0}}});
    for (int64_t i = 0; i < 3; ++i) {
      const std::string name(1, "qkv"[i]);
      const ValueId axes = m.list(name + ".axes", {0});
      if (how == Fused::SplitFives) {
        q[static_cast<size_t>(i)] = m.add("Squeeze", {q[static_cast<size_t>(i)], axes}, name);
      } else if (how == Fused::Slices) {
        const ValueId from = m.list(name + ".from", {i, -a.heads()}), to = m.list(name + ".to", {i + 1, a.heads()});
        const ValueId part = m.add("Slice", {h, from, to, m.list(name + ".along", {0, 2})}, name + ".1");
        q.push_back(m.add("Squeeze", {part, axes}, name));
      } else {
        ir::Constant index;
        index.data = Tensor(ir::DType::I64, {});
        index.data.as<int64_t>()[0] = i;
        const ValueId number = m.graph.add_constant(name + ".index", std::move(index));
        q.push_back(m.add("Gather", {h, number}, name, {{"axis", int64_t{0}}}));
      }
    }
  }
  if (how == Fused::Split || how == Fused::SplitOfSizes || how == Fused::Ranges) {
    for (size_t i = 0; i < 3; ++i) {
      const std::string name(1, "qkv"[i]);
      const int64_t heads = i == 0 ? a.heads() : a.kv_heads;
      q[i] = m.add("Reshape", {q[i], m.list(name + ".apart", {a.batch, length, heads, a.size})}, name + ".4");
      q[i] = m.add("Transpose", {q[i]}, name + ".t", {{"perm", Ints{0, 2, 1, 3}}});
      if (i == 0 || a.group == 1) continue;
      q[i] = m.add("Unsqueeze", {q[i], m.list(name + ".new", {2})}, name + ".5");
      q[i] = m.add("Expand", {q[i], m.list(name + ".wide", {1, 1, a.group, 1, 1})}, name + ".e");
      q[i] = m.add("Reshape", {q[i], m.list(name + ".all", {a.batch, -1, length, a.size})}, name + ".r");
    }
  }
  ValueId s = m.add("MatMul", {q[0], m.add("Transpose", {q[1]}, "k.last", {{"perm", Ints{0, 1, 3, 2}}})}, "s");
  ValueId y = m.add("MatMul", {m.add("Softmax", {s}, "p"), q[2]}, "m");
  y = m.add("Transpose", {y}, "t", {{"perm", Ints{0, 2, 1, 3}}});
  m.graph.mark_output(m.add("Reshape", {y, m.list("joined", {0, 0, wide})}, "y"));
  return m.graph.find_node("s");
}

TEST(SplitNodes, AttentionOfOneProjection) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Model m(seed);
    Attention a;
    const Fused how = static_cast<Fused>(seed % 6);
    a.batch = m.pick(1, 2), a.kv_heads = m.pick(2, 5), a.queries = m.pick(1, 4), a.size = m.pick(1, 4);
    if (how == Fused::SplitOfSizes || how == Fused::Ranges) a.group = m.pick(1, 3);
    const NodeId product = fused_attention(m, a, how);
    const int64_t count = m.pick(2, 4);
    EXPECT_EQ(m.check(SplitAxis::Heads, static_cast<int>(count), product),
              a.kv_heads < count ? 0u : static_cast<size_t>(count))
        << m.why << ", seed " << seed;
    if (HasFailure()) return;
  }
}

TEST(SplitNodes, OneProjectionIsReadInRanges) {
  Model m(1);
  // What is cut is the attention alone: the projection comes from outside.
  const NodeId product = fused_attention(m, {.kv_heads = 2, .group = 2, .queries = 3, .size = 4}, Fused::SplitOfSizes);
  std::vector<NodeId> nodes = m.graph.node_ids();
  nodes.erase(nodes.begin(), nodes.begin() + 2);
  const auto parts = ir::split_nodes(m.graph, nodes, product, SplitAxis::Heads, 2);
  ASSERT_TRUE(parts) << parts.message();
  ASSERT_EQ(parts->size(), 2u);
  // 16 numbers of queries, 8 of keys, 8 of values.
  EXPECT_EQ(reads_of(m, (*parts)[0]), (std::map<std::string, ir::Slice>{{"hb", {2, 0, 8, {{16, 20}, {24, 28}}}}}));
  EXPECT_EQ(reads_of(m, (*parts)[1]), (std::map<std::string, ir::Slice>{{"hb", {2, 8, 16, {{20, 24}, {28, 32}}}}}));
}

TEST(SplitNodes, OneHeadOfKeysInOneProjection) {
  Model m(1);
  const NodeId product = fused_attention(m, {.kv_heads = 1, .group = 4, .queries = 3, .size = 2}, Fused::SplitOfSizes);
  EXPECT_EQ(m.check(SplitAxis::Heads, 4, product), 4u) << m.why;
}

TEST(SplitNodes, NormsAlongTheOtherDimension) {
  for (const char* op : {"LpNormalization", "Softmax", "LogSoftmax", "Hardmax"}) {
    Model m(1);
    m.graph.mark_output(m.add(op, {m.input("x", {4, 6})}, "y"));
    EXPECT_EQ(m.check(SplitAxis::Batch, 2, m.graph.find_node("y")), 2u) << op << ": " << m.why;
  }
}

TEST(SplitNodes, SlicesAndSplitsAlongOtherDimensions) {
  Model m(1);
  const ValueId x = m.input("x", {4, 6, 5});
  const ValueId half =
      m.add("Slice", {x, m.list("from", {1}), m.list("to", {6}), m.list("axes", {1}), m.list("steps", {2})}, "half");
  std::vector<ValueId> two = m.add_all("Split", {half, m.list("sizes", {1, 2})}, {"a", "b"}, {{"axis", int64_t{1}}});
  const ValueId sum = m.add("Add", {two[0], two[1]}, "sum");
  const ValueId y = m.add("Relu", {sum}, "y");
  m.graph.mark_output(y);
  const NodeId at = m.graph.find_node("y");
  EXPECT_EQ(m.check(SplitAxis::Batch, 3, at), 3u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Rows, 2, at), 2u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Channels, 2, at), 0u) << "%b has two channels, %a one for both";

  Model reversed(2);
  const ValueId back =
      reversed.add("Slice",
                   {reversed.input("x", {4, 6}), reversed.list("from", {-1, 0}), reversed.list("to", {-7, 6}),
                    reversed.list("axes", {1, 0}), reversed.list("steps", {-1, 1})},
                   "back");
  reversed.graph.mark_output(reversed.add("Relu", {back}, "y"));
  EXPECT_EQ(reversed.check(SplitAxis::Batch, 2, reversed.graph.find_node("y")), 2u) << reversed.why;
  EXPECT_EQ(reversed.check(SplitAxis::Channels, 2, reversed.graph.find_node("y")), 0u);
  EXPECT_EQ(reversed.why, "Slice cannot be cut along dimension 1");

  Model unread(3);
  std::vector<ValueId> three =
      unread.add_all("Split", {unread.input("x", {4, 6})}, {"a", "b", "c"}, {{"axis", int64_t{1}}});
  unread.graph.mark_output(unread.add("Add", {three[0], three[2]}, "y"));
  EXPECT_EQ(unread.check(SplitAxis::Batch, 3, unread.graph.find_node("y")), 3u) << unread.why;
  EXPECT_EQ(unread.check(SplitAxis::Channels, 2, unread.graph.find_node("y")), 0u);
  EXPECT_EQ(unread.why, "a result of Split is not read");
}

TEST(SplitNodes, SlicesOfWhatIsCut) {
  // Two that overlap, and columns that none takes.
  Model m(1);
  const ValueId h = m.add("MatMul", {m.input("x", {3, 4}), m.constant("w", {4, 16})}, "h");
  const auto take = [&](const std::string& name, int64_t from, int64_t to) {
    return m.add("Slice", {h, m.list(name + ".from", {0, from}), m.list(name + ".to", {3, to})}, name);
  };
  const ValueId a = take("a", 0, 6), b = take("b", 4, 10);
  m.graph.mark_output(m.add("Mul", {a, b}, "y"));
  const NodeId y = m.graph.find_node("y");
  EXPECT_EQ(m.check(SplitAxis::Channels, 2, y), 2u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Channels, 3, y), 3u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Batch, 3, y), 3u) << m.why;

  // Another reader needs all of it.
  Model whole(2);
  const ValueId x = whole.add("Relu", {whole.input("x", {3, 8})}, "r");
  const ValueId half =
      whole.add("Slice", {x, whole.list("from", {4}), whole.list("to", {8}), whole.list("axes", {1})}, "half");
  const ValueId product = whole.add("MatMul", {x, whole.constant("w", {8, 4})}, "p");
  whole.graph.mark_output(whole.add("Mul", {half, product}, "y"));
  EXPECT_EQ(whole.check(SplitAxis::Channels, 2, whole.graph.find_node("y")), 0u);
  EXPECT_EQ(whole.why, "`%r` is needed in two different slices");
  EXPECT_EQ(whole.check(SplitAxis::Batch, 3, whole.graph.find_node("y")), 3u) << whole.why;
}

TEST(SplitNodes, GathersAlongIndicesAndOtherDimensions) {
  Model m(1);
  const ValueId indices = m.input("i", {ir::DType::I64, {4, 2}}, -6, 5);
  const ValueId rows = m.add("Gather", {m.input("x", {3, 6, 5}), indices}, "rows", {{"axis", int64_t{-2}}});
  m.graph.mark_output(rows);  // [3, 4, 2, 5]
  EXPECT_EQ(m.check(SplitAxis::Batch, 3), 3u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Channels, 3), 3u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Rows, 2), 2u) << m.why;
  const auto parts = ir::split_nodes(m.graph, m.graph.node_ids(), NodeId(0), SplitAxis::Channels, 2);
  ASSERT_TRUE(parts) << parts.message();
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ(reads_of(m, (*parts)[1]), (std::map<std::string, ir::Slice>{{"i", {0, 2, 4}}, {"x", {}}}));

  // The heads of the product lie after the indices.
  Model later(2);
  const ValueId s = later.add("MatMul", {later.input("q", {2, 4, 3, 2}), later.input("k", {2, 4, 2, 5})}, "s");
  later.graph.mark_output(later.add("Gather", {s, later.list("one", {1, 0, 1})}, "y", {{"axis", int64_t{0}}}));
  EXPECT_EQ(later.check(SplitAxis::Heads, 2), 2u) << later.why;
  EXPECT_EQ(later.check(SplitAxis::Batch, 2), 0u);
  EXPECT_EQ(later.why, "the batch of `%s` are not those of the result");

  Model elements(3);
  const ValueId at = elements.input("i", {ir::DType::I64, {2, 6, 4}}, 0, 2);
  elements.graph.mark_output(elements.add("GatherElements", {elements.input("x", {3, 6, 4}), at}, "y"));
  EXPECT_EQ(elements.check(SplitAxis::Batch, 2), 2u) << elements.why;
  EXPECT_EQ(elements.check(SplitAxis::Channels, 4), 4u) << elements.why;
}

TEST(SplitNodes, SeveralResults) {
  // Keys that are returned beside what is computed of them.
  Model present(1);
  ValueId keys = present.add("Concat", {present.input("past", {1, 4, 4, 5}), present.input("k", {1, 4, 4, 1})}, "keys",
                             {{"axis", int64_t{3}}});
  present.graph.mark_output(present.add("MatMul", {present.input("q", {1, 4, 1, 4}), keys}, "s"));
  present.graph.mark_output(keys);
  EXPECT_EQ(present.check(SplitAxis::Heads, 3, present.graph.find_node("s")), 3u) << present.why;

  // One before the end, and two ends of which one is transposed.
  Model ends(2);
  ValueId c = ends.add("MatMul", {ends.input("x", {2, 6, 5}), ends.constant("w", {5, 8})}, "c");
  ValueId r = ends.add("Relu", {c}, "r");
  ends.graph.mark_output(r);
  ends.graph.mark_output(ends.add("Transpose", {c}, "t", {{"perm", Ints{1, 2, 0}}}));
  ends.graph.mark_output(ends.add("Reshape", {r, ends.list("to", {2, 6, 4, 2})}, "y"));
  EXPECT_EQ(ends.check(SplitAxis::Batch, 2), 2u) << ends.why;
  EXPECT_EQ(ends.check(SplitAxis::Rows, 3), 3u) << ends.why;
  EXPECT_EQ(ends.check(SplitAxis::Channels, 3), 3u) << "pairs stay together: " << ends.why;

  // Each result of the Split is cut along the channels of what it takes apart.
  Model thirds(3);
  ValueId h = thirds.add("MatMul", {thirds.input("x", {4, 5}), thirds.constant("w", {5, 12})}, "h");
  for (ValueId third : thirds.add_all("Split", {h}, {"q", "k", "v"}, {{"axis", int64_t{1}}}))
    thirds.graph.mark_output(third);
  EXPECT_EQ(thirds.check(SplitAxis::Channels, 3), 3u) << thirds.why;
  EXPECT_EQ(thirds.check(SplitAxis::Batch, 4), 4u) << thirds.why;
  EXPECT_EQ(thirds.check(SplitAxis::Channels, 5), 0u);
  EXPECT_EQ(thirds.why, "4 groups for 5 parts");

  // Rows that two parts need are computed by both: they cannot be joined.
  Model halo(4);
  c = halo.add("Relu", {halo.input("x", {1, 2, 8, 4})}, "c");
  halo.graph.mark_output(c);
  halo.graph.mark_output(halo.add("Conv", {c, halo.constant("w", {2, 2, 3, 3})}, "y", {{"pads", Ints{1, 1, 1, 1}}}));
  EXPECT_EQ(halo.check(SplitAxis::Rows, 2, halo.graph.find_node("y")), 0u);
  EXPECT_EQ(halo.why, "parts of `%c` do not lie one after the other");

  // All parts read one head of keys, which each would return.
  Model whole(5);
  keys = whole.add("Relu", {whole.input("k", {1, 1, 4, 5})}, "keys");
  whole.graph.mark_output(whole.add("MatMul", {whole.input("q", {1, 4, 3, 4}), keys}, "s"));
  whole.graph.mark_output(keys);
  EXPECT_EQ(whole.check(SplitAxis::Heads, 2, whole.graph.find_node("s")), 0u);
  EXPECT_EQ(whole.why, "parts of `%keys` do not lie one after the other");
}

/// One more node of a random graph on the values there are, or none where the shapes do not fit.
void add_randomly(Model& m, std::vector<ValueId>& values, const std::string& name) {
  const ValueId x = values[static_cast<size_t>(m.pick(0, static_cast<int64_t>(values.size()) - 1))];
  const ir::Shape shape = m.graph.value(x).type.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  if (runtime::element_count(shape) == 0 || rank == 0) return;
  const int64_t axis = m.pick(0, rank - 1), extent = shape[static_cast<size_t>(axis)];
  const int64_t written = m.pick(0, 1) == 0 ? axis : axis - rank;
  std::vector<ValueId> made;
  switch (m.pick(0, 12)) {
    case 0: made = m.add_all("Relu", {x}, {name}); break;
    case 1: {
      ir::Shape other = shape;
      for (int64_t& d : other) d = m.pick(0, 2) == 0 ? 1 : d;
      other.erase(other.begin(), other.begin() + m.pick(0, rank));
      const bool is_known = m.pick(0, 1) == 0;
      const ValueId y = is_known ? values[static_cast<size_t>(m.pick(0, static_cast<int64_t>(values.size()) - 1))]
                                 : m.constant(name + ".c", other);
      made = m.add_all("Mul", m.pick(0, 1) == 0 ? std::vector{x, y} : std::vector{y, x}, {name});
      break;
    }
    case 2: {
      Ints perm(shape.size());
      for (size_t d = 0; d < perm.size(); ++d) perm[d] = static_cast<int64_t>(d);
      for (size_t d = perm.size(); d-- > 1;)
        std::swap(perm[d], perm[static_cast<size_t>(m.pick(0, static_cast<int64_t>(d)))]);
      made = m.add_all("Transpose", {x}, {name}, {{"perm", perm}});
      break;
    }
    case 3: {  // two dimensions become one
      if (rank < 2) return;
      Ints to(shape.begin(), shape.end());
      const int64_t d = m.pick(0, rank - 2);
      to[static_cast<size_t>(d)] *= to[static_cast<size_t>(d + 1)];
      to.erase(to.begin() + d + 1);
      made = m.add_all("Reshape", {x, m.list(name + ".to", to)}, {name});
      break;
    }
    case 4: {  // one becomes two
      Ints to(shape.begin(), shape.end());
      for (int64_t factor : {2, 3}) {
        if (extent % factor != 0) continue;
        const int64_t outer = m.pick(0, 1) == 0 ? factor : extent / factor;
        to[static_cast<size_t>(axis)] = outer;
        to.insert(to.begin() + axis + 1, extent / outer);
        break;
      }
      made = m.add_all("Reshape", {x, m.list(name + ".to", to)}, {name});
      break;
    }
    case 5:
    case 6: {
      const int64_t parts = m.pick(2, 3);
      std::vector<std::string> names;
      for (int64_t i = 0; i < parts; ++i) names.push_back(name + "." + std::to_string(i));
      std::vector<ValueId> operands = {x};
      if (extent % parts != 0 || m.pick(0, 1) == 0) {
        Ints sizes(static_cast<size_t>(parts), extent / parts);
        sizes[static_cast<size_t>(m.pick(0, parts - 1))] += extent % parts;
        operands.push_back(m.list(name + ".sizes", sizes));
      }
      made = m.add_all("Split", operands, names, {{"axis", written}});
      break;
    }
    case 7: {
      const int64_t from = m.pick(0, extent - 1), step = m.pick(0, 2) == 0 ? 2 : 1;
      made = m.add_all("Slice",
                       {x, m.list(name + ".from", {from}), m.list(name + ".to", {m.pick(from + 1, extent)}),
                        m.list(name + ".axes", {written}), m.list(name + ".steps", {step})},
                       {name});
      break;
    }
    case 8: {
      ir::Constant indices;
      indices.data = Tensor(ir::DType::I64, m.pick(0, 1) == 0 ? ir::Shape{} : ir::Shape{m.pick(1, 4)});
      for (int64_t& i : indices.data.as<int64_t>()) i = m.pick(-extent, extent - 1);
      made = m.add_all("Gather", {x, m.graph.add_constant(name + ".indices", std::move(indices))}, {name},
                       {{"axis", written}});
      break;
    }
    case 9: made = m.add_all("Softmax", {x}, {name}, {{"axis", written}}); break;
    case 10: made = m.add_all("Concat", {x, x}, {name}, {{"axis", written}}); break;
    case 11:
      if (rank < 2) return;
      made = m.add_all("MatMul", {x, m.constant(name + ".w", {shape.back(), m.pick(2, 6)})}, {name});
      break;
    case 12: made = m.add_all("Unsqueeze", {x, m.list(name + ".axes", {axis})}, {name}); break;
  }
  for (ValueId value : made) {
    if (value.is_valid() && m.graph.value(value).type.shape.size() < 7) values.push_back(value);
  }
}

TEST(SplitNodes, RandomGraphs) {
  size_t cut = 0, of_several = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Model m(seed);
    ir::Shape shape;
    for (int64_t d = m.pick(2, 4); d > 0; --d)
      shape.push_back(std::vector<int64_t>{1, 2, 3, 4, 6, 8}[static_cast<size_t>(m.pick(0, 5))]);
    std::vector<ValueId> values = {m.input("x", shape)};
    const int64_t size = m.pick(2, 9);
    for (int64_t i = 0; i < size; ++i) add_randomly(m, values, "n" + std::to_string(i));
    const size_t nodes = m.graph.node_count();
    if (nodes == 0) continue;
    size_t results = 0;
    for (ValueId value : values) {
      const bool is_last = m.graph.value(value).uses.empty();
      if (!m.graph.value(value).producer.is_valid() || !(is_last || m.pick(0, 7) == 0)) continue;
      // Not every result of a Split is read.
      if (is_last && m.pick(0, 9) == 0 && value != values.back()) continue;
      m.graph.mark_output(value);
      ++results;
    }
    if (results == 0) continue;
    for (size_t at = 0; at < nodes; ++at) {
      for (SplitAxis axis : {SplitAxis::Batch, SplitAxis::Channels, SplitAxis::Rows, SplitAxis::Heads}) {
        if (m.check(axis, static_cast<int>(m.pick(2, 4)), NodeId(static_cast<int64_t>(at))) == 0) continue;
        ++cut;
        of_several += results > 1 ? 1 : 0;
      }
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(cut, 300u);
  EXPECT_GT(of_several, 50u);
}

TEST(SplitNodes, OtherShapesOfTheSameElements) {
  Model flat(1);
  ValueId s = flat.add("MatMul", {flat.input("q", {1, 4, 3, 2}), flat.input("k", {1, 4, 2, 5})}, "s");
  ValueId more = flat.add("Unsqueeze", {s, flat.list("new", {1, 3})}, "more");
  ValueId less = flat.add("Squeeze", {more, flat.list("old", {0, 3})}, "less");
  flat.graph.mark_output(flat.add("Flatten", {less}, "y", {{"axis", int64_t{2}}}));
  EXPECT_EQ(flat.check(SplitAxis::Heads, 3), 3u) << flat.why;

  Model all(2);
  s = all.add("MatMul", {all.input("q", {1, 2, 3, 2}), all.input("k", {1, 2, 2, 5})}, "s");
  all.graph.mark_output(all.add("Squeeze", {s}, "y"));
  EXPECT_EQ(all.check(SplitAxis::Heads, 2), 0u);
  EXPECT_EQ(all.why, "Squeeze cannot be cut along dimension 0") << "a part of one head would lose that dimension, too";

  Model none(3);
  s = none.add("MatMul", {none.input("q", {1, 0, 3, 2}), none.input("k", {1, 0, 2, 5})}, "s");
  none.graph.mark_output(none.add("Transpose", {s}, "y"));
  EXPECT_EQ(none.check(SplitAxis::Heads, 2), 0u);
  EXPECT_EQ(none.why, "0 heads for 2 parts");
}

TEST(SplitNodes, WholeGroupsOfAConvolutionBeforeTheOneNamed) {
  Model m(1);
  ValueId c = m.add("Conv", {m.input("x", {1, 3, 5, 5}), m.constant("w", {6, 1, 3, 3})}, "c", {{"group", int64_t{3}}});
  m.graph.mark_output(m.add("Relu", {c}, "y"));
  EXPECT_EQ(m.check(SplitAxis::Channels, 3, m.graph.find_node("y")), 3u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Channels, 2, m.graph.find_node("y")), 2u) << m.why;  // two groups, and one
}

TEST(SplitNodes, HeadsThatCannotBeCut) {
  Model groups(1);
  const NodeId product = attention(groups, {.kv_heads = 2, .group = 4});
  EXPECT_EQ(groups.check(SplitAxis::Heads, 4, product), 0u);
  EXPECT_EQ(groups.why, "2 groups for 4 parts");

  Model across(2);
  ValueId s = across.add("MatMul", {across.input("q", {1, 4, 3, 2}), across.input("k", {1, 4, 2, 3})}, "s");
  across.graph.mark_output(across.add("Softmax", {s}, "p", {{"axis", int64_t{1}}}));
  EXPECT_EQ(across.check(SplitAxis::Heads, 2), 0u);
  EXPECT_EQ(across.why, "Softmax cannot be cut along dimension 1");

  Model present(3);
  ValueId keys = present.add("Concat", {present.input("past", {1, 2, 4, 5}), present.input("k", {1, 2, 4, 1})}, "keys",
                             {{"axis", int64_t{3}}});
  ValueId scores = present.add("MatMul", {present.input("q", {1, 2, 1, 4}), keys}, "s");
  present.graph.mark_output(scores);
  present.graph.mark_output(keys);
  present.graph.mark_output(present.add("Neg", {keys}, "negated"));
  EXPECT_EQ(present.check(SplitAxis::Heads, 2, present.graph.find_node("s")), 0u);
  EXPECT_EQ(present.why, "`%negated` does not depend on `%s`, nor is it read for it");

  Model joined(4);
  s = joined.add("MatMul", {joined.input("q", {1, 4, 3, 2}), joined.input("k", {1, 4, 2, 3})}, "s");
  joined.graph.mark_output(
      joined.add("Concat", {s, joined.input("more", {1, 4, 3, 3})}, "both", {{"axis", int64_t{1}}}));
  EXPECT_EQ(joined.check(SplitAxis::Heads, 2), 0u);
  EXPECT_EQ(joined.why, "the heads of `%s` are not those of the result");

  Model mixed(5);
  s = mixed.add("MatMul", {mixed.input("q", {1, 2, 3, 2}), mixed.input("k", {1, 2, 2, 5})}, "s");
  mixed.graph.mark_output(mixed.add("Reshape", {s, mixed.list("to", {1, 3, 10})}, "y"));
  EXPECT_EQ(mixed.check(SplitAxis::Heads, 2), 0u);
  EXPECT_EQ(mixed.why, "1 group for 2 parts");

  Model flat(6);
  flat.graph.mark_output(flat.add("MatMul", {flat.input("a", {4, 4}), flat.input("b", {4, 4})}, "c"));
  EXPECT_EQ(flat.check(SplitAxis::Heads, 2), 0u);
  EXPECT_EQ(flat.why, "MatMul of 2 dimensions cannot be cut along heads");
}

TEST(SplitNodes, AttentionAlongQueriesAndBatch) {
  Model m(1);
  attention(m, {.batch = 2, .mask = 1});
  EXPECT_EQ(m.check(SplitAxis::Rows, 3, m.graph.find_node("m")), 3u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Batch, 2, m.graph.find_node("p")), 2u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Channels, 2, m.graph.find_node("s")), 0u) << "keys are summed over";
}

TEST(SplitNodes, TransposedConvolutionAndNormalisation) {
  Model m(1);
  ValueId x = m.input("x", {3, 4, 5, 5});
  ValueId c = m.add("ConvTranspose", {x, m.constant("w", {4, 6, 3, 3}), m.constant("b", {6})}, "c",
                    {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 1}}});
  ValueId y = m.add("BatchNormalization",
                    {c, m.constant("p", {6}), m.constant("q", {6}), m.constant("r", {6}), m.constant("v", {6})}, "y");
  m.graph.mark_output(y);
  EXPECT_EQ(m.check(SplitAxis::Batch, 2), 2u);
  EXPECT_EQ(m.check(SplitAxis::Rows, 2), 0u);
  EXPECT_EQ(m.why, "ConvTranspose of 4 dimensions cannot be cut along rows");
}

TEST(SplitNodes, TrianglesOfWholeMatrices) {
  Model m(1);
  m.graph.mark_output(m.add("Trilu", {m.input("x", {2, 4, 6, 5})}, "y", {{"upper", int64_t{1}}}));
  EXPECT_EQ(m.check(SplitAxis::Batch, 2), 2u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Heads, 3), 3u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Rows, 2), 0u);
  EXPECT_EQ(m.why, "Trilu cannot be cut along dimension 2");

  Model product(2);
  ValueId p = product.add("MatMul", {product.input("x", {4, 3}), product.constant("w", {3, 4})}, "p");
  product.graph.mark_output(product.add("Trilu", {p}, "y"));
  EXPECT_EQ(product.check(SplitAxis::Rows, 2), 0u);
  EXPECT_EQ(product.check(SplitAxis::Channels, 2), 0u);
  EXPECT_FALSE(ir::can_split(*ir::find_op("EyeLike"), SplitAxis::Rows));
  EXPECT_FALSE(ir::can_split(*ir::find_op("ConstantOfShape"), SplitAxis::Batch));
}

TEST(SplitNodes, BlocksWithOneScaleStayWhole) {
  Model m(1);
  ValueId x = m.input("x", {4, 7, 8});
  m.graph.mark_output(m.add("QuantizeLinear", {x, m.constant("s", {4, 4, 8})}, "y",
                            {{"axis", int64_t{1}}, {"block_size", int64_t{2}}}));
  EXPECT_EQ(m.check(SplitAxis::Batch, 3), 3u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Rows, 2), 2u) << m.why;
  EXPECT_EQ(m.check(SplitAxis::Channels, 2), 2u) << "4 and 3, of which the last is a block of its own";
  EXPECT_EQ(m.check(SplitAxis::Channels, 3), 0u);
  EXPECT_EQ(m.why, "a part would have some of a block of 2");

  Model even(2);
  x = even.input("x", {4, 6, 8});
  even.graph.mark_output(even.add("QuantizeLinear", {x, even.constant("s", {4, 3, 8})}, "y",
                                  {{"axis", int64_t{-2}}, {"block_size", int64_t{2}}}));
  EXPECT_EQ(even.check(SplitAxis::Channels, 2), 2u) << even.why;
  EXPECT_EQ(even.check(SplitAxis::Channels, 3), 3u) << even.why;
  EXPECT_EQ(even.check(SplitAxis::Channels, 4), 0u);
  EXPECT_EQ(even.why, "3 groups for 4 parts");
}

TEST(SplitNodes, Reasons) {
  Model few(1);
  few.graph.mark_output(few.add("Conv", {few.input("x", {1, 2, 5, 5}), few.constant("w", {3, 2, 3, 3})}, "c"));
  EXPECT_EQ(few.check(SplitAxis::Batch, 2), 0u);
  EXPECT_EQ(few.why, "1 batch for 2 parts");
  EXPECT_EQ(few.check(SplitAxis::Channels, 4), 0u);
  EXPECT_EQ(few.why, "3 channels for 4 parts");

  Model groups(2);
  groups.graph.mark_output(groups.add("Conv", {groups.input("x", {1, 2, 5, 5}), groups.constant("w", {8, 1, 1, 1})},
                                      "c", {{"group", int64_t{2}}}));
  EXPECT_EQ(groups.check(SplitAxis::Channels, 2), 2u);
  EXPECT_EQ(groups.check(SplitAxis::Channels, 4), 0u);
  EXPECT_EQ(groups.why, "2 groups for 4 parts");

  // The second result of the Split is empty, as is what two groups make of it.
  Model empty(5);
  ValueId t = empty.add("Tanh", {empty.input("x", {1, 4, 3, 3})}, "t");
  const std::vector<ValueId> both =
      empty.add_all("Split", {t, empty.list("sizes", {4, 0})}, {"a", "b"}, {{"axis", int64_t{1}}});
  empty.graph.mark_output(empty.add("Relu", {both[0]}, "y"));
  empty.graph.mark_output(
      empty.add("Conv", {both[1], empty.constant("w", {0, 0, 1, 1})}, "z", {{"group", int64_t{2}}}));
  EXPECT_EQ(empty.check(SplitAxis::Channels, 2, empty.graph.find_node("t")), 0u);
  EXPECT_EQ(empty.why, "a group has no channels");

  Model halo(3);
  ValueId x = halo.input("x", {1, 4, 8, 8});
  ValueId c = halo.add("Conv", {x, halo.constant("w", {4, 4, 3, 3})}, "c", {{"pads", Ints{1, 1, 1, 1}}});
  halo.graph.mark_output(halo.add("Add", {c, x}, "y"));
  EXPECT_EQ(halo.check(SplitAxis::Batch, 2), 0u);
  EXPECT_EQ(halo.check(SplitAxis::Rows, 2), 0u);
  EXPECT_EQ(halo.why, "`%x` is needed in two different slices");

  Model pool(4);
  pool.graph.mark_output(pool.add("MaxPool", {pool.input("x", {1, 2, 7, 7})}, "y",
                                  {{"kernel_shape", Ints{2, 2}}, {"ceil_mode", int64_t{1}}, {"strides", Ints{2, 2}}}));
  EXPECT_EQ(pool.check(SplitAxis::Rows, 2), 0u);
  EXPECT_EQ(pool.why, "`ceil_mode` counts rows outside the operand");
  EXPECT_EQ(pool.check(SplitAxis::Channels, 2), 2u);
}

TEST(SplitNodes, ViewsLieInOnePiece) {
  ir::TensorType one{ir::DType::F32, {1, 32, 4, 4}};
  EXPECT_TRUE(ir::is_view(one, {1, 8, 16}));
  EXPECT_FALSE(ir::is_view(one, {2, 0, 2}));
  EXPECT_FALSE(ir::is_view({ir::DType::F32, {1, 3, 1, 1}}, {1, 1, 2})) << "at byte 4";
  EXPECT_TRUE(ir::is_view(one, {}));
}

}  // namespace
}  // namespace collage::testing
