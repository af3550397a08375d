// SPDX-License-Identifier: Apache-2.0
// Recurrent networks, running sums, sorting, and the choice of elements. Each function adds one operator to the model,
// or nothing and false where no value or no opset suits it.
#include "tests/differential/random_onnx_scans.h"

#include <algorithm>

namespace collage::testing {
namespace {

struct Axis {
  size_t at;        ///< from the front
  int64_t written;  ///< as the node has it, from the end half of the time
};

Axis random_axis(OnnxMaker& m, const OnnxValue& x) {
  auto rank = static_cast<int64_t>(x.dims.size()), at = m.random.in(0, rank - 1);
  return {static_cast<size_t>(at), m.random.chance(50) ? at : at - rank};
}

bool keep_as(OnnxMaker& m, OnnxValue value, bool is_exact = false) {
  value.is_exact = is_exact;
  m.keep(value);
  return true;
}

/// Indices become numbers that other operators take.
bool keep_indices(OnnxMaker& m, const OnnxValue& indices, bool is_exact) {
  OnnxValue numbers = m.add1("Cast", {indices.name}, indices.dims);
  m.set("to", int64_t{onnx::TensorProto::FLOAT});
  return keep_as(m, numbers, is_exact);
}

}  // namespace

/// x is [steps, batch, features]; weights [directions, gates * hidden, features or hidden].
bool add_recurrent(OnnxMaker& m) {
  struct Kind {
    std::string op;
    int64_t gates;
  };
  auto x = m.pick(3, 3);
  if (!x || element_count(x->dims) > kMostElements / 8) return false;
  Kind kind = m.random.pick(std::vector<Kind>{{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}});
  std::string direction = m.random.pick(std::vector<std::string>{"forward", "reverse", "bidirectional"});
  int64_t directions = direction == "bidirectional" ? 2 : 1, hidden = m.random.in(1, 6);
  int64_t steps = x->dims[0], batch = x->dims[1], features = x->dims[2];
  Dims state = {directions, batch, hidden};
  std::vector<std::string> operands = {x->name, m.weights({directions, kind.gates * hidden, features}, 0.4f),
                                       m.weights({directions, kind.gates * hidden, hidden}, 0.4f)};
  bool has_bias = m.random.chance(70), has_state = m.random.chance(40);
  if (has_bias || has_state) operands.push_back(has_bias ? m.weights({directions, 2 * kind.gates * hidden}, 0.3f) : "");
  if (has_state) {
    operands.emplace_back();  // lengths of the sequences
    operands.push_back(m.weights(state));
    if (kind.op == "LSTM") operands.push_back(m.weights(state));
  }
  std::vector<Dims> results = {{steps, directions, batch, hidden}, state};
  if (kind.op == "LSTM") results.push_back(state);
  std::vector<OnnxValue> made = m.add(kind.op, operands, results);
  m.set("hidden_size", hidden);
  if (direction != "forward") m.set("direction", direction);
  if (kind.op == "GRU" && m.random.chance(50)) m.set("linear_before_reset", int64_t{1});
  for (const OnnxValue& value : made) keep_as(m, value);
  return true;
}

bool add_cum_sum(OnnxMaker& m) {
  auto x = m.pick(1, 5);
  if (!x || m.opset < 11) return false;
  Axis axis = random_axis(m, *x);
  OnnxValue y = m.add1("CumSum", {x->name, m.integer(axis.written)}, x->dims);
  if (m.random.chance(40)) m.set("exclusive", int64_t{1});
  if (m.random.chance(40)) m.set("reverse", int64_t{1});
  return keep_as(m, y);
}

/// On values that every backend computes alike: elsewhere two nearly equal elements may change places.
bool add_top_k(OnnxMaker& m) {
  auto x = m.pick(1, 4, true);
  if (!x) return false;
  Axis axis = random_axis(m, *x);
  int64_t k = m.random.in(1, x->dims[axis.at]);
  Dims dims = x->dims;
  dims[axis.at] = k;
  std::vector<std::string> operands = {x->name};
  if (m.opset >= 10) operands.push_back(m.ints({k}));
  std::vector<OnnxValue> made = m.add("TopK", operands, {dims, dims});
  if (m.opset < 10) m.set("k", k);
  m.set("axis", m.opset < 11 ? static_cast<int64_t>(axis.at) : axis.written);
  if (m.opset >= 11 && m.random.chance(40)) m.set("largest", int64_t{0});
  return keep_as(m, made[0], true) && keep_indices(m, made[1], true);
}

/// Indices of x's rank: a list that a Reshape makes a tensor.
bool add_gather_elements(OnnxMaker& m) {
  auto x = m.pick(1, 4);
  if (!x || m.opset < 11 || element_count(x->dims) > 600) return false;
  Axis axis = random_axis(m, *x);
  int64_t extent = x->dims[axis.at];
  Dims dims = x->dims, chosen;
  for (int64_t& dim : dims) dim = m.random.in(1, dim);
  dims[axis.at] = m.random.in(1, extent + 2);
  for (int64_t i = element_count(dims); i > 0; --i) chosen.push_back(m.random.in(-extent, extent - 1));
  OnnxValue indices = m.add1("Reshape", {m.ints(chosen), m.ints(dims)}, dims);
  OnnxValue y = m.add1("GatherElements", {x->name, indices.name}, dims);
  m.set("axis", axis.written);
  return keep_as(m, y, x->is_exact);
}

bool add_trilu(OnnxMaker& m) {
  auto x = m.pick(2, 5);
  if (!x || m.opset < 14) return false;
  std::vector<std::string> operands = {x->name};
  if (m.random.chance(60)) operands.push_back(m.integer(m.random.in(-3, 3)));
  OnnxValue y = m.add1("Trilu", operands, x->dims);
  if (m.random.chance(50)) m.set("upper", int64_t{0});
  return keep_as(m, y, x->is_exact);
}

/// The remainder jumps, so on exact values only.
bool add_mod(OnnxMaker& m) {
  auto x = m.pick(1, 5, true);
  if (!x || m.opset < 10) return false;
  OnnxValue y = m.add1("Mod", {x->name, m.weights({x->dims.back()}, 0.2f, 0.6f)}, x->dims);
  m.set("fmod", int64_t{1});
  return keep_as(m, y, true);
}

bool add_einsum(OnnxMaker& m) {
  auto x = m.pick(2, 4);
  if (!x || m.opset < 12 || element_count(x->dims) > kMostElements / 8) return false;
  Dims d = x->dims;
  int64_t n = m.random.in(1, 6);
  struct Form {
    std::string equation;
    Dims other, result;
  };
  std::vector<Form> forms;
  if (d.size() == 2) {
    forms = {{"ij,jk->ik", {d[1], n}, {d[0], n}},
             {"ij,kj->ki", {n, d[1]}, {n, d[0]}},
             {"ij,ij->i", d, {d[0]}},
             {"ij,k->ikj", {n}, {d[0], n, d[1]}}};
  } else if (d.size() == 3) {
    forms = {{"bij,bjk->bik", {d[0], d[2], n}, {d[0], d[1], n}},
             {"bij,jk->bki", {d[2], n}, {d[0], n, d[1]}},
             {"bij,bkj->bk", {d[0], n, d[2]}, {d[0], n}},
             {"...j,jk", {d[2], n}, {d[0], d[1], n}}};
  } else {
    forms = {{"bhid,bhjd->bhij", {d[0], d[1], n, d[3]}, {d[0], d[1], d[2], n}},
             {"bchw,cn->bnhw", {d[1], n}, {d[0], n, d[2], d[3]}}};
  }
  const Form& form = m.random.pick(forms);
  if (element_count(form.result) > kMostElements) return false;
  OnnxValue y = m.add1("Einsum", {x->name, m.weights(form.other)}, form.result);
  m.set("equation", form.equation);
  return keep_as(m, y);
}

}  // namespace collage::testing
