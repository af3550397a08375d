// SPDX-License-Identifier: Apache-2.0
// See instance_symmetry.h.
#include "compiler/place/exact/instance_symmetry.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace collage::place {
namespace {

/// The format with one instance in the place of the other; none: it is not in the table.
Table<FormatId, FormatId> swapped_formats(const Problem& problem, const std::string& a, const std::string& b) {
  Table<FormatId, FormatId> result;
  for (const ir::Format& format : problem.formats) {
    ir::Format other = format;
    if (format.space == a) {
      other.space = b;
    } else if (format.space == b) {
      other.space = a;
    }
    const auto at = std::find(problem.formats.begin(), problem.formats.end(), other);
    result.push_back(at == problem.formats.end() ? FormatId() : FormatId(at - problem.formats.begin()));
  }
  return result;
}

using Formats = std::vector<std::pair<ProblemValueId, FormatId>>;
using Twin = std::tuple<std::vector<NodeId>, std::string, Cost, Formats, Formats, std::vector<ConstantId>, bool>;

Twin describe(const Candidate& candidate, const Table<FormatId, FormatId>* swapped) {
  const auto list = [&](const std::vector<ValueFormat>& items) {
    Formats result;
    for (const ValueFormat& item : items) {
      result.emplace_back(item.value, swapped != nullptr ? (*swapped)[item.format] : item.format);
    }
    std::sort(result.begin(), result.end());
    return result;
  };
  return {candidate.nodes,        candidate.rule,      candidate.cost,    list(candidate.reads),
          list(candidate.writes), candidate.constants, candidate.may_join};
}

}  // namespace

InstanceSymmetry::InstanceSymmetry(const Problem& problem) : places_(problem.formats.size()) {
  using Equals = Table<MemberId, OwnerId>;
  std::map<std::string, std::vector<Equals>> groups;  // by backend
  for (OwnerId o : problem.owners.ids()) {
    if (problem.owners[o].instance == "host") continue;
    std::vector<Equals>& known = groups[problem.owners[o].backend];
    const auto at = std::find_if(known.begin(), known.end(),
                                 [&](const Equals& group) { return are_equal(problem, group.front(), o); });
    if (at == known.end()) {
      known.push_back({o});
    } else {
      at->push_back(o);
    }
  }
  for (const auto& [backend, known] : groups) {
    for (const Equals& group : known) {
      if (group.size() > 1) add_group(problem, group);
    }
  }
}

bool InstanceSymmetry::are_equal(const Problem& problem, OwnerId a, OwnerId b) const {
  const Owner& x = problem.owners[a];
  const Owner& y = problem.owners[b];
  if (x.memory != y.memory || x.joins != y.joins || x.instance == y.instance) return false;
  const auto conflicts_with = [](const Owner& owner, OwnerId other) {
    return std::find(owner.conflicts.begin(), owner.conflicts.end(), other) != owner.conflicts.end();
  };
  for (OwnerId other : problem.owners.ids()) {
    if (other != a && other != b && conflicts_with(x, other) != conflicts_with(y, other)) return false;
    // A third backend on one of the two would tell them apart.
    const std::string& instance = problem.owners[other].instance;
    if (other != a && other != b && (instance == x.instance || instance == y.instance)) return false;
  }
  const Table<FormatId, FormatId> swapped = swapped_formats(problem, x.instance, y.instance);
  std::vector<Twin> mine, theirs;
  for (const Candidate& candidate : problem.candidates) {
    if (candidate.owner == a) mine.push_back(describe(candidate, nullptr));
    if (candidate.owner == b) theirs.push_back(describe(candidate, &swapped));
  }
  std::sort(mine.begin(), mine.end());
  std::sort(theirs.begin(), theirs.end());
  if (mine != theirs) return false;
  for (const ProblemValue& value : problem.values) {
    using Edge = std::tuple<FormatId, FormatId, Cost>;
    std::vector<Edge> edges, others;
    for (const ConversionEdge& edge : value.conversions) {
      edges.emplace_back(edge.from, edge.to, edge.cost);
      others.emplace_back(swapped[edge.from], swapped[edge.to], edge.cost);
    }
    std::sort(edges.begin(), edges.end());
    std::sort(others.begin(), others.end());
    if (edges != others) return false;
  }
  return true;
}

void InstanceSymmetry::add_group(const Problem& problem, const Table<MemberId, OwnerId>& owners) {
  const GroupId group = formats_of_.add(Table<MemberId, Table<KindId, FormatId>>(owners.size()));
  const std::string& first = problem.owners[owners.front()].instance;
  for (FormatId f : problem.formats.ids()) {
    if (problem.formats[f].space != first) continue;
    for (MemberId i : owners.ids()) {
      const std::string& instance = problem.owners[owners[i]].instance;
      const FormatId format = i == 0 ? f : swapped_formats(problem, first, instance)[f];
      const KindId kind = formats_of_[group][i].add(format);
      if (format.is_valid()) places_[format] = {group, i, kind};
    }
  }
}

InstanceSymmetry::Renaming::Renaming(const InstanceSymmetry& symmetry)
    : symmetry_(symmetry), next_(symmetry.formats_of_.size(), 0) {
  for (const auto& group : symmetry.formats_of_) name_.push_back(Table<MemberId, MemberId>(group.size()));
}

FormatId InstanceSymmetry::Renaming::operator()(FormatId format) {
  if (!format.is_valid()) return format;
  const Place& place = symmetry_.places_[format];
  if (!place.group.is_valid()) return format;
  MemberId& name = name_[place.group][place.member];
  if (!name.is_valid()) {
    name = next_[place.group];
    next_[place.group] = advance(name, 1);
  }
  return symmetry_.formats_of_[place.group][name][place.kind];
}

}  // namespace collage::place
