// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/values.h"

#include <algorithm>

namespace collage::place {

void add_values(const ir::Graph& graph, BuiltProblem* built) {
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) continue;
    ProblemValue added;
    added.writer = value.producer;
    for (const ir::Use& use : value.uses) added.readers.push_back(use.node);
    std::sort(added.readers.begin(), added.readers.end());
    added.readers.erase(std::unique(added.readers.begin(), added.readers.end()), added.readers.end());
    added.is_output = value.is_output;
    built->problem.values.push_back(std::move(added));
    built->values.push_back(id);
  }
}

}  // namespace collage::place
