// SPDX-License-Identifier: Apache-2.0
// Equal instances of one device are interchangeable: what npu[0] and npu[1] do in a partial solution may be swapped
// without any difference to its futures. So may be hosts of a cluster, each with all backends that work in its memory;
// but not the first, where inputs and results lie.
//
//     %a in npu[1], %b in npu[0]   =>   the key of   %a in npu[0], %b in npu[1]
//
// Keys of partial solutions name such instances in the order in which live values mention them, so that partial
// solutions which differ in names alone are merged.
#pragma once

#include "compiler/place/problem/problem.h"

namespace collage::place {

class InstanceSymmetry {
 public:
  /// Instances are equal if their backends are the same, candidates come in twins (nodes, cost, rule, formats) and
  /// every value has the same conversions with the two swapped.
  explicit InstanceSymmetry(const Problem& problem);

  bool exists() const { return !formats_of_.empty(); }

  /// A group of equal instances.
  using GroupId = Id<struct GroupTag>;
  /// An instance of a group.
  using MemberId = Id<struct MemberTag>;
  /// A format relative to its instance: equal for the same format of equal instances.
  using KindId = Id<struct KindTag>;

  /// Gives names in order of appearance.
  class Renaming {
   public:
    explicit Renaming(const InstanceSymmetry& symmetry);
    FormatId operator()(FormatId format);

   private:
    const InstanceSymmetry& symmetry_;
    Table<GroupId, Table<MemberId, MemberId>> name_;  ///< none: not mentioned yet
    Table<GroupId, MemberId> next_;
  };

 private:
  struct Place {
    GroupId group;  ///< none: its instance has no equal
    MemberId member = 0;
    KindId kind = 0;
  };
  /// Compares the owners at two instances, in their order.
  bool are_equal(const Problem& problem, const std::vector<OwnerId>& a, const std::vector<OwnerId>& b) const;
  void add_group(const Problem& problem, const Table<MemberId, std::string>& instances);

  Table<FormatId, Place> places_;
  Table<GroupId, Table<MemberId, Table<KindId, FormatId>>> formats_of_;
};

}  // namespace collage::place
