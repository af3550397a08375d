// SPDX-License-Identifier: Apache-2.0
// The placement problem as plain data (section 6 of the design): what the searches, the oracles and the evaluator
// share.
//
// Choose candidates that cover every node exactly once, with an acyclic quotient graph, so that
//
//     sum over chosen c of cost(c)  +  sum over values v of St(w(v), F(v))
//
// is least. w(v) is the format in which the writer makes v (model inputs: `host` plain), F(v) the formats that readers
// in *other* partitions want (model outputs want `host` plain), St the cheapest arborescence from w to F in the graph
// whose nodes are formats and whose edges are `conversions[v]`. Constants are resident and no values here.
//
// Nodes are 0 … node_count-1 in topological order. Nothing here knows operators, rules or files, so tests can build
// random problems directly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/placement.h"
#include "runtime/core/duration.h"

namespace collage::place {

using runtime::Duration;

/// Index into Problem::formats.
using FormatId = int32_t;

struct ConversionEdge {
  FormatId from = 0;
  FormatId to = 0;
  Duration cost;
};

/// A value that could cross a boundary: not a constant, written by a node or a model input.
struct ProblemValue {
  int writer = -1;                          ///< node, or -1: a model input
  std::vector<int> readers;                 ///< nodes, ascending, each once
  bool is_output = false;                   ///< also wanted in `host_plain`
  std::vector<ConversionEdge> conversions;  ///< edges of its graph of formats, with this value's costs
};

struct ValueFormat {
  int value = 0;
  FormatId format = 0;
};

/// A set of nodes that one backend instance runs as a unit.
struct Candidate {
  std::vector<int> nodes;  ///< ascending, not empty
  Duration cost;
  std::vector<ValueFormat> reads;   ///< every value read inside and written outside, by value
  std::vector<ValueFormat> writes;  ///< every value written inside that is read outside or an output, by value
  int owner = 0;                    ///< index into Problem::owners
  std::string rule;                 ///< breaks ties: smaller first
};

/// One instance of one backend.
struct Owner {
  std::string backend;
  std::string instance;
  std::optional<int> max_partitions;  ///< of the backend, over all its owners that state a limit
  std::vector<int> conflicts;         ///< owners of backends that may not be in one plan with this one
};

struct Problem {
  int node_count = 0;
  std::vector<ProblemValue> values;
  std::vector<ir::Format> formats;  ///< formats[host_plain] is `host` plain
  FormatId host_plain = 0;
  std::vector<Owner> owners;
  std::vector<Candidate> candidates;
};

/// Candidates of one solution, ascending by their first node, and what they cost.
struct Solution {
  std::vector<int> chosen;
  Duration cost;         ///< of candidates and conversions together
  Duration bound;        ///< proven: no solution costs less
  bool optimal = false;  ///< cost == bound
  uint64_t states = 0;   ///< expanded by the search
};

}  // namespace collage::place
