// SPDX-License-Identifier: Apache-2.0
#include "compiler/program/check_passes.h"

#include "compiler/ir/analysis/evaluate.h"

namespace collage::program {
namespace {

using Outputs = std::vector<ir::Tensor>;

/// One row per output: `got` against `wanted`.
std::vector<plan::CheckRow> compare(const ir::Graph& graph, const Outputs& got, const Outputs& wanted,
                                    const std::string& pass, double tolerance) {
  std::vector<plan::CheckRow> rows;
  for (size_t i = 0; i < wanted.size(); ++i) {
    plan::CheckRow row = plan::compare(got[i], wanted[i], tolerance);
    row.value = graph.value(graph.outputs()[i]).name;
    row.backend = pass;
    row.is_of_given = true;
    rows.push_back(std::move(row));
  }
  return rows;
}

bool all_passed(const std::vector<plan::CheckRow>& rows) {
  for (const plan::CheckRow& row : rows) {
    if (!row.passed) return false;
  }
  return true;
}

/// Integers in place of rounded reals may end one step of the scale apart.
bool may_round(const passes::PassSnapshot& snapshot) {
  return snapshot.pass == "fuse_quantized";
}

}  // namespace

std::vector<plan::CheckRow> check_passes(const std::vector<passes::PassSnapshot>& history, const Outputs& inputs,
                                         double tolerance) {
  if (history.size() < 2) return {};
  auto given = ir::evaluate_graph(history.front().graph, inputs);
  auto made = ir::evaluate_graph(history.back().graph, inputs);
  if (!given || !made) return {};
  std::vector<plan::CheckRow> rows = compare(history.back().graph, *made, *given, "", tolerance);
  if (all_passed(rows)) return rows;
  rows.clear();
  Outputs before = *given;
  for (size_t i = 1; i < history.size(); ++i) {
    auto after = ir::evaluate_graph(history[i].graph, inputs);
    if (!after) continue;
    for (plan::CheckRow& row : compare(history[i].graph, *after, before, history[i].pass, tolerance)) {
      if (row.passed) continue;
      row.is_rounding = row.passed = may_round(history[i]);
      rows.push_back(std::move(row));
    }
    before = std::move(*after);
  }
  return rows;
}

}  // namespace collage::program
