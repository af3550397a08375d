// SPDX-License-Identifier: Apache-2.0
// The certificate file: a placement problem, the plan that was found for it, and a proof of a lower bound
// (problem/proof.h). `collagec --certificate FILE` writes it, `collage-check-certificate FILE` judges it.
//
// JSON. Nodes, values, formats, owners, constants, candidates and cases go by their index. A COST is whole picoseconds,
// null where there is none. Values of equal conversions share a table. `kept`: values inside a candidate that take
// memory.
//
//     {"collage_certificate": 5, "model": "digits",
//      "about": {"model": HASH, "files": [["npu.rules", HASH], …], "options": {"--forbid": ["*=npu"], …},
//                "words": ["`--forbid *=npu`: nodes do not run there", …], "costs": "estimated" or "measured",
//                "problem": HASH},
//      "nodes": ["conv1", …], "formats": ["host", "npu[0] NHWC", …], "host_plain": 0,
//      "owners": [{"backend": "npu", "instance": "npu[0]", "max_partitions": 8, "conflicts": [3], "memory": 8388608,
//                  "joins": COST}],
//      "conversions": [[[FROM, TO, COST], …], …],
//      "values": [{"name": "x", "writer": -1, "readers": [0, 4], "output": false, "bytes": 256, "conversions": 0}],
//      "constants": [BYTES, …],
//      "candidates": [{"owner": 1, "rule": "conv", "nodes": [0], "cost": COST, "reads": [[VALUE, FORMAT], …],
//                      "writes": [[VALUE, FORMAT], …], "constants": [0], "kept": [VALUE, …], "unit": true}],
//      "plan": {"chosen": [CANDIDATE, …], "regions": [REGION, …], "cost": COST},
//      "claim": {"bound": COST, "optimal": true},
//      "proof": {"order": [NODE, …], "scale": 1024, "bound": COST,
//                "cases": [{"rounds": [{"limits": [["partitions", OWNER, COST], ["memory", OWNER, COST], …],
//                                       "shares": [[CANDIDATE, [COST, …]], …],
//                                       "prices": [[VALUE, READER, FORMAT, COST], …]},
//                                      "again", {"again": true, "limits": […]}, …],
//                           "sweep": STATES,
//                           "cover": [NODE, [CANDIDATE, …]], or "conflict": [OWNER, OWNER], or
//                           "working": [OWNER, BYTES], "then": [CASE, CASE]}, …]}}
//
// `claim` is what the search says of the plan. It may be more than the proof shows: that nothing was left to search, no
// one can see from outside. `proof` is null where there is none, and `about`, what the problem was made from, where
// that is not known. `collage-check-plan` makes the problem again from it.
#pragma once

#include <string>
#include <string_view>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/proof.h"
#include "runtime/core/status.h"

namespace collage::certificate {

/// The version of the file that is written. Others are refused.
constexpr int kVersion = 5;

struct Names {
  std::string model;
  support::Table<place::NodeId, std::string> nodes;
  support::Table<place::ProblemValueId, std::string> values;
};

/// What the problem was made from. Hashes find what was changed; they are no signatures.
struct About {
  std::string model;                                                      ///< hash of its files
  std::vector<std::pair<std::string, std::string>> files;                 ///< rules, placements: name, hash
  std::vector<std::pair<std::string, std::vector<std::string>>> options;  ///< that the problem depends on
  std::vector<std::string> words;                                         ///< the same for people
  bool is_measured = false;
  std::string problem;  ///< hash of all that stands before the plan

  bool exists() const { return !model.empty(); }
};

struct CertificateFile {
  Names names;
  place::Problem problem;    ///< a format is kept as its text, in Format::space
  place::Solution solution;  ///< its bound is what the search claims
  place::Proof proof;
  About about{};
};

/// Returns the hash of names and problem, costs included.
std::string problem_hash(const CertificateFile& file);

/// Expects a problem whose costs are times.
std::string to_json(const CertificateFile& file);

/// After: every index is in range and every cost one that can be added up. Nothing else is known of it yet.
runtime::Result<CertificateFile> read_certificate(std::string_view text);

}  // namespace collage::certificate
