// SPDX-License-Identifier: Apache-2.0
// TVM's CollagePartition (RFC 62, apache/tvm v0.12 src/relay/collage) over our candidates: the baseline that others
// publish. Written from its description, faults included where they are the algorithm:
//
//   0. Valid candidates are convex, have one exit (node that is read outside) and no tap (exit that is read inside,
//   too):
//      what TVM hard-wires, so that partitions cannot wait for each other.
//   1. Prune. A candidate is maximal if no other one of the same backend instance holds all its nodes. Then
//
//          kept := {}, current := all
//          repeat  kept := kept + maximal(current)          until that adds none
//                  current := current - { c in kept that meets, and is not equal to, another in kept }
//
//      Two candidates of one instance with equal nodes each make the other one not maximal, and both are lost.
//   2. Dijkstra over covered sets. From a set go the kept candidates whose first node is the first uncovered one and
//      that meet nothing covered:
//
//          cost(covered + nodes(c)) = min over c of  cost(covered) + cost(c)
//
//      Equal costs: the set popped first, by (cost, covered bits), keeps what it reached. Transfers and layouts have no
//      part in it.
//
// Where TVM stops with "no candidate was found covering" a node, the pruned and the other candidates of that node come
// back; so a host rule always finishes. What TVM does not know follows afterwards: the formats of the chosen partitions
// and their conversions are the best ones for that choice, and the cost is the true one. It does not know limits of
// backends and memories either, and what came back may have several exits: its choice may be no placement at all. Then
// as many of its partitions stay as fit, the largest first (greedy_search.h), and `Solution::given_up` has the reason:
//
//     a: chip -> b: host -> c: chip, and `max partitions 1` of chip   =>   a: chip -> b: host -> c: host
#pragma once

#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

/// The candidates that pruning keeps, ascending. Candidates of one instance and rule that differ in formats
/// only stand or fall together, for TVM knows no formats.
std::vector<CandidateId> prune_as_tvm(const Problem& problem);

}  // namespace collage::place
