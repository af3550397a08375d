// SPDX-License-Identifier: Apache-2.0
// Placements of a model with some of its sites quantised. The searches of the two forms share one compilation, so that
// costs are measured and code is compiled once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compilation/compilation.h"
#include "compiler/quantize/quantize_graph.h"

namespace collage::quantize_search {

/// What can be quantised, of a model after its passes.
struct QuantizableModel {
  ir::Graph floats;
  quantize::QuantizableSites sites;
  quantize::Ranges ranges;
};

/// A partition in which sites work on integers.
struct SiteGroup {
  size_t partition = 0;
  std::vector<size_t> sites;
};

struct TriedSites {
  std::vector<bool> wanted;  ///< by site
  quantize::QuantizedGraph quantized;
  ir::Placement placement;  ///< empty: there is none, the constraints forbid it
  place::Cost cost = place::Cost::max();

  bool is_possible() const { return !placement.empty(); }
  bool has_integers() const;
  /// By partition.
  std::vector<SiteGroup> groups() const;
};

class SiteTrials {
 public:
  /// `backends`: that may work on integers; empty: all. The model must outlive the trials.
  SiteTrials(compilation::Compilation& compilation, const QuantizableModel& model, std::vector<std::string> backends,
             support::Diagnostics& diags);

  /// The best placement with these sites quantised; an impossible one where constraints want what only the other form
  /// can do. Returns nullopt after an error in the constraints themselves.
  std::optional<TriedSites> place(const std::vector<bool>& wanted);
  /// Reports why these sites have no placement.
  void explain(const TriedSites& impossible);
  /// The same without sites that a backend would run which may not, and without those Adds that the host would run: it
  /// does them in f32 just as well. What is left does not grow.
  std::optional<TriedSites> settle(std::vector<bool> wanted);

  /// Leaves the compilation with this graph.
  void adopt(const TriedSites& tried);

 private:
  bool read_constraints_once();
  std::vector<place::Constraint> constraints_on(const quantize::QuantizedGraph& quantized) const;
  std::optional<search::FoundPlacement> search(support::Diagnostics& diags);
  /// The integers of sites are made by backends that may, and by the host, of which `settle` takes them away.
  void forbid_others(const quantize::QuantizedGraph& quantized, std::vector<place::Constraint>* constraints) const;
  bool is_allowed(const std::string& backend) const;
  bool may_stay(size_t site, const std::string& backend) const;

  compilation::Compilation& compilation_;
  const QuantizableModel& model_;
  std::vector<std::string> backends_;
  support::Diagnostics& diags_;
  std::optional<std::vector<place::Constraint>> constraints_;  ///< on the nodes of the model in f32
};

}  // namespace collage::quantize_search
