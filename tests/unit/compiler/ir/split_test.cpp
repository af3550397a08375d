// SPDX-License-Identifier: Apache-2.0
// Nodes cut into parts: what the parts compute, put side by side, is what the whole computes.
#include "compiler/ir/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "compiler/ir/evaluate.h"
#include "compiler/ir/infer.h"
#include "compiler/ir/verify.h"
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
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    runtime::AttrMap map;
    for (auto& [name, value] : attrs) map.set(name, value);
    NodeId node = ir::append_inferred(graph, *ir::find_op(op), std::move(operands), map, {result}, {}, diags);
    return node.is_valid() ? graph.node(node).outputs[0] : ValueId();
  }

  /// How many parts came out: 0 and `why` where the nodes cannot be cut so. Their results are compared.
  size_t check(SplitAxis axis, int count, NodeId at = NodeId(0)) {
    std::vector<NodeId> nodes = graph.node_ids();
    ir::SplitNodes split = ir::split_nodes(graph, nodes, at, axis, count);
    why = split.why;
    if (split.parts.empty()) return 0;
    auto whole = ir::evaluate_graph(graph, inputs_);
    EXPECT_TRUE(whole) << whole.message();
    Tensor joined(whole->front().dtype(), whole->front().shape());
    int64_t end = 0;
    for (const ir::SplitPart& part : split.parts) {
      ir::verify(part.graph);
      std::vector<Tensor> operands;
      for (const auto& [value, slice] : part.reads) {
        auto index = std::find(graph.inputs().begin(), graph.inputs().end(), value) - graph.inputs().begin();
        operands.push_back(ir::slice_of(inputs_[static_cast<size_t>(index)], slice));
      }
      auto made = ir::evaluate_graph(part.graph, operands);
      EXPECT_TRUE(made) << made.message();
      if (!made) return 0;
      EXPECT_EQ(part.result.begin, end);
      end = part.result.end;
      put(made->front(), part.result, &joined);
    }
    EXPECT_EQ(end, joined.shape()[static_cast<size_t>(split.parts[0].result.axis)]);
    EXPECT_TRUE(runtime::identical(joined, whole->front())) << graph.node(NodeId(0)).op->name;
    return split.parts.size();
  }

  Graph graph;
  std::string why;

 private:
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
  ir::SplitNodes split = ir::split_nodes(m.graph, m.graph.node_ids(), product, SplitAxis::Heads, 2);
  ASSERT_EQ(split.parts.size(), 2u) << split.why;
  EXPECT_EQ(split.parts[1].result, (ir::Slice{2, 16, 32}));  // heads 4 to 7, of 4 numbers each
  EXPECT_EQ(reads_of(m, split.parts[1]),
            (std::map<std::string, ir::Slice>{{"q", {2, 16, 32}}, {"k", {2, 8, 16}}, {"v", {2, 8, 16}}, {"mask", {}}}));
}

TEST(SplitNodes, OneHeadOfKeysIsReadByAllParts) {
  Model m(1);
  const NodeId product = attention(m, {.kv_heads = 1, .group = 4, .mask = 3});
  ir::SplitNodes split = ir::split_nodes(m.graph, m.graph.node_ids(), product, SplitAxis::Heads, 4);
  ASSERT_EQ(split.parts.size(), 4u) << split.why;
  EXPECT_EQ(split.parts[2].result, (ir::Slice{1, 2, 3}));
  EXPECT_EQ(reads_of(m, split.parts[2]),
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
  EXPECT_EQ(present.check(SplitAxis::Heads, 2, present.graph.find_node("s")), 0u);
  EXPECT_EQ(present.why, "2 results");

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
