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
using Twin = std::tuple<std::vector<NodeId>, std::string, Cost, Formats, Formats, std::vector<ConstantId>, bool,
                        std::vector<ProblemValueId>>;

Twin describe(const Candidate& candidate, const Table<FormatId, FormatId>* swapped) {
  const auto list = [&](const std::vector<ValueFormat>& items) {
    Formats result;
    for (const ValueFormat& item : items) {
      result.emplace_back(item.value, swapped != nullptr ? (*swapped)[item.format] : item.format);
    }
    std::sort(result.begin(), result.end());
    return result;
  };
  return {candidate.nodes,        candidate.rule,      candidate.cost,     list(candidate.reads),
          list(candidate.writes), candidate.constants, candidate.may_join, candidate.kept};
}

}  // namespace

InstanceSymmetry::InstanceSymmetry(const Problem& problem) : places_(problem.formats.size()) {
  std::vector<std::string> instances;
  std::map<std::string, std::vector<OwnerId>> owners_at;
  Table<OwnerId, bool> is_used(problem.owners.size());
  for (const Candidate& candidate : problem.candidates) is_used[candidate.owner] = true;
  for (OwnerId o : problem.owners.ids()) {
    const Owner& owner = problem.owners[o];
    if (owner.instance == "host" || !owner.members.empty() || !is_used[o]) continue;
    std::vector<OwnerId>& here = owners_at[owner.instance];
    if (here.empty()) instances.push_back(owner.instance);
    here.push_back(o);
  }
  std::vector<Table<MemberId, std::string>> groups;
  for (const std::string& instance : instances) {
    const auto at = std::find_if(groups.begin(), groups.end(), [&](const Table<MemberId, std::string>& group) {
      return are_equal(problem, owners_at[group.front()], owners_at[instance]);
    });
    if (at == groups.end()) {
      groups.push_back({instance});
    } else {
      at->push_back(instance);
    }
  }
  for (const Table<MemberId, std::string>& group : groups) {
    if (group.size() > 1) add_group(problem, group);
  }
}

namespace {

bool conflict(const Problem& problem, OwnerId a, OwnerId b) {
  const std::vector<OwnerId>& enemies = problem.owners[a].conflicts;
  return std::find(enemies.begin(), enemies.end(), b) != enemies.end();
}

/// With the owners of two instances in each other's places, they conflict with the same owners.
bool have_same_conflicts(const Problem& problem, const std::vector<OwnerId>& a, const std::vector<OwnerId>& b) {
  Table<OwnerId, OwnerId> swapped;
  for (OwnerId o : problem.owners.ids()) swapped.push_back(o);
  for (size_t i = 0; i < a.size(); ++i) {
    swapped[a[i]] = b[i];
    swapped[b[i]] = a[i];
  }
  for (OwnerId one : a) {
    for (OwnerId other : problem.owners.ids()) {
      if (conflict(problem, one, other) != conflict(problem, swapped[one], swapped[other])) return false;
    }
  }
  return true;
}

}  // namespace

bool InstanceSymmetry::are_equal(const Problem& problem, const std::vector<OwnerId>& a,
                                 const std::vector<OwnerId>& b) const {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Owner& x = problem.owners[a[i]];
    const Owner& y = problem.owners[b[i]];
    if (x.backend != y.backend || x.memory != y.memory || x.joins != y.joins) return false;
  }
  if (!have_same_conflicts(problem, a, b)) return false;
  const std::string& first = problem.owners[a.front()].instance;
  const std::string& second = problem.owners[b.front()].instance;
  const Table<FormatId, FormatId> swapped = swapped_formats(problem, first, second);
  for (size_t i = 0; i < a.size(); ++i) {
    std::vector<Twin> mine, theirs;
    for (const Candidate& candidate : problem.candidates) {
      if (candidate.owner == a[i]) mine.push_back(describe(candidate, nullptr));
      if (candidate.owner == b[i]) theirs.push_back(describe(candidate, &swapped));
    }
    std::sort(mine.begin(), mine.end());
    std::sort(theirs.begin(), theirs.end());
    if (mine != theirs) return false;
  }
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

void InstanceSymmetry::add_group(const Problem& problem, const Table<MemberId, std::string>& instances) {
  const GroupId group = formats_of_.add(Table<MemberId, Table<KindId, FormatId>>(instances.size()));
  const std::string& first = instances.front();
  for (MemberId i : instances.ids()) {
    const Table<FormatId, FormatId> swapped = swapped_formats(problem, first, instances[i]);
    for (FormatId f : problem.formats.ids()) {
      if (problem.formats[f].space != first) continue;
      const FormatId format = i == 0 ? f : swapped[f];
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
