// SPDX-License-Identifier: Apache-2.0
// The measured costs that a certificate states, for making its problem again without a measurement. A candidate that
// the certificate has not could not be measured, as it says.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/certificate/certificate_file.h"
#include "compiler/place/costs/cost_source.h"

namespace collage::driver {

/// Knows candidates by their instance, nodes and formats. Of several that agree in these, one cost is returned for all.
class StatedCosts final : public place::CostSource {
 public:
  /// The model of the certificate is `graph`. Costs in seconds.
  StatedCosts(const certificate::CertificateFile& file, const ir::Graph& graph);

  /// Partitions of other graphs, which conversions are measured as, keep their estimates.
  std::vector<place::MeasuredCost> measure(const ir::Graph& graph,
                                           const std::vector<ir::Partition>& candidates) override;
  std::vector<place::KnownCost> look_up(const ir::Graph& graph, const std::vector<ir::Partition>& candidates) override;

  /// Candidates of the model that `measure` did not find.
  size_t not_found() const { return not_found_; }

 private:
  /// Names of values with names of formats.
  using Boundary = std::set<std::pair<std::string, std::string>>;
  struct Key {
    std::string instance;
    std::vector<ir::NodeId> nodes;
    Boundary inputs, outputs;

    auto operator<=>(const Key&) const = default;
  };

  static Key key_of(const ir::Graph& graph, const ir::Partition& candidate);

  const ir::Graph& graph_;
  std::map<Key, place::Cost> costs_;
  size_t not_found_ = 0;
};

}  // namespace collage::driver
