// SPDX-License-Identifier: Apache-2.0
// Equal instances of one device are interchangeable: what npu[0] and npu[1] do in a partial solution may be swapped
// without any difference to its futures.
//
//     %a in npu[1], %b in npu[0]   =>   the key of   %a in npu[0], %b in npu[1]
//
// Keys of partial solutions name such instances in the order in which live values mention them, so that partial
// solutions which differ in names alone are merged.
#pragma once

#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

class InstanceSymmetry {
 public:
  /// Instances of one backend are equal if their candidates come in twins (nodes, cost, rule, formats) and every value
  /// has the same conversions with the two swapped.
  explicit InstanceSymmetry(const Problem& problem);

  bool exists() const { return !formats_of_.empty(); }

  /// Gives names in order of appearance.
  class Renaming {
   public:
    explicit Renaming(const InstanceSymmetry& symmetry);
    FormatId operator()(FormatId format);

   private:
    const InstanceSymmetry& symmetry_;
    std::vector<std::vector<int>> name_;  ///< by group and instance; -1: not mentioned yet
    std::vector<int> next_;               ///< by group
  };

 private:
  struct Place {
    int group = -1;  ///< of equal instances; -1: none
    int instance = 0;
    int kind = 0;  ///< which format, whatever the instance
  };
  bool are_equal(const Problem& problem, int a, int b) const;
  void add_group(const Problem& problem, const std::vector<int>& owners);

  std::vector<Place> places_;                                   ///< by format
  std::vector<std::vector<std::vector<FormatId>>> formats_of_;  ///< by group, instance, kind
};

}  // namespace collage::place
