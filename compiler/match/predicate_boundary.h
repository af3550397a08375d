// SPDX-License-Identifier: Apache-2.0
// Where the border of a `where` runs, if it is a simple bound: comparisons of something that varies with something that
// is fixed for a backend instance.
//
//     where dim(x, 1) <= 4096                =>   dim(x, 1) <= 4096
//     where dim(x, 1) % lanes == 0           =>   dim(x, 1) % 8 == 0      for an instance with lanes = 8
//     where c.group == 1                     =>   nothing: one case, no bound
//     where dim(x, 1) <= dim(w, 0)           =>   nothing: both sides vary
#pragma once

#include <string>

#include "compiler/match/evaluate.h"
#include "runtime/support/source_manager.h"

namespace collage::match {

/// In the words of the rule file, attributes of the backend replaced by their values; empty if it is no simple bound.
std::string predicate_boundary(const ir::Clause& clause, const Graph& graph, const ir::Backend& backend,
                               const AttrValues& attrs, const support::SourceManager& sources);

}  // namespace collage::match
