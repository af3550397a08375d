// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/lower/lowerings.h"

#include <algorithm>
#include <iterator>

namespace collage::codegen {
namespace {

struct Row {
  std::string_view op;
  const Lowering& (*lowering)();
};

constexpr Row kRows[] = {
#define LOWERING(op, function) {#op, function},
#include "compiler/codegen/lower/lowerings.def"
#undef LOWERING
};

}  // namespace

const Lowering* find_lowering(std::string_view op) {
  const Row* row = std::lower_bound(std::begin(kRows), std::end(kRows), op,
                                    [](const Row& r, std::string_view wanted) { return r.op < wanted; });
  return row != std::end(kRows) && row->op == op ? &row->lowering() : nullptr;
}

}  // namespace collage::codegen
