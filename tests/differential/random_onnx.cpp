// SPDX-License-Identifier: Apache-2.0
// Elementwise, reducing and moving operators, and the table of all. Each function below adds one operator (or the few
// that make it safe: a root wants what is positive) to the model, or nothing and false where no value suits it.
#include "tests/differential/random_onnx.h"

#include <algorithm>

#include "tests/differential/random_onnx_quantized.h"
#include "tests/differential/random_onnx_scans.h"

namespace collage::testing {
namespace {

int rank_of(const OnnxValue& value) {
  return static_cast<int>(value.dims.size());
}

/// An axis of the value, counted from the end half of the time.
int64_t random_axis(OnnxMaker& m, const OnnxValue& value, int64_t* plain) {
  *plain = m.random.in(0, rank_of(value) - 1);
  return m.random.chance(50) ? *plain : *plain - rank_of(value);
}

/// Keeps a result that only moves or compares elements of `from`.
bool keep_exact(OnnxMaker& m, OnnxValue value, const OnnxValue& from) {
  value.is_exact = from.is_exact;
  m.keep(value);
  return true;
}

bool unary(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  std::vector<std::string> ops = {"Relu",     "Sigmoid", "Tanh", "Erf",       "Neg",         "Abs",     "Softplus",
                                  "Softsign", "Elu",     "Selu", "LeakyRelu", "HardSigmoid", "Identity"};
  if (m.opset >= 14) ops.emplace_back("HardSwish");
  std::string op = m.random.pick(ops);
  OnnxValue y = m.add1(op, {x->name}, x->dims);
  if ((op == "Elu" || op == "LeakyRelu") && m.random.chance(50)) m.set("alpha", 0.3f);
  if (op == "HardSigmoid" && m.random.chance(50)) m.set("alpha", 0.25f).set("beta", 0.4f);
  bool moves = op == "Relu" || op == "Neg" || op == "Abs" || op == "Identity";
  return moves ? keep_exact(m, y, *x) : keep(m, y);
}

/// y = f(|x| + 0.5), where f wants a positive operand; exp(tanh(x)).
bool guarded_unary(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  if (m.random.chance(25)) {
    OnnxValue bounded = m.add1("Tanh", {x->name}, x->dims);
    return keep(m, m.add1("Exp", {bounded.name}, x->dims));
  }
  OnnxValue magnitude = m.add1("Abs", {x->name}, x->dims);
  OnnxValue positive = m.add1("Add", {magnitude.name, m.scalar(0.5f)}, x->dims);
  switch (m.random.in(0, 3)) {
    case 0: return keep(m, m.add1("Sqrt", {positive.name}, x->dims));
    case 1: return keep(m, m.add1("Log", {positive.name}, x->dims));
    case 2: return keep(m, m.add1("Reciprocal", {positive.name}, x->dims));
    default: return keep(m, m.add1("Pow", {positive.name, m.scalar(m.random.chance(50) ? 2.0f : 0.5f)}, x->dims));
  }
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims result = a.size() >= b.size() ? a : b;
  const Dims& other = a.size() >= b.size() ? b : a;
  size_t skip = result.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& dim = result[skip + i];
    if (dim != other[i] && dim != 1 && other[i] != 1) return std::nullopt;
    if (dim == 1) dim = other[i];
  }
  return result;
}

/// A shape that broadcasts to `dims`: leading dimensions left out, others replaced by 1.
Dims broadcastable(OnnxMaker& m, const Dims& dims) {
  Dims result(dims.begin() + m.random.in(0, static_cast<int64_t>(dims.size())), dims.end());
  for (int64_t& dim : result) {
    if (m.random.chance(30)) dim = 1;
  }
  return result;
}

/// Another value that broadcasts with `x`, or weights that do, of elements in [shift - 1, shift + 1).
OnnxValue partner(OnnxMaker& m, const OnnxValue& x, float shift = 0) {
  if (shift == 0 && m.random.chance(60)) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      auto other = m.pick(1, 5);
      auto dims = broadcast(x.dims, other->dims);
      if (dims && element_count(*dims) <= kMostElements) return *other;
    }
  }
  Dims dims = broadcastable(m, x.dims);
  return {m.weights(dims, 1, shift), dims, true};
}

bool binary(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  std::string op = m.random.pick(std::vector<std::string>{"Add", "Add", "Sub", "Mul", "Div"});
  OnnxValue other = partner(m, *x, op == "Div" ? 2.0f : 0.0f);
  Dims dims = *broadcast(x->dims, other.dims);
  bool swapped = op != "Div" && m.random.chance(40);
  return keep(m, m.add1(op, {swapped ? other.name : x->name, swapped ? x->name : other.name}, dims));
}

bool variadic(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  std::vector<std::string> operands = {x->name};
  Dims dims = x->dims;
  for (int64_t more = m.random.in(1, 2); more > 0; --more) {
    OnnxValue other = partner(m, {"", dims, false});
    operands.push_back(other.name);
    dims = *broadcast(dims, other.dims);
  }
  return keep(m, m.add1(m.random.pick(std::vector<std::string>{"Max", "Min", "Sum", "Mean"}), operands, dims));
}

bool prelu(OnnxMaker& m) {
  auto x = m.pick(2, 4);
  if (!x) return false;
  Dims slope(x->dims.size() - 1, 1);
  slope[0] = x->dims[1];
  return keep(m, m.add1("PRelu", {x->name, m.weights(slope)}, x->dims));
}

/// Steps, where a last bit that differs would be an error of 1: only on values that every backend computes alike.
bool steps(OnnxMaker& m) {
  auto x = m.pick(1, 5, true);
  if (!x) return false;
  std::vector<std::string> ops = {"Floor", "Ceil"};
  if (m.opset >= 9) ops.emplace_back("Sign");
  if (m.opset >= 11) ops.emplace_back("Round");
  return keep_exact(m, m.add1(m.random.pick(ops), {x->name}, x->dims), *x);
}

bool select(OnnxMaker& m) {
  auto condition = m.pick(1, 5, true);
  if (!condition) return false;
  std::string op = m.random.pick(std::vector<std::string>{"Greater", "Less"});
  OnnxValue test = m.add1(op, {condition->name, m.scalar(0.1f)}, condition->dims);
  if (m.random.chance(30)) test = m.add1("Not", {test.name}, test.dims);
  OnnxValue a = partner(m, *condition);
  OnnxValue b = partner(m, {"", *broadcast(condition->dims, a.dims), false});
  Dims dims = *broadcast(*broadcast(condition->dims, a.dims), b.dims);
  return keep(m, m.add1("Where", {test.name, a.name, b.name}, dims));
}

bool cast(OnnxMaker& m) {
  auto x = m.pick(1, 4);
  if (!x) return false;
  OnnxValue wide = m.add1("Cast", {x->name}, x->dims);
  m.set("to", int64_t{onnx::TensorProto::DOUBLE});
  OnnxValue y = m.add1("Cast", {m.add1("Tanh", {wide.name}, x->dims).name}, x->dims);
  m.set("to", int64_t{onnx::TensorProto::FLOAT});
  return keep(m, y);
}

bool clip(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  bool has_low = m.random.chance(80), has_high = m.random.chance(80);
  if (m.opset < 11) {
    OnnxValue y = m.add1("Clip", {x->name}, x->dims);
    if (has_low) m.set("min", -0.4f);
    if (has_high) m.set("max", 0.5f);
    return keep(m, y);
  }
  std::vector<std::string> operands = {x->name, has_low ? m.scalar(-0.4f) : ""};
  if (has_high) operands.push_back(m.scalar(0.5f));
  return keep(m, m.add1("Clip", operands, x->dims));
}

bool dropout(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  if (m.opset < 12) {
    OnnxValue y = m.add1("Dropout", {x->name}, x->dims);
    m.set("ratio", 0.3f);
    return keep_exact(m, y, *x);
  }
  return keep_exact(m, m.add1("Dropout", {x->name, m.scalar(0.3f)}, x->dims), *x);
}

bool softmax(OnnxMaker& m) {
  auto x = m.pick(1, 4);
  if (!x) return false;
  OnnxValue y = m.add1(m.random.chance(75) ? "Softmax" : "LogSoftmax", {x->name}, x->dims);
  int64_t plain = 0;
  if (m.random.chance(80))
    m.set("axis", random_axis(m, *x, &plain));
  else if (m.opset < 13 && rank_of(*x) < 2)
    m.set("axis", int64_t{0});
  return keep(m, y);
}

bool reduce(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  std::string op = m.random.pick(std::vector<std::string>{"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin",
                                                          "ReduceL1", "ReduceL2", "ReduceSumSquare"});
  bool keeps = m.random.chance(50), all = m.random.chance(15);
  Dims axes, dims;
  for (int i = 0; i < rank_of(*x); ++i) {
    bool reduced = all || m.random.chance(40);
    if (reduced && !all) axes.push_back(m.random.chance(30) ? i - rank_of(*x) : i);
    if (!reduced) dims.push_back(x->dims[static_cast<size_t>(i)]);
    if (reduced && keeps) dims.push_back(1);
  }
  if (!all && axes.empty()) return false;
  bool as_operand = op == "ReduceSum" && m.opset >= 13;
  std::vector<std::string> operands = {x->name};
  if (as_operand && !all) operands.push_back(m.ints(axes));
  OnnxValue y = m.add1(op, operands, dims);
  if (!as_operand && !all) m.set("axes", axes);
  if (!keeps || m.random.chance(50)) m.set("keepdims", int64_t{keeps});
  return keep(m, y);
}

bool arg_extreme(OnnxMaker& m) {
  auto x = m.pick(1, 4, true);
  if (!x) return false;
  int64_t plain = 0;
  int64_t axis = random_axis(m, *x, &plain);
  Dims dims = x->dims;
  dims[static_cast<size_t>(plain)] = 1;
  OnnxValue index = m.add1(m.random.chance(50) ? "ArgMax" : "ArgMin", {x->name}, dims);
  m.set("axis", axis);
  OnnxValue y = m.add1("Cast", {index.name}, dims);
  m.set("to", int64_t{onnx::TensorProto::FLOAT});
  return keep_exact(m, y, *x);
}

bool reshape(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  int64_t count = element_count(x->dims);
  // Factors of the count, one of which may be left to inference as -1.
  Dims dims;
  for (int64_t left = count; left > 1 && dims.size() < 4;) {
    Dims factors;
    for (int64_t f = 2; f <= std::min<int64_t>(left, 12); ++f) {
      if (left % f == 0) factors.push_back(f);
    }
    int64_t factor = factors.empty() || dims.size() == 3 ? left : m.random.pick(factors);
    dims.push_back(factor);
    left /= factor;
  }
  if (dims.empty()) dims.push_back(1);
  Dims written = dims;
  if (m.random.chance(50)) written[static_cast<size_t>(m.random.in(0, static_cast<int64_t>(dims.size()) - 1))] = -1;
  return keep_exact(m, m.add1("Reshape", {x->name, m.ints(written)}, dims), *x);
}

/// Reshape(x, Concat(Gather(Shape(x), 0), -1)), as exporters flatten a batch of unknown size.
bool reshape_by_shape(OnnxMaker& m) {
  auto x = m.pick(2, 5);
  if (!x) return false;
  OnnxValue shape = m.add1("Shape", {x->name}, {rank_of(*x)});
  OnnxValue batch = m.add1("Gather", {shape.name, m.ints({0})}, {1});
  m.set("axis", int64_t{0});
  OnnxValue wanted = m.add1("Concat", {batch.name, m.ints({-1})}, {2});
  m.set("axis", int64_t{0});
  Dims dims = {x->dims[0], element_count(x->dims) / x->dims[0]};
  return keep_exact(m, m.add1("Reshape", {x->name, wanted.name}, dims), *x);
}

bool flatten(OnnxMaker& m) {
  auto x = m.pick(2, 5);
  if (!x) return false;
  int64_t axis = m.random.in(0, rank_of(*x));
  Dims front(x->dims.begin(), x->dims.begin() + axis);
  OnnxValue y = m.add1("Flatten", {x->name}, {element_count(front), element_count(x->dims) / element_count(front)});
  if (axis != 1) m.set("axis", m.opset >= 11 && m.random.chance(30) && axis < rank_of(*x) ? axis - rank_of(*x) : axis);
  return keep_exact(m, y, *x);
}

bool transpose(OnnxMaker& m) {
  auto x = m.pick(2, 5);
  if (!x) return false;
  Dims order, dims;
  for (int i = 0; i < rank_of(*x); ++i) order.push_back(i);
  for (size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[static_cast<size_t>(m.random.in(0, static_cast<int64_t>(i)))]);
  bool is_reversed = m.random.chance(15);
  if (is_reversed) {
    for (int i = 0; i < rank_of(*x); ++i) order[static_cast<size_t>(i)] = rank_of(*x) - 1 - i;
  }
  for (int64_t axis : order) dims.push_back(x->dims[static_cast<size_t>(axis)]);
  OnnxValue y = m.add1("Transpose", {x->name}, dims);
  if (!is_reversed) m.set("perm", order);
  return keep_exact(m, y, *x);
}

bool squeeze(OnnxMaker& m) {
  auto x = m.pick(1, 4);
  if (!x) return false;
  int64_t at = m.random.in(0, rank_of(*x));
  Dims dims = x->dims;
  dims.insert(dims.begin() + at, 1);
  bool as_operand = m.opset >= 13;
  auto change = [&](const std::string& op, const std::string& operand, const Dims& result) {
    std::vector<std::string> operands = {operand};
    if (as_operand) operands.push_back(m.ints({at}));
    OnnxValue y = m.add1(op, operands, result);
    if (!as_operand) m.set("axes", Dims{at});
    return y;
  };
  OnnxValue more = change("Unsqueeze", x->name, dims);
  if (m.random.chance(60)) return keep_exact(m, more, *x);
  OnnxValue moved = m.add1("Neg", {more.name}, dims);
  return keep_exact(m, change("Squeeze", moved.name, x->dims), *x);
}

bool expand(OnnxMaker& m) {
  auto x = m.pick(1, 4);
  if (!x || element_count(x->dims) > kMostElements / 9) return false;
  Dims dims = x->dims;
  if (m.random.chance(50)) {  // repeat
    Dims repeats;
    for (int64_t& dim : dims) {
      repeats.push_back(m.random.in(1, dims.size() > 2 ? 2 : 3));
      dim *= repeats.back();
    }
    return keep_exact(m, m.add1("Tile", {x->name, m.ints(repeats)}, dims), *x);
  }
  for (int64_t& dim : dims) {
    if (dim == 1) dim = m.random.in(1, 3);
  }
  Dims wanted = dims;
  if (m.random.chance(40)) {
    wanted.insert(wanted.begin(), 2);
    dims.insert(dims.begin(), 2);
  }
  return keep_exact(m, m.add1("Expand", {x->name, m.ints(wanted)}, dims), *x);
}

bool concat(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x || element_count(x->dims) > kMostElements / 3) return false;
  int64_t plain = 0;
  int64_t axis = random_axis(m, *x, &plain);
  if (m.opset < 11) axis = plain;
  std::vector<std::string> operands = {x->name};
  Dims dims = x->dims;
  for (int64_t more = m.random.in(1, 2); more > 0; --more) {
    const OnnxValue* other = nullptr;
    for (const OnnxValue& value : m.values()) {
      if (value.dims == x->dims && (other == nullptr || m.random.chance(50))) other = &value;
    }
    Dims own = x->dims;
    own[static_cast<size_t>(plain)] = m.random.in(1, 3);
    bool reuses = other != nullptr && m.random.chance(60);
    dims[static_cast<size_t>(plain)] += reuses ? x->dims[static_cast<size_t>(plain)] : own[static_cast<size_t>(plain)];
    operands.push_back(reuses ? other->name : m.weights(own));
  }
  OnnxValue y = m.add1("Concat", operands, dims);
  m.set("axis", axis);
  return keep(m, y);
}

bool split(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  int64_t plain = 0;
  int64_t axis = random_axis(m, *x, &plain);
  int64_t extent = x->dims[static_cast<size_t>(plain)];
  if (extent < 2) return false;
  if (m.opset < 11) axis = plain;
  bool is_even = extent % 2 == 0 && m.random.chance(40);
  int64_t first = is_even ? extent / 2 : m.random.in(1, extent - 1);
  Dims sizes = {first, extent - first};
  Dims a = x->dims, b = x->dims;
  a[static_cast<size_t>(plain)] = sizes[0];
  b[static_cast<size_t>(plain)] = sizes[1];
  bool as_operand = m.opset >= 13 && !is_even;
  std::vector<std::string> operands = {x->name};
  if (as_operand) operands.push_back(m.ints(sizes));
  auto parts = m.add("Split", operands, {a, b});
  m.set("axis", axis);
  if (!as_operand && !is_even) m.set("split", sizes);
  return keep_exact(m, parts[0], *x) && keep_exact(m, parts[1], *x);
}

bool slice(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x) return false;
  int64_t plain = 0;
  int64_t axis = random_axis(m, *x, &plain);
  int64_t extent = x->dims[static_cast<size_t>(plain)];
  int64_t start = m.random.in(0, extent - 1);
  int64_t end = m.random.in(start + 1, extent);
  int64_t step = m.opset >= 10 ? m.random.in(1, 3) : 1;
  Dims dims = x->dims;
  dims[static_cast<size_t>(plain)] = (end - start + step - 1) / step;
  if (end == extent && m.random.chance(50)) end = INT64_MAX;
  if (m.opset < 10) {
    OnnxValue y = m.add1("Slice", {x->name}, dims);
    m.set("starts", Dims{start}).set("ends", Dims{end}).set("axes", Dims{plain});
    return keep_exact(m, y, *x);
  }
  if (step == 1 && m.random.chance(30) && end != INT64_MAX) {  // backwards: last to first
    std::vector<std::string> operands = {x->name, m.ints({end - 1}), m.ints({start == 0 ? INT64_MIN : start - 1}),
                                         m.ints({axis}), m.ints({-1})};
    return keep_exact(m, m.add1("Slice", operands, dims), *x);
  }
  return keep_exact(m, m.add1("Slice", {x->name, m.ints({start}), m.ints({end}), m.ints({axis}), m.ints({step})}, dims),
                    *x);
}

bool gather(OnnxMaker& m) {
  auto x = m.pick(1, 4);
  if (!x) return false;
  int64_t plain = 0;
  int64_t axis = random_axis(m, *x, &plain);
  int64_t extent = x->dims[static_cast<size_t>(plain)];
  Dims indices;
  for (int64_t more = m.random.in(1, 4); more > 0; --more)
    indices.push_back(m.opset >= 11 ? m.random.in(-extent, extent - 1) : m.random.in(0, extent - 1));
  Dims dims = x->dims;
  dims[static_cast<size_t>(plain)] = static_cast<int64_t>(indices.size());
  if (element_count(dims) > kMostElements) return false;
  OnnxValue y = m.add1("Gather", {x->name, m.ints(indices)}, dims);
  m.set("axis", axis);
  return keep_exact(m, y, *x);
}

bool pad(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x || element_count(x->dims) > kMostElements / 32) return false;
  std::string mode = m.random.pick(std::vector<std::string>{"constant", "constant", "reflect", "edge"});
  size_t rank = x->dims.size();
  Dims pads(2 * rank), dims = x->dims;
  for (size_t i = 0; i < 2 * rank; ++i) {
    int64_t extent = x->dims[i % rank];
    if (m.random.chance(50))
      pads[i] = mode == "reflect" ? std::min<int64_t>(extent - 1, m.random.in(0, 2)) : m.random.in(0, 2);
    if (mode == "constant" && extent > 2 && m.random.chance(10)) pads[i] = -1;
    dims[i % rank] += pads[i];
  }
  if (m.opset < 11) {
    OnnxValue y = m.add1("Pad", {x->name}, dims);
    m.set("pads", pads).set("mode", mode);
    if (mode == "constant") m.set("value", 0.25f);
    return keep_exact(m, y, *x);
  }
  std::vector<std::string> operands = {x->name, m.ints(pads)};
  if (mode == "constant" && m.random.chance(50)) operands.push_back(m.scalar(0.25f));
  OnnxValue y = m.add1("Pad", operands, dims);
  m.set("mode", mode);
  return keep_exact(m, y, *x);
}

bool blocks(OnnxMaker& m) {
  auto x = m.pick(4, 4);
  if (!x) return false;
  Dims d = x->dims;
  if (d[1] % 4 == 0 && m.random.chance(60)) {
    OnnxValue y = m.add1("DepthToSpace", {x->name}, {d[0], d[1] / 4, d[2] * 2, d[3] * 2});
    m.set("blocksize", int64_t{2});
    if (m.opset >= 11 && m.random.chance(50)) m.set("mode", "CRD");
    return keep_exact(m, y, *x);
  }
  if (d[2] % 2 != 0 || d[3] % 2 != 0) return false;
  OnnxValue y = m.add1("SpaceToDepth", {x->name}, {d[0], d[1] * 4, d[2] / 2, d[3] / 2});
  m.set("blocksize", int64_t{2});
  return keep_exact(m, y, *x);
}

struct Row {
  AddOperator add;
  int weight;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {unary, 6},
      {guarded_unary, 2},
      {binary, 7},
      {variadic, 2},
      {prelu, 1},
      {steps, 1},
      {select, 1},
      {cast, 1},
      {clip, 2},
      {dropout, 1},
      {softmax, 2},
      {reduce, 3},
      {arg_extreme, 1},
      {reshape, 2},
      {flatten, 1},
      {transpose, 2},
      {squeeze, 1},
      {expand, 1},
      {concat, 2},
      {split, 2},
      {slice, 2},
      {gather, 1},
      {pad, 1},
      {blocks, 1},
      {add_conv, 8},
      {add_conv_transpose, 2},
      {add_pool, 4},
      {add_global_pool, 1},
      {add_normalization, 4},
      {add_matmul, 4},
      {add_gemm, 3},
      {add_resize, 1},
      {reshape_by_shape, 1},
      {add_recurrent, 2},
      {add_cum_sum, 1},
      {add_top_k, 1},
      {add_gather_elements, 1},
      {add_trilu, 1},
      {add_mod, 1},
      {add_einsum, 2},
      {add_quantized, 3},
  };
  return all;
}

AddOperator random_operator(Random& random) {
  int total = 0;
  for (const Row& row : rows()) total += row.weight;
  int64_t at = random.in(0, total - 1);
  for (const Row& row : rows()) {
    at -= row.weight;
    if (at < 0) return row.add;
  }
  return rows().front().add;
}

Dims random_input(Random& random) {
  int64_t batch = random.in(1, 3), channels = random.chance(40) ? 8 * random.in(1, 2) : random.in(1, 7);
  switch (random.in(0, 6)) {
    case 0: return {batch, random.in(1, 20)};
    case 1: return {batch, random.in(1, 9), random.in(1, 20)};
    case 2: return {batch, channels, random.in(2, 6), random.in(2, 6), random.in(2, 6)};
    default: return {batch, channels, random.in(2, 11), random.in(2, 11)};
  }
}

}  // namespace

onnx::ModelProto random_onnx(uint64_t seed, int most_nodes) {
  OnnxMaker maker(seed);
  maker.add_input(random_input(maker.random));
  if (maker.random.chance(25)) maker.add_input(random_input(maker.random));
  int64_t wanted = maker.random.in(3, most_nodes);
  for (int attempt = 0; wanted > 0 && attempt < 200; ++attempt) {
    if (random_operator(maker.random)(maker)) --wanted;
  }
  return maker.finish();
}

}  // namespace collage::testing
