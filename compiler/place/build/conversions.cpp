// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/conversions.h"

#include "runtime/core/host_space.h"

namespace collage::place {

void add_conversions(const ir::Graph& graph, const FormatGraph& conversions, BuiltProblem* built) {
  Problem& problem = built->problem;
  Table<ProblemValueId, FormatGraph::Forms> forms(problem.values.size());
  for (const Candidate& candidate : problem.candidates) {
    for (const auto* list : {&candidate.reads, &candidate.writes}) {
      for (const ValueFormat& item : *list) {
        const ir::Format& format = problem.formats[item.format];
        FormatGraph::Forms& own = forms[item.value];
        own.spaces.insert(format.space);
        if (const int host = conversions.host_of(format.space); host != 0) own.spaces.insert(runtime::host_space(host));
        own.layouts.insert(format.layout);
        own.storages.insert(format.storage);
        if (list == &candidate.writes) own.written.insert(format.storage);
      }
    }
  }
  for (ProblemValueId v : problem.values.ids()) {
    problem.values[v].conversions = conversions.edges(graph.value(built->values[v]).type, forms[v], &problem.formats);
  }
}

}  // namespace collage::place
