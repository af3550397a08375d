// SPDX-License-Identifier: Apache-2.0
// See instance_symmetry.h.
#include "compiler/place/exact/instance_symmetry.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace collage::place {
namespace {

/// The format with one instance in the place of the other; -1: it is not in the table.
std::vector<FormatId> swapped_formats(const Problem& problem, const std::string& a, const std::string& b) {
  std::vector<FormatId> result;
  for (const ir::Format& format : problem.formats) {
    ir::Format other = format;
    if (format.space == a) {
      other.space = b;
    } else if (format.space == b) {
      other.space = a;
    }
    const auto at = std::find(problem.formats.begin(), problem.formats.end(), other);
    result.push_back(at == problem.formats.end() ? -1 : static_cast<FormatId>(at - problem.formats.begin()));
  }
  return result;
}

using Formats = std::vector<std::pair<int, FormatId>>;
using Twin = std::tuple<std::vector<int>, std::string, Duration, Formats, Formats, std::vector<int>, bool>;

Twin describe(const Candidate& candidate, const std::vector<FormatId>* swapped) {
  const auto list = [&](const std::vector<ValueFormat>& items) {
    Formats result;
    for (const ValueFormat& item : items) {
      result.emplace_back(item.value, swapped != nullptr ? (*swapped)[static_cast<size_t>(item.format)] : item.format);
    }
    std::sort(result.begin(), result.end());
    return result;
  };
  return {candidate.nodes,        candidate.rule,      candidate.cost,    list(candidate.reads),
          list(candidate.writes), candidate.constants, candidate.may_join};
}

}  // namespace

InstanceSymmetry::InstanceSymmetry(const Problem& problem) : places_(problem.formats.size()) {
  std::map<std::string, std::vector<std::vector<int>>> groups;  // by backend: owners that are equal
  for (size_t o = 0; o < problem.owners.size(); ++o) {
    if (problem.owners[o].instance == "host") continue;
    std::vector<std::vector<int>>& known = groups[problem.owners[o].backend];
    const auto at = std::find_if(known.begin(), known.end(), [&](const std::vector<int>& group) {
      return are_equal(problem, group.front(), static_cast<int>(o));
    });
    if (at == known.end()) {
      known.push_back({static_cast<int>(o)});
    } else {
      at->push_back(static_cast<int>(o));
    }
  }
  for (const auto& [backend, known] : groups) {
    for (const std::vector<int>& group : known) {
      if (group.size() > 1) add_group(problem, group);
    }
  }
}

bool InstanceSymmetry::are_equal(const Problem& problem, int a, int b) const {
  const Owner& x = problem.owners[static_cast<size_t>(a)];
  const Owner& y = problem.owners[static_cast<size_t>(b)];
  if (x.memory != y.memory || x.joins != y.joins || x.instance == y.instance) return false;
  const auto conflicts_with = [](const Owner& owner, int other) {
    return std::find(owner.conflicts.begin(), owner.conflicts.end(), other) != owner.conflicts.end();
  };
  for (size_t o = 0; o < problem.owners.size(); ++o) {
    const int other = static_cast<int>(o);
    if (other != a && other != b && conflicts_with(x, other) != conflicts_with(y, other)) return false;
    // A third backend on one of the two would tell them apart.
    const std::string& instance = problem.owners[o].instance;
    if (other != a && other != b && (instance == x.instance || instance == y.instance)) return false;
  }
  const std::vector<FormatId> swapped = swapped_formats(problem, x.instance, y.instance);
  std::vector<Twin> mine, theirs;
  for (const Candidate& candidate : problem.candidates) {
    if (candidate.owner == a) mine.push_back(describe(candidate, nullptr));
    if (candidate.owner == b) theirs.push_back(describe(candidate, &swapped));
  }
  std::sort(mine.begin(), mine.end());
  std::sort(theirs.begin(), theirs.end());
  if (mine != theirs) return false;
  for (const ProblemValue& value : problem.values) {
    using Edge = std::tuple<FormatId, FormatId, Duration>;
    std::vector<Edge> edges, others;
    for (const ConversionEdge& edge : value.conversions) {
      edges.emplace_back(edge.from, edge.to, edge.cost);
      others.emplace_back(swapped[static_cast<size_t>(edge.from)], swapped[static_cast<size_t>(edge.to)], edge.cost);
    }
    std::sort(edges.begin(), edges.end());
    std::sort(others.begin(), others.end());
    if (edges != others) return false;
  }
  return true;
}

void InstanceSymmetry::add_group(const Problem& problem, const std::vector<int>& owners) {
  const int group = static_cast<int>(formats_of_.size());
  formats_of_.emplace_back(owners.size());
  const std::string& first = problem.owners[static_cast<size_t>(owners.front())].instance;
  for (size_t f = 0; f < problem.formats.size(); ++f) {
    if (problem.formats[f].space != first) continue;
    const int kind = static_cast<int>(formats_of_.back().front().size());
    for (size_t i = 0; i < owners.size(); ++i) {
      const std::string& instance = problem.owners[static_cast<size_t>(owners[i])].instance;
      const FormatId format = i == 0 ? static_cast<FormatId>(f) : swapped_formats(problem, first, instance)[f];
      formats_of_.back()[i].push_back(format);
      if (format >= 0) places_[static_cast<size_t>(format)] = {group, static_cast<int>(i), kind};
    }
  }
}

InstanceSymmetry::Renaming::Renaming(const InstanceSymmetry& symmetry)
    : symmetry_(symmetry), next_(symmetry.formats_of_.size(), 0) {
  for (const auto& group : symmetry.formats_of_) name_.emplace_back(group.size(), -1);
}

FormatId InstanceSymmetry::Renaming::operator()(FormatId format) {
  if (format < 0) return format;
  const Place& place = symmetry_.places_[static_cast<size_t>(format)];
  if (place.group < 0) return format;
  int& name = name_[static_cast<size_t>(place.group)][static_cast<size_t>(place.instance)];
  if (name < 0) name = next_[static_cast<size_t>(place.group)]++;
  return symmetry_
      .formats_of_[static_cast<size_t>(place.group)][static_cast<size_t>(name)][static_cast<size_t>(place.kind)];
}

}  // namespace collage::place
