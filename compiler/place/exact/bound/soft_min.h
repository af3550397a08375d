// SPDX-License-Identifier: Apache-2.0
// The chain bound made smooth: instead of the cheapest chain the soft minimum over all chains,
//
//     -T log( sum over chains of exp(-cost / T) )
//
// whose slope is no single chain but how likely every run is when cheap chains are likelier than expensive ones. One step
// along it improves all places of the graph at once, where a step along the slope of the cheapest chain sees one chain of
// very many that are equally cheap. T goes to zero and the bound to the true one (tune_bound.h).
#pragma once

#include <vector>

#include "compiler/place/exact/bound/relaxation_layout.h"

namespace collage::place {

class SmoothChain {
 public:
  SmoothChain(const ChainLayout& layout, int node_count);

  /// `point`: shares by run, then prices; picoseconds, as `temperature`. `slope`: by the same, how often each is paid
  /// less how often it is got back. Returns the soft minimum.
  double evaluate(const std::vector<double>& point, double temperature, std::vector<double>& slope);

 private:
  void backward(const std::vector<double>& point, double temperature);
  void forward(std::vector<double>& slope);
  void give_back(double temperature, std::vector<double>& slope);

  const ChainLayout& layout_;
  size_t node_count_;
  std::vector<double> cells_;
  bool is_priced_ = false;  ///< cells that no price changes are set
  std::vector<double> gains_;
  std::vector<double> start_;        ///< soft cost from a start on
  std::vector<double> end_;          ///< and from an end on
  std::vector<double> weight_;       ///< by run of the pass: of its start, how likely it is
  std::vector<double> link_weight_;  ///< by end, then start at its position: how likely it is
  std::vector<int> link_weights_from_;
  std::vector<double> chance_of_start_;
  std::vector<double> chance_of_end_;
  std::vector<double> chance_of_cell_;
  std::vector<int> writing_of_cell_;
};

}  // namespace collage::place
