// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/host_cost.h"

#include <algorithm>

#include "compiler/match/evaluate.h"

namespace collage::place {
namespace {

/// Two cores with AVX-512 and two FMA units reach 480 GFLOP/s on paper, generated code over whole networks 180. The
/// same figure as in rules/host.rules: the two compete for the same nodes.
constexpr double kFlopsPerSecond = 180e9;
/// One socket's memory, as a stream of reads and writes sees it.
constexpr double kBytesPerSecond = 10e9;
/// A call of a compiled kernel and waking the pool.
constexpr double kLaunchSeconds = 1e-6;

}  // namespace

runtime::Duration host_cost(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  match::Quantities work = match::quantities_of(graph, nodes);
  return runtime::Duration::seconds(kLaunchSeconds +
                                    std::max(work.flops / kFlopsPerSecond, work.bytes / kBytesPerSecond));
}

}  // namespace collage::place
