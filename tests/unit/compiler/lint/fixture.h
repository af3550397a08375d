// SPDX-License-Identifier: Apache-2.0
// Rules from text, linted, and random models to hold what is said of them against.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/analysis/infer.h"
#include "compiler/lint/lint.h"
#include "compiler/match/matcher.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"

namespace collage::testing {

struct Linted {
  support::SourceManager sources;
  support::Diagnostics diags{sources};
  ir::RuleSet rules;

  /// Rules of one backend in host memory, with attributes `lanes` (8 or 16) and `width` (anything).
  explicit Linted(const std::string& text) {
    auto file = sources.add(
        "r.rules",
        "rules 1 backend lib { attr lanes: int = 8 in {8, 16} attr width: int = 8 runtime host_jit\n" + text + "\n}\n");
    auto ast = syntax::parse_rules(sources, file, diags);
    bool ok = ast && sema::build_rules(*ast, sources, file, rules, diags);
    EXPECT_TRUE(ok) << diags.render();
    if (ok) lint::lint(rules, diags);
  }

  const ir::Backend& backend() const { return rules.backends.at(0); }

  size_t count(support::Code code) const {
    return static_cast<size_t>(std::count_if(diags.records().begin(), diags.records().end(),
                                             [code](const auto& record) { return record.code == code; }));
  }
  bool has(support::Code code) const { return count(code) != 0; }
};

/// A few operators over one to three inputs, of random dtypes and sizes that often fit each other.
inline ir::Graph random_model(std::mt19937& random) {
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  static constexpr const char* kOps[] = {"Relu", "Tanh", "Sigmoid", "Add", "Mul"};
  static constexpr ir::DType kDtypes[] = {ir::DType::F32, ir::DType::F32, ir::DType::F64, ir::DType::I32};
  support::SourceManager sources;
  support::Diagnostics ignored(sources);
  ir::Graph graph;
  ir::TensorType type{kDtypes[below(4)], {}};
  size_t rank = below(5);
  for (size_t i = 0; i < rank; ++i)
    type.shape.push_back(static_cast<int64_t>(below(3) == 0 ? below(33) : 4 * below(5)));
  std::vector<ir::ValueId> values = {graph.add_input("x", type), graph.add_input("z", type)};
  ir::TensorType narrow = type;
  if (!narrow.shape.empty()) narrow.shape.erase(narrow.shape.begin());
  values.push_back(graph.add_input("n", narrow));
  for (size_t i = 0; i < 5; ++i) {
    const ir::OpDef& op = *ir::find_op(kOps[below(5)]);
    std::vector<ir::ValueId> inputs;
    for (int j = 0; j < op.min_inputs; ++j) inputs.push_back(values[below(values.size())]);
    ir::NodeId node = ir::append_inferred(graph, op, inputs, {}, {"v" + std::to_string(i)}, {{}, {}, {}, "m"}, ignored);
    if (node.is_valid()) values.push_back(graph.first_output(node));
  }
  for (ir::ValueId value : graph.value_ids()) {
    if (graph.value(value).producer.is_valid() && graph.value(value).uses.empty()) graph.mark_output(value);
  }
  return graph;
}

}  // namespace collage::testing
