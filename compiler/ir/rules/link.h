// SPDX-License-Identifier: Apache-2.0
// A link between memories or switches, as rule files declare it. topology.h finds the ways over them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/core/duration.h"
#include "runtime/support/span.h"

namespace collage::ir {

using runtime::Duration;

/// `ring`, `torus(4, 8)`, `tree(8)`: a network of all instances of a device, or of hosts. sema makes switches of it.
struct LinkShape {
  enum class Kind { Ring, Torus, Tree };
  Kind kind = Kind::Ring;
  std::vector<int> sizes{};  ///< Torus: of its dimensions; Tree: how many hang on one switch

  friend bool operator==(const LinkShape&, const LinkShape&) = default;
};

struct Link {
  std::string to;  ///< `host`, a switch, or a device of any backend; its own name: between its instances. A switch that
                   ///< sema made also names instances: `npu[3]`, `host[0]`
  double bytes_per_second = 0;
  Duration latency;
  bool duplex = false;
  std::optional<double> joules_per_byte;
  support::Span span;
  std::optional<LinkShape> shape{};  ///< until the rule set is complete
};

}  // namespace collage::ir
