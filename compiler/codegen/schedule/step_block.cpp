// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/step_block.h"

#include <algorithm>

#include "compiler/codegen/schedule/register_block.h"

namespace collage::codegen {

StepBlock choose_step_block(const StepShape& shape, const Machine& machine) {
  const int64_t all = ceil_div(shape.hidden, machine.lanes);
  StepBlock best;
  double least = 0;
  for (const int64_t vectors : {1, 2, 3, 4, 6, 8}) {
    if (vectors > all) break;
    int64_t rows = shape.most_rows;
    for (const int64_t gates : shape.gates) rows = std::min(rows, (machine.registers - 1) / (gates * vectors) - 1);
    if (rows < 1) break;
    rows = split_rows(shape.batch, rows).rows;
    double cost = 0;
    for (const int64_t gates : shape.gates) cost += block_cycles(rows, gates * vectors);
    cost *= static_cast<double>(ceil_div(all, vectors)) * static_cast<double>(ceil_div(shape.batch, rows));
    if (least == 0 || cost < least * 0.98) {
      least = cost;
      best = {vectors, rows};
    }
  }
  return best;
}

}  // namespace collage::codegen
