// SPDX-License-Identifier: Apache-2.0
// St(w, F) of every value of a problem, each computed once.
//
// A set of wanted formats is a mask over the formats in which some candidate reads the value (and `host` plain). Values
// with equal conversions and equal wanted formats share one table.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

using FormatMask = uint64_t;

class ConversionCosts {
 public:
  explicit ConversionCosts(const Problem& problem);

  /// The bit of a wanted format; 0 if no candidate wants it, or if it is past the 64th that the value is wanted in.
  FormatMask bit(ProblemValueId value, FormatId format) const;
  /// What a value needs before any reader is known: `host` plain for model outputs.
  FormatMask base(ProblemValueId value) const;
  /// `Cost::max()` if some wanted format cannot be reached.
  Cost cost(ProblemValueId value, FormatId written, FormatMask wanted);
  /// cost(written, have | more) - cost(written, have); `Cost::max()` if it cannot be had.
  Cost increment(ProblemValueId value, FormatId written, FormatMask have, FormatMask more);
  /// A subset of `have` that makes every increment over subsets of `possible` the same as `have` does: the same one for
  /// all sets that no future choice can distinguish.
  FormatMask canonical(ProblemValueId value, FormatId written, FormatMask have, FormatMask possible);

  std::vector<FormatId> formats(ProblemValueId value, FormatMask mask) const;
  /// How many formats the value is wanted in, `host` plain among them.
  size_t wanted_formats(ProblemValueId value) const { return group(value).wanted.size(); }

 private:
  struct Group {
    std::vector<ConversionEdge> edges;
    std::vector<FormatId> wanted;                                 // bit -> format
    Table<FormatId, std::unordered_map<FormatMask, Cost>> costs;  // by written format
    std::map<std::vector<FormatMask>, FormatMask> canonical;
  };
  using GroupId = Id<Group>;
  Group& group(ProblemValueId value) { return groups_[group_of_[value]]; }
  const Group& group(ProblemValueId value) const { return groups_[group_of_[value]]; }

  const Problem& problem_;
  Table<GroupId, Group> groups_;
  Table<ProblemValueId, GroupId> group_of_;
};

}  // namespace collage::place
