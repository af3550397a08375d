// SPDX-License-Identifier: Apache-2.0
// saved_by_regions and most_saved_by_regions of check_certificate.h: units of large engines, joined into regions as
// problem.h permits.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/certificate/check_certificate.h"

namespace collage::certificate {
namespace {

using place::Candidate;
using place::CandidateId;
using place::NodeId;
using place::RegionId;
using runtime::Status;

bool is_unit(const CertificateFile& file, CandidateId c) {
  const Candidate& candidate = file.problem.candidates[c];
  return candidate.may_join && file.problem.owners[candidate.owner].joins.has_value();
}

std::set<place::FormatId> formats_read(const Candidate& candidate, place::ProblemValueId value) {
  std::set<place::FormatId> formats;
  for (const place::ValueFormat& read : candidate.reads) {
    if (read.value == value) formats.insert(read.format);
  }
  return formats;
}

/// One unit writes a value, another one reads it in that very format: by their places among units.
struct HandOver {
  size_t writer = 0;
  size_t reader = 0;
};

std::vector<HandOver> hand_overs(const CertificateFile& file, const std::vector<CandidateId>& units) {
  std::map<std::pair<place::ProblemValueId, place::FormatId>, size_t> writer_of;
  for (size_t i = 0; i < units.size(); ++i) {
    for (const place::ValueFormat& write : file.problem.candidates[units[i]].writes) {
      writer_of[{write.value, write.format}] = i;
    }
  }
  std::vector<HandOver> result;
  for (size_t i = 0; i < units.size(); ++i) {
    const Candidate& reader = file.problem.candidates[units[i]];
    for (const place::ValueFormat& read : reader.reads) {
      const auto writer = writer_of.find({read.value, read.format});
      if (writer == writer_of.end() || writer->second == i || formats_read(reader, read.value).size() > 1) continue;
      if (file.problem.candidates[units[writer->second]].owner == reader.owner) result.push_back({writer->second, i});
    }
  }
  return result;
}

/// A number for each unit: equal for those that hand-overs join. `without`: some of them, which do not.
std::vector<RegionId> joined(size_t units, const std::vector<HandOver>& all, const std::set<size_t>& without = {}) {
  std::vector<size_t> up(units);
  for (size_t i = 0; i < units; ++i) up[i] = i;
  const auto root = [&](size_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
  };
  for (size_t e = 0; e < all.size(); ++e) {
    if (!without.contains(e)) up[root(all[e].writer)] = root(all[e].reader);
  }
  std::vector<RegionId> regions;
  for (size_t i = 0; i < units; ++i) regions.emplace_back(root(i));
  return regions;
}

Status check_region(const CertificateFile& file, const std::vector<CandidateId>& units) {
  std::map<place::ProblemValueId, place::FormatId> touched;
  for (CandidateId c : units) {
    const Candidate& unit = file.problem.candidates[c];
    if (!is_unit(file, c)) return Status::error(candidate_text(file, c) + " is in a region and is no unit of one");
    if (unit.owner != file.problem.candidates[units.front()].owner) return Status::error("a region has two owners");
    for (const auto* list : {&unit.reads, &unit.writes}) {
      for (const place::ValueFormat& item : *list) {
        const auto [it, is_new] = touched.emplace(item.value, item.format);
        if (is_new || it->second == item.format) continue;
        // Several formats are a matter of one unit as long as no second one touches the value.
        const auto touches = [&](CandidateId other) {
          const Candidate& candidate = file.problem.candidates[other];
          const auto is_it = [&](const place::ValueFormat& one) { return one.value == item.value; };
          return std::any_of(candidate.reads.begin(), candidate.reads.end(), is_it) ||
                 std::any_of(candidate.writes.begin(), candidate.writes.end(), is_it);
        };
        if (std::count_if(units.begin(), units.end(), touches) < 2) continue;
        return Status::error(fmt::format("a region touches {} in two formats", value_text(file, item.value)));
      }
    }
  }
  const std::vector<RegionId> parts = joined(units.size(), hand_overs(file, units));
  if (std::any_of(parts.begin(), parts.end(), [&](RegionId part) { return part != parts.front(); })) {
    return Status::error(fmt::format("the region of {} is not connected", candidate_text(file, units.front())));
  }
  return Status::ok();
}

Status check_cycle(const CertificateFile& file, const std::vector<CandidateId>& chosen,
                   const std::vector<RegionId>& regions) {
  std::map<NodeId, RegionId> region_of;
  for (size_t i = 0; i < chosen.size(); ++i) {
    for (NodeId node : file.problem.candidates[chosen[i]].nodes) region_of[node] = regions[i];
  }
  std::map<RegionId, std::set<RegionId>> after;
  std::map<RegionId, size_t> waits;
  for (const auto& [node, region] : region_of) waits.emplace(region, 0);
  for (const place::ProblemValue& value : file.problem.values) {
    if (!value.writer.is_valid()) continue;
    for (NodeId reader : value.readers) {
      const RegionId from = region_of.at(value.writer), to = region_of.at(reader);
      if (from != to && after[from].insert(to).second) ++waits[to];
    }
  }
  std::vector<RegionId> ready;
  for (const auto& [region, count] : waits) {
    if (count == 0) ready.push_back(region);
  }
  size_t left = waits.size();
  for (; !ready.empty(); --left) {
    const RegionId region = ready.back();
    ready.pop_back();
    for (RegionId next : after[region]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  return left == 0 ? Status::ok() : Status::error("the regions form a cycle");
}

runtime::Result<Wide> saved(const CertificateFile& file, const std::vector<CandidateId>& chosen,
                            const std::vector<RegionId>& regions) {
  std::map<RegionId, std::vector<CandidateId>> members;
  for (size_t i = 0; i < chosen.size(); ++i) members[regions[i]].push_back(chosen[i]);
  Wide sum = 0;
  for (const auto& [region, units] : members) {
    if (units.size() == 1) continue;
    if (Status status = check_region(file, units); !status) return status;
    const Candidate& first = file.problem.candidates[units.front()];
    sum += Wide{file.problem.owners[first.owner].joins->count()} * (units.size() - 1);
  }
  if (Status status = check_cycle(file, chosen, regions); !status) return status;
  return sum;
}

/// What regions of these numbers would save, whether or not they may be.
Wide saving(const CertificateFile& file, const std::vector<CandidateId>& chosen, const std::vector<RegionId>& regions) {
  std::set<RegionId> seen;
  Wide sum = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (seen.insert(regions[i]).second) continue;
    sum += file.problem.owners[file.problem.candidates[chosen[i]].owner].joins->count();
  }
  return sum;
}

}  // namespace

runtime::Result<Wide> saved_by_regions(const CertificateFile& file) {
  const place::Solution& solution = file.solution;
  if (solution.region.empty()) return Wide{0};
  if (solution.region.size() != solution.chosen.size()) return Status::error("not every partition has a region");
  return saved(file, solution.chosen, solution.region);
}

/// All that hand something over are joined. Where these are no regions, they are without one of the hand-overs,
/// whichever that is: the choice that saves most is examined first, so the first one that holds is the best.
Wide most_saved_by_regions(const CertificateFile& file, const std::vector<CandidateId>& chosen) {
  constexpr size_t kMostChoices = 2'000, kMostJoins = 20'000'000;
  std::vector<CandidateId> units, others;
  for (CandidateId c : chosen) (is_unit(file, c) ? units : others).push_back(c);
  const std::vector<HandOver> all = hand_overs(file, units);
  if (all.empty()) return 0;
  const size_t most_choices = std::clamp<size_t>(kMostJoins / (all.size() * all.size()), 1, kMostChoices);
  std::vector<CandidateId> parts = units;
  parts.insert(parts.end(), others.begin(), others.end());
  const auto regions_without = [&](const std::set<size_t>& without) {
    std::vector<RegionId> regions = joined(units.size(), all, without);
    while (regions.size() < parts.size()) regions.emplace_back(regions.size());
    return regions;
  };
  std::set<std::pair<Wide, std::set<size_t>>> choices;  // by what they do not save
  std::set<std::set<size_t>> known;
  const Wide most = saving(file, parts, regions_without({}));
  choices.emplace(0, std::set<size_t>());
  for (size_t looked_at = 0; looked_at < most_choices; ++looked_at) {
    const auto [lost, without] = *choices.begin();
    choices.erase(choices.begin());
    const std::vector<RegionId> regions = regions_without(without);
    if (saved(file, parts, regions)) return most - lost;
    for (size_t e = 0; e < all.size(); ++e) {
      std::set<size_t> more = without;
      if (!more.insert(e).second || !known.insert(more).second) continue;
      const Wide lost_then = most - saving(file, parts, regions_without(more));
      choices.emplace(lost_then, std::move(more));
    }
  }
  return most - choices.begin()->first;
}

}  // namespace collage::certificate
