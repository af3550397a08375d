// SPDX-License-Identifier: Apache-2.0
// See conversion_costs.h.
#include "compiler/place/problem/conversion_costs.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "compiler/place/problem/steiner.h"

namespace collage::place {
namespace {

/// Past this many formats that could still be wanted, sets are kept as they are.
constexpr int kMaxCanonicalBits = 5;

}  // namespace

ConversionCosts::ConversionCosts(const Problem& problem) : problem_(problem) {
  Table<ProblemValueId, std::vector<FormatId>> wanted(problem.values.size(), {problem.host_plain});
  for (const Candidate& candidate : problem.candidates) {
    for (const ValueFormat& read : candidate.reads) {
      std::vector<FormatId>& formats = wanted[read.value];
      if (std::find(formats.begin(), formats.end(), read.format) == formats.end()) formats.push_back(read.format);
    }
  }
  for (std::vector<FormatId>& formats : wanted) std::sort(formats.begin(), formats.end());
  std::map<std::vector<int64_t>, GroupId> known;
  for (ProblemValueId v : problem.values.ids()) {
    Group group;
    group.edges = problem.values[v].conversions;
    std::sort(group.edges.begin(), group.edges.end(), [](const ConversionEdge& a, const ConversionEdge& b) {
      return std::tie(a.from, a.to, a.cost) < std::tie(b.from, b.to, b.cost);
    });
    group.wanted = std::move(wanted[v]);
    std::vector<int64_t> key;
    for (FormatId format : group.wanted) key.push_back(format.index);
    key.push_back(-1);
    for (const ConversionEdge& edge : group.edges) {
      key.insert(key.end(), {edge.from.index, edge.to.index, edge.cost.count()});
    }
    const auto [it, is_new] = known.emplace(std::move(key), groups_.next_id());
    if (is_new) {
      group.costs.resize(problem.formats.size());
      groups_.push_back(std::move(group));
    }
    group_of_.push_back(it->second);
  }
}

FormatMask ConversionCosts::bit(ProblemValueId value, FormatId format) const {
  const std::vector<FormatId>& wanted = group(value).wanted;
  const auto it = std::lower_bound(wanted.begin(), wanted.end(), format);
  const auto slot = it - wanted.begin();
  return it != wanted.end() && *it == format && slot < 64 ? FormatMask{1} << slot : 0;
}

FormatMask ConversionCosts::base(ProblemValueId value) const {
  return problem_.values[value].is_output ? bit(value, problem_.host_plain) : 0;
}

std::vector<FormatId> ConversionCosts::formats(ProblemValueId value, FormatMask mask) const {
  std::vector<FormatId> result;
  for (FormatId format : group(value).wanted) {
    if ((mask & 1) != 0) result.push_back(format);
    mask >>= 1;
  }
  return result;
}

Cost ConversionCosts::cost(ProblemValueId value, FormatId written, FormatMask wanted) {
  if ((wanted & ~bit(value, written)) == 0) return {};
  Group& own = group(value);
  const auto [it, is_new] = own.costs[written].emplace(wanted, Cost());
  if (is_new) it->second = cheapest_arborescence(own.edges, written, formats(value, wanted)).cost;
  return it->second;
}

Cost ConversionCosts::increment(ProblemValueId value, FormatId written, FormatMask have, FormatMask more) {
  if ((more & ~have) == 0) return {};
  const Cost after = cost(value, written, have | more);
  return after < Cost::max() ? after - cost(value, written, have) : after;
}

FormatMask ConversionCosts::canonical(ProblemValueId value, FormatId written, FormatMask have, FormatMask possible) {
  if (std::popcount(possible) > kMaxCanonicalBits || std::popcount(have) > kMaxCanonicalBits) return have;
  Group& own = group(value);
  const auto [it, is_new] = own.canonical.emplace(std::vector<FormatMask>{written.slot(), have, possible}, have);
  if (!is_new) return it->second;
  const auto same = [&](FormatMask other) {
    for (FormatMask more = possible; more != 0; more = (more - 1) & possible) {
      if (increment(value, written, have, more) != increment(value, written, other, more)) return false;
    }
    return true;
  };
  // Subsets of `have` in ascending order: the first that fits is the same for every set that it fits.
  for (FormatMask other = 0; other != have; other = (other - have) & have) {
    if (same(other)) {
      it->second = other;
      break;
    }
  }
  return it->second;
}

}  // namespace collage::place
