// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/search_input.h"

namespace collage::search {

SearchInput with_problem(const SearchInput& input, const place::BuiltProblem& built) {
  return {.graph = input.graph,
          .built = built,
          .rules = input.rules,
          .written = input.written,
          .limits = input.limits,
          .options = input.options,
          .objective = input.objective,
          .machine = input.machine,
          .cache = input.cache,
          .targets = input.targets};
}

}  // namespace collage::search
