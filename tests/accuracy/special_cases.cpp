// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/special_cases.h"

#include <cmath>
#include <limits>

#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::testing {
namespace {

using runtime::Tensor;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kMost = std::numeric_limits<float>::max();
constexpr float kLeastNormal = std::numeric_limits<float>::min();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

Tensor tensor(const ir::Shape& shape, const std::vector<float>& values) {
  Tensor made(ir::DType::F32, shape);
  auto elements = made.as<float>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = values[i % values.size()];
  return made;
}

std::vector<float> special_values() {
  return {kNaN, kInfinity, -kInfinity, 0.0F, -0.0F, kLeast, -kLeast, kLeastNormal, -kLeastNormal, kMost, -kMost, 1, -1};
}

/// Where functions change their course, overflow, or lose digits.
std::vector<float> borders() {
  return {0.5F, 0.999999F, 1.000001F, 1e-8F, 1e-4F, 0.625F, 0.92F, 2,       2.5F,  3,           3.000001F,   4,
          5.9F, 6,         9.9F,      10,    12,    14.5F,  15,    16.5F,   20,    30,          60,          86,
          87,   87.33F,    87.5F,     88,    88.5F, 88.72F, 88.8F, 89,      90,    100,         103,         104,
          105,  127,       128,       709,   1e4F,  1e10F,  1e20F, 1.8e19F, 3e38F, 3.14159274F, 1.57079637F, 1e-20F};
}

/// Numbers of every exponent, borders and special values, of both signs.
std::vector<float> sweep() {
  std::vector<float> values = special_values();
  for (float x : borders()) values.insert(values.end(), {x, -x});
  for (int exponent = -149; exponent < 128; ++exponent) {
    for (float mantissa : {1.0F, 1.3F, 1.9999999F}) {
      const float x = std::ldexp(mantissa, exponent);
      values.insert(values.end(), {x, -x});
    }
  }
  for (int i = 1; i < 400; ++i) {
    const float x = static_cast<float>(i) * 0.2371F;
    values.insert(values.end(), {x, -x});
  }
  values.resize((values.size() + 15) / 16 * 16, 1.0F);
  return values;
}

/// Uniform numbers with special values at every seventh place from `first` on.
std::vector<float> sprinkled(size_t count, size_t first, const std::vector<float>& special) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    const bool is_special = i % 7 == first % 7 && (i / 7) % 3 == 0;
    values.push_back(is_special ? special[i / 21 % special.size()] : std::sin(static_cast<float>(3 * i + 1)) * 2);
  }
  return values;
}

/// The result is one f32 for each element of an operand of f32.
bool is_function(const ir::OpDef& op, size_t operands) {
  if (op.kind != ir::FusionKind::Elementwise && op.kind != ir::FusionKind::Broadcast) return false;
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;
  for (size_t i = 0; i < operands; ++i) {
    inputs.push_back(graph.add_input("x" + std::to_string(i), {ir::DType::F32, {4, 8}}));
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::NodeSource source;
  source.where = "case";
  const ir::NodeId node = ir::append_inferred(graph, op, inputs, {}, {"y"}, source, diags);
  return node.is_valid() && graph.value(graph.first_output(node)).type == graph.value(inputs[0]).type;
}

}  // namespace

std::vector<SpecialCase> function_cases() {
  const std::vector<float> all = sweep();
  const auto rows = static_cast<int64_t>(all.size() / 16);
  const Tensor x = tensor({rows, 16}, all);
  // Every special value with every other, and with usual numbers.
  std::vector<float> left, right, some = special_values();
  for (float value : {0.3F, -2.7F, 1e20F, -1e-20F, 1e30F}) some.push_back(value);
  for (float a : some) {
    for (float b : some) left.push_back(a), right.push_back(b);
  }
  const auto pairs = static_cast<int64_t>(left.size());
  std::vector<SpecialCase> cases;
  for (const ir::OpDef* op : ir::all_ops()) {
    const std::string name(op->name);
    if (name == "Dropout") continue;
    if (is_function(*op, 1) && op->min_inputs == 1) {
      cases.push_back({name, "%y = " + name + "(%x)", {{"x", x}}});
    }
    if (is_function(*op, 2) && op->max_inputs >= 2 && (op->min_inputs == 2 || op->commutative) && name != "Clip") {
      cases.push_back(
          {name, "%y = " + name + "(%x, %z)", {{"x", tensor({pairs}, left)}, {"z", tensor({pairs}, right)}}});
    }
  }
  const auto number = [](float value) { return tensor({}, {value}); };
  cases.push_back({"Gelu tanh", "%y = Gelu(%x) {approximate = \"tanh\"}", {{"x", x}}});
  cases.push_back({"Clip", "%y = Clip(%x, %l, %h)", {{"x", x}}, {{"l", number(-1)}, {"h", number(6)}}});
  cases.push_back({"Clip to NaN", "%y = Clip(%x, %l, %h)", {{"x", x}, {"l", number(kNaN)}, {"h", number(6)}}});
  cases.push_back({"Clip at NaN", "%y = Clip(%x, %l, %h)", {{"x", x}}, {{"l", number(-1)}, {"h", number(kNaN)}}});
  cases.push_back({"Celu 3e38", "%y = Celu(%x) {alpha = 3e38}", {{"x", x}}});
  cases.push_back({"Max of 3",
                   "%y = Max(%x, %z, %o)",
                   {{"x", tensor({pairs}, left)}, {"z", tensor({pairs}, right)}, {"o", number(0.5F)}}});
  cases.push_back({"swish", "%s = Sigmoid(%x) %y = Mul(%x, %s)", {{"x", x}}});
  return cases;
}

std::vector<SpecialCase> tensor_cases() {
  std::vector<SpecialCase> cases;
  const std::vector<std::pair<std::string, std::vector<float>>> kinds = {
      {"NaN", {kNaN}}, {"Inf", {kInfinity}}, {"-Inf", {-kInfinity}}, {"mixed", special_values()}};
  const auto add = [&](const std::string& name, const std::string& statements, const ir::Shape& shape,
                       std::vector<std::pair<std::string, Tensor>> weights = {}) {
    for (const auto& [kind, special] : kinds) {
      // What the largest numbers are added to overflows, or is lost, in one order and not in another.
      if ((name == "ReduceProd" || name == "InstanceNormalization") && kind == "mixed") continue;
      for (size_t first : {0, 3}) {
        const auto count = static_cast<size_t>(runtime::element_count(shape));
        cases.push_back(
            {name + " " + kind, statements, {{"x", tensor(shape, sprinkled(count, first, special))}}, weights});
      }
    }
  };
  // A row of each kind, and rows without.
  const auto add_rows = [&](const std::string& name, const std::string& statements) {
    std::vector<float> values;
    const std::vector<float> fills = {-kInfinity, kInfinity, kNaN, kMost, -kMost, -0.0F, 1e-40F, 100};
    for (float fill : fills) values.insert(values.end(), 37, fill);
    for (float fill : fills) {
      std::vector<float> row(37, 0.0F);
      row[5] = fill;
      values.insert(values.end(), row.begin(), row.end());
    }
    cases.push_back({name + " rows", statements, {{"x", tensor({16, 37}, values)}}});
  };
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceLogSumExp",
                         "ReduceProd", "ReduceSumSquare"}) {
    for (const char* axis : {"0", "1", "-1"}) {
      add(op, "%y = " + std::string(op) + "(%x) {axes = [" + axis + "]}", {3, 5, 37});
    }
    add_rows(op, "%y = " + std::string(op) + "(%x) {axes = [1]}");
  }
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    for (const char* axis : {"0", "1", "-1"}) {
      add(op, "%y = " + std::string(op) + "(%x) {axis = " + axis + "}", {3, 5, 37});
    }
    add_rows(op, "%y = " + std::string(op) + "(%x)");
  }
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const char* last : {"0", "1"}) {
      for (const char* axis : {"0", "-1"}) {
        add(op, "%y = " + std::string(op) + "(%x) {axis = " + axis + ", select_last_index = " + last + "}", {3, 5, 37});
      }
    }
  }
  for (const char* largest : {"0", "1"}) {
    add("TopK", std::string("%k = const dense i64[1] [5] %y, %i = TopK(%x, %k) {largest = ") + largest + "}", {5, 37});
  }
  const std::string window = "{kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}";
  add("MaxPool", "%y = MaxPool(%x) " + window, {1, 20, 7, 19});
  add("MaxPool", "%y = MaxPool(%x) {kernel_shape = [2, 2]}", {1, 20, 6, 18});
  add("AveragePool", "%y = AveragePool(%x) " + window, {1, 20, 7, 19});
  add("GlobalMaxPool", "%y = GlobalMaxPool(%x)", {2, 20, 5, 7});
  add("GlobalAveragePool", "%y = GlobalAveragePool(%x)", {2, 20, 5, 7});
  add("LRN", "%y = LRN(%x) {size = 5}", {1, 8, 4, 5});
  add("InstanceNormalization", "%y = InstanceNormalization(%x, %s, %b)", {2, 4, 5, 7},
      {{"s", tensor({4}, {1, 2, -1, 0.5F})}, {"b", tensor({4}, {0, 1, -1, 2})}});
  add("LayerNormalization", "%y = LayerNormalization(%x, %s, %b)", {6, 16},
      {{"s", tensor({16}, {1, 2, -1, 0.5F})}, {"b", tensor({16}, {0, 1, -1, 2})}});
  // Cases in which only weights are special have no padding: whether a weight meets the zeros around the input is left
  // to the implementation.
  const auto add_with_weights = [&](const std::string& name, const std::string& statements, const ir::Shape& shape,
                                    const ir::Shape& weights, bool takes_special_weights) {
    const auto count = static_cast<size_t>(runtime::element_count(weights));
    const auto inputs = static_cast<size_t>(runtime::element_count(shape));
    for (const auto& [kind, special] : kinds) {
      cases.push_back({name + " " + kind,
                       statements,
                       {{"x", tensor(shape, sprinkled(inputs, 2, special))}},
                       {{"w", tensor(weights, sprinkled(count, 0, {1, 2}))}}});
      if (!takes_special_weights) continue;
      // Below 1: a product with the largest number that overflows alone does not where it is added in one step.
      std::vector<float> below_one = sprinkled(inputs, 2, {1, 2});
      for (float& value : below_one) value /= 2;
      cases.push_back({name + " weights " + kind,
                       statements,
                       {{"x", tensor(shape, below_one)}},
                       {{"w", tensor(weights, sprinkled(count, 0, special))}}});
    }
  };
  add_with_weights("Conv", "%y = Conv(%x, %w) {pads = [1, 1, 1, 1]}", {1, 8, 6, 7}, {16, 8, 3, 3}, false);
  add_with_weights("Conv unpadded", "%y = Conv(%x, %w)", {1, 8, 6, 7}, {16, 8, 3, 3}, true);
  add_with_weights("Conv 1x1", "%y = Conv(%x, %w)", {1, 8, 6, 7}, {16, 8, 1, 1}, true);
  add_with_weights("depthwise", "%y = Conv(%x, %w) {group = 8, pads = [1, 1, 1, 1]}", {1, 8, 6, 7}, {8, 1, 3, 3},
                   false);
  add_with_weights("ConvTranspose", "%y = ConvTranspose(%x, %w) {strides = [2, 2], pads = [1, 1, 1, 1]}", {1, 8, 6, 7},
                   {8, 16, 4, 4}, false);
  add_with_weights("MatMul", "%y = MatMul(%x, %w)", {9, 20}, {20, 33}, true);
  add("Gemm of beta 0", "%y = Gemm(%x, %w, %c) {beta = 0.0}", {9, 4},
      {{"w", tensor({4, 33}, {1, -2, 0.5F})}, {"c", tensor({33}, {kNaN, kInfinity, 1})}});
  // Attention whose first query may look at nothing, as exporters write it: not a number, and so is the standard's.
  cases.push_back(
      {"masked rows",
       "%m = Add(%x, %z) %g = ReduceMax(%m) {axes = [-1]} %f = Max(%g, %l) %s = Sub(%m, %f) %y = Exp(%s)",
       {{"x", tensor({4, 16}, {0.5F, -1, 2})}, {"z", tensor({4, 16}, {-kInfinity, -kInfinity, -kInfinity, 0})}},
       {{"l", tensor({}, {-kMost})}}});
  return cases;
}

}  // namespace collage::testing
