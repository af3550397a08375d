// SPDX-License-Identifier: Apache-2.0
// Rewrites of rule files on random models: the model computes the same, its outputs keep their names, pinned nodes
// stay, and it ends.
#include "compiler/match/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/print.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/sema/model/build_graph.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"

namespace collage::testing {
namespace {

using ir::Graph;
using ir::Tensor;
using ir::ValueId;

/// One backend, and a model.
struct Case {
  support::SourceManager sources;
  support::Diagnostics diags{sources};
  ir::RuleSet rules;

  explicit Case(const std::string& rewrites) {
    auto file = sources.add("r.rules", "rules 1 backend lib { runtime host_jit\n" + rewrites + "}\n");
    auto ast = syntax::parse_rules(sources, file, diags);
    EXPECT_TRUE(ast && sema::build_rules(*ast, sources, file, rules, diags)) << diags.render();
  }

  const ir::Backend& backend() const { return rules.backends.at(0); }

  Graph model(const std::string& body) {
    std::string text = "model @m(%x: f32[4]) -> (%y: f32[4]) {\n" + body + "\n}\n";
    auto model = sema::load_model_text(sources, sources.add("m.ir", text), ".", diags);
    EXPECT_TRUE(model.has_value()) << diags.render();
    return model ? std::move(model->graph) : Graph();
  }
};

/// Each holds for all values but for rounding.
constexpr const char* kSoundRewrites = R"(
  rewrite strip: Identity(x) => x
  rewrite square: Pow(x, c: const) => Mul(a = Identity(x), a) when value(c) == 2
  rewrite halve: Div(x, c: const) => Mul(x, 0.5) when value(c) == 2
  rewrite regroup: Add(Add(x, y), z) => Add(x, Add(y, z))
  rewrite distribute: Mul(Add(x, y), z) => Add(Mul(x, z), Mul(y, z))
  rewrite factor: Add(Mul(x, z), Mul(y, z)) => Mul(Add(x, y), z)
  rewrite subtract: Sub(x, y) => Add(x, Neg(y))
  rewrite double_neg: Neg(Neg(x)) => x
  rewrite relu_twice: Relu(r = Relu(_)) => r
  rewrite relu_max: Relu(x) => Max(x, 0)
  rewrite shared: Add(x, x) => Mul(x, 2)
  rewrite leaky: LeakyRelu(x) => Sub(Relu(x), Mul(Relu(Neg(x)), 0.01))
  rewrite transposed: Add(a = Transpose(x), b = Transpose(y)) => Transpose(Add(x, y)) {perm = a.perm}
    when a.perm == b.perm
)";

class RandomModel {
 public:
  explicit RandomModel(uint64_t seed) : random_(seed) {
    ir::TensorType square{ir::DType::F64, {3, 3}};
    values_ = {graph.add_input("p", square), graph.add_input("q", square)};
    Tensor two(ir::DType::F64, {});
    two.as<double>()[0] = 2;
    two_ = graph.add_constant("two", ir::make_constant(two));
    Tensor weights(ir::DType::F64, {3, 3});
    for (double& w : weights.as<double>()) w = static_cast<double>(below(9)) / 4 - 1;
    values_.push_back(graph.add_constant("w", ir::make_constant(weights)));
    for (size_t nodes = 4 + below(16); nodes > 0; --nodes) add_node();
    for (ValueId id : graph.value_ids()) {
      const ir::Value& value = graph.value(id);
      bool is_result = value.producer.is_valid();
      if (is_result && (value.uses.empty() || below(12) == 0)) graph.mark_output(id);
    }
  }

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }

  Graph graph;

 private:
  void add_node() {
    static const std::vector<std::string> unary = {"Identity",  "Neg",       "Neg", "Relu",
                                                   "LeakyRelu", "Transpose", "Pow", "Div"};
    static const std::vector<std::string> binary = {"Add", "Add", "Mul", "Sub"};
    bool is_unary = below(2) == 0;
    const std::string& op = is_unary ? unary[below(unary.size())] : binary[below(binary.size())];
    std::vector<ValueId> inputs = {pick()};
    if (!is_unary) inputs.push_back(pick());
    if (op == "Pow" || op == "Div") inputs.push_back(two_);
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    ir::NodeSource source;
    ir::NodeId node =
        append_inferred(graph, *ir::find_op(op), inputs, {}, {"n" + std::to_string(graph.node_count())}, source, diags);
    ASSERT_TRUE(node.is_valid()) << diags.render();
    if (below(20) == 0) graph.node(node).pin = ir::Pin{"npu", -1, {}};
    values_.push_back(graph.first_output(node));
  }

  /// A recent value twice as often, so that chains arise.
  ValueId pick() {
    size_t recent = std::min<size_t>(3, values_.size());
    return below(3) == 0 ? values_[below(values_.size())] : values_[values_.size() - 1 - below(recent)];
  }

  std::mt19937_64 random_;
  std::vector<ValueId> values_;
  ValueId two_;
};

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto results = ir::evaluate_graph(graph, inputs);
  EXPECT_TRUE(results) << results.message();
  return results ? *results : std::vector<Tensor>();
}

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  return names;
}

size_t pinned(const Graph& graph) {
  std::vector<ir::NodeId> ids = graph.node_ids();
  return static_cast<size_t>(
      std::count_if(ids.begin(), ids.end(), [&](ir::NodeId id) { return graph.node(id).pin.has_value(); }));
}

TEST(RewriteTest, RandomModelsComputeTheSame) {
  Case rules(kSoundRewrites);
  ASSERT_EQ(rules.backend().rewrites.size(), 13u);
  std::vector<int> applied(rules.backend().rewrites.size());
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomModel model(seed);
    Graph rewritten = model.graph;
    for (int i = 0; i < 8; ++i) {
      size_t which = model.below(applied.size());
      const ir::Rewrite& rewrite = rules.backend().rewrites[which];
      match::RewriteReport report;
      bool changed = match::apply_rewrite(rewritten, rules.backend(), rewrite, {}, &report);
      EXPECT_EQ(changed, report.applied > 0);
      applied[which] += report.applied;
      ir::verify(rewritten);
    }
    EXPECT_EQ(output_names(rewritten), output_names(model.graph));
    EXPECT_EQ(pinned(rewritten), pinned(model.graph)) << print(model.graph);
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < 2; ++i) {
      inputs.emplace_back(ir::DType::F64, ir::Shape{3, 3});
      for (double& x : inputs.back().as<double>()) x = static_cast<double>(model.below(17)) / 16 - 0.5;
    }
    std::vector<Tensor> wanted = run(model.graph, inputs);
    std::vector<Tensor> got = run(rewritten, inputs);
    ASSERT_EQ(wanted.size(), got.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      double most = 0;
      for (double x : wanted[i].as<double>()) most = std::max(most, std::abs(x));
      for (size_t k = 0; k < wanted[i].as<double>().size(); ++k) {
        double a = wanted[i].as<double>()[k];
        double b = got[i].as<double>()[k];
        bool is_same = a == b || std::abs(a - b) <= 1e-6 * most || (!std::isfinite(a) && !std::isfinite(b));
        ASSERT_TRUE(is_same) << "seed " << seed << ": " << a << " became " << b << "\n"
                             << print(model.graph) << print(rewritten);
      }
    }
  }
  for (size_t i = 0; i < applied.size(); ++i) EXPECT_GT(applied[i], 0) << rules.backend().rewrites[i].name;
}

/// The text of the model after the first rewrite of the rules, without its head.
std::string rewritten(const std::string& rewrite, const std::string& body) {
  Case test("rewrite r: " + rewrite + "\n");
  Graph graph = test.model(body);
  match::apply_rewrite(graph, test.backend(), test.backend().rewrites.at(0), {});
  std::string text = print(graph);
  size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.rfind('}') - begin);
}

TEST(RewriteTest, ResultKeepsItsName) {
  EXPECT_EQ(rewritten("Relu(x) => Neg(Neg(x))", "%y = Relu(%x)"), R"(  %y.1 = Neg(%x) : f32[4]
  %y = Neg(%y.1) : f32[4]
)");
}

TEST(RewriteTest, OperatorBeforeAnOutputTakesItsName) {
  EXPECT_EQ(rewritten("Identity(x) => x", "%r = Relu(%x) %a = Identity(%r) %y = Identity(%a)"),
            "  %y = Relu(%x) : f32[4]\n");
}

TEST(RewriteTest, WhatServedOnlyTheLeftSideGoes) {
  EXPECT_EQ(rewritten("Mul(x, _) => Relu(x)", "%a = Neg(%x) %b = Tanh(%a) %y = Mul(%x, %b)"),
            "  %y = Relu(%x) : f32[4]\n");
}

TEST(RewriteTest, CodeThatNobodyReadStays) {
  EXPECT_EQ(rewritten("Identity(x) => x", "%a = Neg(%x) %b = Identity(%x) %y = Relu(%b)"), R"(  %a = Neg(%x) : f32[4]
  %y = Relu(%x) : f32[4]
)");
}

TEST(RewriteTest, WhatItMadeItDoesNotMatchAgain) {
  EXPECT_EQ(rewritten("Relu(x) => Relu(Relu(x))", "%y = Relu(%x)"), R"(  %y.1 = Relu(%x) : f32[4]
  %y = Relu(%y.1) : f32[4]
)");
}

TEST(RewriteTest, NumbersAreConstantsOfTheResult) {
  EXPECT_EQ(rewritten("Relu(x) => Max(x, 0)", "%y = Relu(%x)"), R"(  %y.k = const 0.0 : f32[]
  %y = Max(%x, %y.k) : f32[4]
)");
}

}  // namespace
}  // namespace collage::testing
