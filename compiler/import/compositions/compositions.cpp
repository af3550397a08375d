// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/compositions/compositions.h"

#include <algorithm>
#include <array>

namespace collage::import {
namespace {

#define COMPOSITION(domain, op, first, least, function) ComposedOp{domain, #op, first, least, compositions::function},
constexpr std::array kComposedOps = {
#include "compiler/import/compositions/compositions.def"
};
#undef COMPOSITION
#undef MICROSOFT

}  // namespace

const ComposedOp* find_composition(std::string_view domain, std::string_view op, int opset) {
  const auto* row = std::find_if(kComposedOps.begin(), kComposedOps.end(), [&](const ComposedOp& candidate) {
    return candidate.domain == domain && candidate.op == op && (!domain.empty() || opset >= candidate.first_opset);
  });
  return row == kComposedOps.end() ? nullptr : row;
}

std::vector<std::string> composed_ops(std::string_view domain) {
  std::vector<std::string> names;
  for (const ComposedOp& row : kComposedOps) {
    if (row.domain == domain) names.emplace_back(row.op);
  }
  return names;
}

bool compose(const ComposedOp& row, PendingNode node, Emitter& emitter) {
  Composition c(std::move(node), emitter);
  for (size_t i = 0; i < row.least_operands; ++i) {
    if (!c.has(i)) return c.wrong(fmt::format("operand {} of {} is left out", i, row.op));
  }
  row.write(c);
  return c.finish();
}

}  // namespace collage::import
