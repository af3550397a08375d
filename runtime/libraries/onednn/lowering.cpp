// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/onednn/lowering.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace collage::runtime::onednn {
namespace {

struct Row {
  std::string_view op;
  Lowering lowering;
};

constexpr Row kRows[] = {
#define LOWERING(op, function) {#op, function},
#include "runtime/libraries/onednn/lowerings.def"
#undef LOWERING
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::op), "lowerings.def is sorted by name");

}  // namespace

Lowering find_lowering(std::string_view op) {
  const Row* row = std::ranges::lower_bound(kRows, op, {}, &Row::op);
  return row != std::end(kRows) && row->op == op ? row->lowering : nullptr;
}

}  // namespace collage::runtime::onednn
