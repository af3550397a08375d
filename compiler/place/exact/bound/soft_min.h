// SPDX-License-Identifier: Apache-2.0
// The chain bound made smooth: instead of the cheapest chain the soft minimum over all chains,
//
//     -T log( sum over chains of exp(-cost / T) )
//
// whose slope is no single chain but how likely every run is when cheap chains are likelier than expensive ones. One
// step along it improves all places of the graph at once, where a step along the slope of the cheapest chain sees one
// chain of very many that are equally cheap. T goes to zero and the bound to the true one (tune_bound.h).
#pragma once

#include "compiler/place/exact/bound/relaxation_layout.h"

namespace collage::place {

/// A number for each multiplier.
struct SmoothPoint {
  Table<RunId, double> shares;
  Table<PriceId, double> prices;
};

class SmoothChain {
 public:
  explicit SmoothChain(const ChainLayout& layout);

  /// `point`: the multipliers, in the unit of `temperature`. `slope`, of the same size: how often each is paid less
  /// how often it is got back. Returns the soft minimum.
  double evaluate(const SmoothPoint& point, double temperature, SmoothPoint& slope);

 private:
  /// One past the last position.
  Position past() const { return advance(layout_.crossing.next_id(), -1); }
  void backward(const SmoothPoint& point, double temperature);
  void forward(SmoothPoint& slope);
  void give_back(double temperature, SmoothPoint& slope);

  const ChainLayout& layout_;
  Table<CellId, double> cells_;
  bool is_priced_ = false;  ///< cells that no price changes are set
  Table<GainId, double> gains_;
  Table<StartId, double> start_;  ///< soft cost from a start on
  Table<EndId, double> end_;      ///< and from an end on
  Table<PassId, double> weight_;  ///< of its start, how likely the run is
  /// A pair of an end and a start at its position.
  using LinkWeightId = Id<struct LinkWeightTag>;
  Groups<EndId, LinkWeightId> link_weights_of_;
  Table<LinkWeightId, double> link_weight_;  ///< of the end, how likely the start is
  Table<StartId, double> chance_of_start_;
  Table<EndId, double> chance_of_end_;
  Table<CellId, double> chance_of_cell_;
  Table<CellId, WritingId> writing_of_cell_;  ///< none: a price
};

}  // namespace collage::place
