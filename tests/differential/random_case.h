// SPDX-License-Identifier: Apache-2.0
// Random models and random rule files, as text in our own languages: small graphs with branches, joins, several
// outputs, convolutions, and operators with two results; backends with random patterns, joins, exits, links, layouts
// and costs.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace collage::testing {

struct RandomCase {
  std::string model;
  std::string rules;
};

/// The same case for the same seed. `max_nodes` >= 1.
RandomCase random_case(uint64_t seed, int max_nodes);

}  // namespace collage::testing
