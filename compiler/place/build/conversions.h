// SPDX-License-Identifier: Apache-2.0
// The conversions that each value may need.
#pragma once

#include "compiler/place/build/built_problem.h"
#include "compiler/place/formats/format_graph.h"

namespace collage::place {

/// Lists, for each value, the conversions between all formats in which some candidate reads or writes it, every choice
/// of their spaces, layouts and storages, and the host; of devices of a cluster also their hosts.
void add_conversions(const ir::Graph& graph, const FormatGraph& conversions, BuiltProblem* built);

}  // namespace collage::place
