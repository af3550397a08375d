// SPDX-License-Identifier: Apache-2.0
// Models and rules of the tests of build_problem, and its candidates as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/place/build/build_problem.h"
#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {

inline constexpr const char* kThousand = "(%x: f32[1000]) -> (%y: f32[1000])";
inline constexpr const char* kTwo = "%a = Relu(%x)\n%y = Relu(%a)";
inline constexpr const char* kNpu =
    "backend npu {\n  runtime sim\n"
    "  device npu count 2 { link host bandwidth 1 GB/s latency 8 us  link npu bandwidth 2 GB/s latency 1 us }\n"
    "  rule relu { match Relu(v) where dim(v, 0) % 10 == 0 else \"{dim(v, 0)} elements\" cost 1 us lower \"r\" }\n"
    "  partition { join any launch 2 us }\n}\n";

/// The candidates of a problem.
inline Sets lines(const Case& setup, const place::BuiltProblem& built) {
  Sets result;
  std::string text = place::print_candidates(setup.graph, built);
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

/// A partition of the input.
inline ir::Partition partition(const std::string& backend, const std::string& instance, std::vector<ir::NodeId> nodes) {
  ir::Partition made;
  made.name = "p0";
  made.backend = backend;
  made.instance = instance;
  made.nodes = std::move(nodes);
  return made;
}

}  // namespace collage::testing
