// SPDX-License-Identifier: Apache-2.0
// The rule file of a cluster, with figures measured between its hosts in its links. A link gets the figures of the
// slowest way over it. Over a switch a message passes two links, each with half of the time:
//
//     host { link lan bandwidth 10 GB/s }    host - host[1]: 9 us, 8 GB/s    host - host[2]: 11 us, 7 GB/s
//     =>  host { link lan bandwidth 7 GB/s latency 5.5 us }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/cluster/link_measurement.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::driver {

struct MeasuredRules {
  std::string path;  ///< of the file that declares the cluster
  std::string text;  ///< all of it
};

/// Expects rules with a cluster, from `sources`. `where`: place of errors about no link. Returns nullopt after one: the
/// cluster has no link between hosts, or one whose figures are computed.
std::optional<MeasuredRules> with_measured_links(const ir::RuleSet& rules,
                                                 const std::vector<runtime::PairFigures>& pairs,
                                                 const support::SourceManager& sources, const std::string& where,
                                                 support::Diagnostics& diags);

}  // namespace collage::driver
