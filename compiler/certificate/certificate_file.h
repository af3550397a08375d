// SPDX-License-Identifier: Apache-2.0
// The certificate file: a placement problem, the plan that was found for it, and multipliers that prove a lower bound.
// `collagec --certificate FILE` writes it, `collage-check-certificate FILE` judges it.
//
// JSON. Nodes, values, formats, owners, constants and candidates go by their index. A COST is whole picoseconds,
// null where there is none. Values of equal conversions share a table.
//
//     {"collage_certificate": 1, "model": "digits",
//      "nodes": ["conv1", …], "formats": ["host", "npu[0] NHWC", …], "host_plain": 0,
//      "owners": [{"backend": "npu", "instance": "npu[0]", "max_partitions": 8, "conflicts": [3], "memory": 8388608}],
//      "conversions": [[[FROM, TO, COST], …], …],
//      "values": [{"name": "x", "writer": -1, "readers": [0, 4], "output": false, "bytes": 256, "conversions": 0}],
//      "constants": [BYTES, …],
//      "candidates": [{"owner": 1, "rule": "conv", "nodes": [0], "cost": COST, "reads": [[VALUE, FORMAT], …],
//                      "writes": [[VALUE, FORMAT], …], "constants": [0]}],
//      "plan": {"chosen": [CANDIDATE, …], "cost": COST, "bound": COST, "optimal": true, "proof": "multipliers"},
//      "multipliers": {"order": [NODE, …], "bound": COST,
//                      "rounds": [{"shares": [[CANDIDATE, [COST, …]], …],
//                                  "prices": [[VALUE, READER, FORMAT, COST], …]}, …]}}
//
// `proof` of the plan's bound: `multipliers` alone; `search`: it needs that nothing was left to search, which no one
// can see from outside; `none`: there is no bound.
#pragma once

#include <string>
#include <string_view>

#include "compiler/place/problem/problem.h"
#include "runtime/core/status.h"

namespace collage::certificate {

struct Names {
  std::string model;
  support::Table<place::NodeId, std::string> nodes;
  support::Table<place::ProblemValueId, std::string> values;
};

struct CertificateFile {
  Names names;
  place::Problem problem;  ///< a format is kept as its text, in Format::space
  place::Solution solution;
  std::string proof;
};

/// Expects a problem whose costs are times.
std::string to_json(const Names& names, const place::Problem& problem, const place::Solution& solution);

/// After: every index is in range and every cost one that can be added up. Nothing else is known of it yet.
runtime::Result<CertificateFile> read_certificate(std::string_view text);

}  // namespace collage::certificate
