// SPDX-License-Identifier: Apache-2.0
// Times the matcher against the number of nodes and of rules, on models put together from the blocks of real networks
// (plain chains, residual and inverted convolution blocks, transformer layers) and on rules as backends have them:
// families over activations, elementwise operators and pools that share most of their patterns.
//
//   matcher_scaling [rounds]        a table of milliseconds of one processor, and the exponents of growth
//
// A cell is the quickest of `rounds` (5) calls of `match_backend`, automaton included. The exponents are the slopes of
// log time over log nodes and over log rules, by least squares. `rule by rule` matches without the automaton.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/match/matcher.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"
#include "runtime/support/diagnostic.h"

namespace {

using namespace collage;
using ir::ValueId;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t below(size_t count) { return static_cast<size_t>(engine_() % count); }
  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

const std::vector<std::string> kActivations = {
    "Relu", "Sigmoid",  "Tanh", "LeakyRelu", "Gelu", "HardSwish", "Elu",  "HardSigmoid", "Softplus", "Exp",
    "Mish", "Softsign", "Selu", "Celu",      "Erf",  "Abs",       "Sqrt", "Neg",         "Round",    "Log"};
const std::vector<std::string> kBinaries = {"Add", "Mul", "Sub", "Div", "Max", "Min", "Pow"};

/// Blocks on pictures f32[1, 16, 8, 8] and on sequences f32[1, 8, 16], until there are enough nodes.
class ModelMaker {
 public:
  ModelMaker(size_t nodes, uint64_t seed, support::Diagnostics& diags) : nodes_(nodes), random_(seed), diags_(diags) {}

  ir::Graph run() {
    ValueId picture = graph_.add_input("picture", {ir::DType::F32, {1, 16, 8, 8}});
    ValueId words = graph_.add_input("words", {ir::DType::F32, {1, 8, 16}});
    conv_weight_ = constant({16, 16, 1, 1});
    conv_bias_ = constant({16});
    matrix_ = constant({16, 16});
    scalar_ = constant({});
    while (graph_.node_count() < nodes_) {
      switch (random_.below(5)) {
        case 0: picture = chain(picture); break;
        case 1: picture = residual(picture); break;
        case 2: picture = inverted(picture); break;
        default: words = random_.below(2) != 0 ? attention(words) : feed_forward(words); break;
      }
    }
    graph_.mark_output(picture);
    graph_.mark_output(words);
    return std::move(graph_);
  }

 private:
  ValueId constant(ir::Shape shape) {
    ir::Constant constant;
    constant.form = ir::Constant::Form::Splat;
    constant.data = ir::Tensor(ir::DType::F32, std::move(shape));
    return graph_.add_constant(fmt::format("k{}", graph_.value_count()), std::move(constant));
  }

  ValueId ints(const std::vector<int64_t>& elements) {
    ir::Constant constant;
    constant.data = ir::Tensor(ir::DType::I64, {static_cast<int64_t>(elements.size())});
    std::copy(elements.begin(), elements.end(), reinterpret_cast<int64_t*>(constant.data.data()));
    return graph_.add_constant(fmt::format("k{}", graph_.value_count()), std::move(constant));
  }

  ValueId make(const std::string& op, std::vector<ValueId> operands, const char* attr = "", runtime::Ints ints = {}) {
    ir::AttrMap attrs;
    if (*attr != 0) attrs.set(attr, std::move(ints));
    ir::NodeId node = ir::append_inferred(graph_, *ir::find_op(op), std::move(operands), std::move(attrs),
                                          {fmt::format("v{}", graph_.value_count())}, {}, diags_);
    if (!node.is_valid()) {
      fmt::print(stderr, "{}", diags_.render());
      std::exit(3);
    }
    return graph_.first_output(node);
  }

  ValueId activation(ValueId x) { return make(kActivations[std::min(random_.below(8), random_.below(20))], {x}); }
  ValueId conv(ValueId x) {
    return random_.below(2) != 0 ? make("Conv", {x, conv_weight_, conv_bias_}) : make("Conv", {x, conv_weight_});
  }

  ValueId chain(ValueId x) {
    for (int i = 0; i < 4; ++i) {
      x = random_.below(3) != 0 ? activation(x) : make(random_.pick(kBinaries), {x, scalar_});
    }
    return x;
  }

  ValueId residual(ValueId x) {
    ValueId y = activation(conv(activation(conv(x))));
    return activation(make("Add", {conv(y), x}));
  }

  ValueId inverted(ValueId x) {
    ValueId wide = conv(x);
    ValueId swish = make("Mul", {wide, make("Sigmoid", {wide})});
    ValueId pooled = make("MaxPool", {swish}, "kernel_shape", runtime::Ints{1, 1});
    ValueId scale = make("GlobalAveragePool", {pooled});
    return make("Mul", {pooled, make("Sigmoid", {activation(scale)})});
  }

  ValueId norm(ValueId x) {
    runtime::Ints last = {-1};
    ValueId d = make("Sub", {x, make("ReduceMean", {x}, "axes", last)});
    ValueId variance = make("ReduceMean", {make("Mul", {d, d})}, "axes", last);
    ValueId y = make("Div", {d, make("Sqrt", {make("Add", {variance, scalar_})})});
    return make("Add", {make("Mul", {y, scalar_}), scalar_});
  }

  ValueId dense(ValueId x) { return make("Add", {make("MatMul", {x, matrix_}), scalar_}); }

  ValueId heads(ValueId x) {
    return make("Transpose", {make("Reshape", {x, ints({1, 8, 2, 8})})}, "perm", runtime::Ints{0, 2, 1, 3});
  }

  ValueId attention(ValueId x) {
    ValueId q = heads(dense(x)), k = heads(dense(x)), v = heads(dense(x));
    ValueId turned = make("Transpose", {k}, "perm", runtime::Ints{0, 1, 3, 2});
    ValueId scores = make("Softmax", {make("Div", {make("MatMul", {q, turned}), scalar_})});
    ValueId mixed = make("Transpose", {make("MatMul", {scores, v})}, "perm", runtime::Ints{0, 2, 1, 3});
    return norm(make("Add", {dense(make("Reshape", {mixed, ints({1, 8, 16})})), x}));
  }

  ValueId feed_forward(ValueId x) {
    ValueId h = dense(x);
    if (random_.below(2) != 0) {
      ValueId half = make("Mul", {h, scalar_});
      h = make("Mul", {half, make("Add", {make("Erf", {make("Div", {h, scalar_})}), scalar_})});
    } else {
      h = activation(h);
    }
    return norm(make("Add", {dense(h), x}));
  }

  size_t nodes_;
  Random random_;
  support::Diagnostics& diags_;
  ir::Graph graph_;
  ValueId conv_weight_, conv_bias_, matrix_, scalar_;
};

/// Patterns of a backend that fuses all it can, those of one family beside each other.
std::vector<std::string> all_patterns() {
  std::vector<std::string> patterns = {
      "y = Mul(c = Conv(x, w: const, b?: const), Sigmoid(c))",
      "y = Softmax(Div(MatMul(x, k), s: const))",
      "y = Softmax(Add?(Div(MatMul(x, k), s: const), m))",
      "y = MatMul(Softmax(x), v)",
      "y = Transpose(Reshape(x, ..))",
      "y = Reshape(Transpose(x), ..)",
      "y = Mul(Mul(x, a: const), Add(Erf(Div(x, s: const)), o: const))",
      "y = Div(d = Sub(x, ReduceMean(x)), Sqrt(Add(ReduceMean(Mul(d, d)), e: const)))",
      "y = Mul(Div(d = Sub(x, ReduceMean(x)), Sqrt(Add(ReduceMean(Mul(d, d)), e: const))), g: const)",
      "y = Add(Mul(Div(d = Sub(x, ReduceMean(x)), Sqrt(Add(ReduceMean(Mul(d, d)), e: const))), g: const), b: const)",
      "y = Gemm(x, w: const, b?: const)",
      "y = Concat(x, ..)",
  };
  for (const char* pool : {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"}) {
    patterns.push_back(fmt::format("y = {}(x)", pool));
    patterns.push_back(fmt::format("y = {}(Relu(x))", pool));
  }
  for (const std::string& act : kActivations) {
    patterns.push_back(fmt::format("y = {}?(c = Conv(x, w: const, b?: const))", act));
    patterns.push_back(fmt::format("y = {}(Add(Conv(x, w: const, b?: const), r))", act));
    patterns.push_back(fmt::format("y = {}(BatchNormalization(Conv(x, w: const, b?: const), ..))", act));
    patterns.push_back(fmt::format("y = {}?(Add(MatMul(x, w: const), b: const))", act));
    patterns.push_back(fmt::format("y = {}(Gemm(x, w: const, b?: const))", act));
    patterns.push_back(fmt::format("y = Conv({}(Conv(x, w: const, b?: const)), v: const, ..)", act));
    patterns.push_back(fmt::format("y = {}(x)", act));
    for (const std::string& binary : kBinaries) {
      patterns.push_back(fmt::format("y = {}({}(x, r))", act, binary));
      patterns.push_back(fmt::format("y = {}({}(x), r)", binary, act));
    }
    for (size_t i = 0; i < 6; ++i) patterns.push_back(fmt::format("y = {}({}(x))", act, kActivations[i]));
  }
  return patterns;
}

std::string rules_text(size_t count, uint64_t seed) {
  std::vector<std::string> patterns = all_patterns();
  Random random(seed);
  for (size_t i = patterns.size(); i-- > 1;) std::swap(patterns[i], patterns[random.below(i + 1)]);
  std::string text = "rules 1\nbackend b {\n  runtime host_jit\n";
  for (size_t i = 0; i < std::min(count, patterns.size()); ++i) {
    text += fmt::format(
        "  rule r{} {{\n    match {}\n    where dtype(x) == f32 else \"dtype {{dtype(x)}}\"\n"
        "    where rank(x) >= {} else \"rank {{rank(x)}}\"\n    cost max(flops / 1e11 * 1 s, bytes / (20 GB/s))\n  "
        "}}\n",
        i, patterns[i], 1 + i % 4);
  }
  return text + "}\n";
}

/// CPU time of this process, so that other programs do not count.
double milliseconds(size_t rounds, const auto& work) {
  double best = 1e300;
  for (size_t i = 0; i < rounds; ++i) {
    std::clock_t start = std::clock();
    work();
    best = std::min(best, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

/// Slope of log y over log x.
double exponent(const std::vector<size_t>& x, const std::vector<double>& y) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double lx = std::log(static_cast<double>(x[i])), ly = std::log(y[i]);
    n += 1, sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace

int main(int argc, char** argv) {
  size_t rounds = argc > 1 ? static_cast<size_t>(std::max(1, std::atoi(argv[1]))) : 5;
  const std::vector<size_t> nodes = {100, 300, 1000, 3000, 10'000};
  const std::vector<size_t> rules = {10, 30, 100, 200, 500};
  support::SourceManager sources;
  support::Diagnostics diags(sources);

  std::vector<ir::Graph> graphs;
  for (size_t count : nodes) graphs.push_back(ModelMaker(count, 1, diags).run());
  std::vector<ir::RuleSet> sets;
  for (size_t count : rules) {
    support::FileId file = sources.add(fmt::format("{}.rules", count), rules_text(count, 2));
    auto ast = syntax::parse_rules(sources, file, diags);
    sets.emplace_back();
    if (!ast || !sema::build_rules(*ast, sources, file, sets.back(), diags)) {
      fmt::print(stderr, "{}", diags.render());
      return 3;
    }
  }

  fmt::print("{:>12}", "ms: nodes");
  for (size_t count : rules) fmt::print("{:>12}", fmt::format("{} rules", count));
  fmt::print("{:>12}\n", "in rules");
  std::vector<std::vector<double>> by_rules(rules.size());
  std::vector<std::vector<size_t>> matches(nodes.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    std::vector<double> row;
    for (size_t r = 0; r < rules.size(); ++r) {
      size_t found = 0;
      row.push_back(milliseconds(rounds, [&] {
        match::MatchReport report;
        found = match::match_backend(graphs[n], sets[r].backends[0], {}, &report).size();
      }));
      matches[n].push_back(found);
      by_rules[r].push_back(row.back());
    }
    fmt::print("{:>12}", graphs[n].node_count());
    for (double cell : row) fmt::print("{:>12.2f}", cell);
    fmt::print("{:>12.2f}\n", exponent(rules, row));
  }
  fmt::print("{:>12}", "in nodes");
  for (const std::vector<double>& column : by_rules) fmt::print("{:>12.2f}", exponent(nodes, column));
  fmt::print("\n{:>12}", "matches");
  for (size_t found : matches.back()) fmt::print("{:>12}", found);
  fmt::print("\n{:>12}", "rule by rule");
  for (const ir::RuleSet& set : sets) {
    fmt::print("{:>12.2f}", milliseconds(1, [&] {
                 match::MatchReport report;
                 for (size_t rule = 0; rule < set.backends[0].rules.size(); ++rule)
                   match::match_rule(graphs.back(), set.backends[0], static_cast<int>(rule), {}, &report);
               }));
  }
  fmt::print("\n");
}
