// SPDX-License-Identifier: Apache-2.0
// An entry is a line of numbers:
//
//     COST BOUND STATES MICROSECONDS SIZE CANDIDATE… 0             each chosen one is its own region
//     COST BOUND STATES MICROSECONDS SIZE CANDIDATE… SIZE REGION…
#include "compiler/place/known/known_solutions.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/known/problem_digest.h"

namespace collage::place {
namespace {

/// COLLAGE_SEARCH is a digest of the sources of the search: another one may find another solution.
std::string key_of(const Problem& problem, const SearchOptions& options) {
  return fmt::format("solution {} states {} {} problem {}", COLLAGE_SEARCH, options.max_states, options.tie_states,
                     digest_of(problem));
}

std::string to_entry(const Solution& solution) {
  std::string text = fmt::format("{} {} {} {:.0f} {}", solution.cost.count(), solution.bound.count(), solution.states,
                                 solution.seconds * 1e6, solution.chosen.size());
  for (CandidateId c : solution.chosen) text += fmt::format(" {}", c.index);
  text += fmt::format(" {}", solution.region.size());
  for (RegionId r : solution.region) text += fmt::format(" {}", r.index);
  text += solution.is_limited ? " 1" : " 0";
  return text;
}

class SolutionReader {
 public:
  explicit SolutionReader(const std::string& entry) : at_(entry.data()), end_(entry.data() + entry.size()) {}

  /// Returns nullopt for an entry of another form.
  std::optional<Solution> read(const Problem& problem) {
    Solution solution;
    solution.cost = problem.cost_of(number());
    solution.bound = problem.cost_of(number());
    solution.states = static_cast<uint64_t>(number());
    solution.seconds = static_cast<double>(number()) * 1e-6;
    solution.chosen = list<CandidateId>(problem.candidates.size());
    solution.region = list<RegionId>(INT64_MAX);
    solution.is_limited = number() != 0;
    const bool has_regions = solution.region.empty() || solution.region.size() == solution.chosen.size();
    if (!is_good_ || at_ != end_ || !has_regions || solution.bound > solution.cost) return std::nullopt;
    solution.optimal = solution.cost == solution.bound;
    return solution;
  }

 private:
  int64_t number() {
    int64_t value = 0;
    if (at_ != end_ && *at_ == ' ') ++at_;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    is_good_ = is_good_ && error == std::errc() && value >= 0;
    at_ = stop;
    return is_good_ ? value : 0;
  }

  template <typename Item>
  std::vector<Item> list(size_t below) {
    std::vector<Item> items;
    for (int64_t left = number(); left > 0 && is_good_; --left) {
      items.emplace_back(number());
      is_good_ = is_good_ && static_cast<size_t>(items.back().index) < below;
    }
    return items;
  }

  const char* at_;
  const char* end_;
  bool is_good_ = true;
};

}  // namespace

std::optional<Solution> KnownSolutions::find(const Problem& problem, const SearchOptions& options) {
  const std::string key = key_of(problem, options);
  auto known = entries_.find(key);
  if (known == entries_.end()) {
    std::optional<std::string> stored = files_ != nullptr ? files_->find(key) : std::nullopt;
    if (!stored) return std::nullopt;
    known = entries_.emplace(key, Entry{std::move(*stored), true}).first;
  }
  std::optional<Solution> solution = SolutionReader(known->second.text).read(problem);
  if (!solution) return std::nullopt;
  const Verdict verdict = evaluate(problem, *solution);
  const Cost* cost = std::get_if<Cost>(&verdict);
  if (cost == nullptr || *cost != solution->cost) return std::nullopt;
  solution->is_known = known->second.is_read;
  return solution;
}

void KnownSolutions::keep(const Problem& problem, const SearchOptions& options, const Solution& solution) {
  std::string key = key_of(problem, options);
  std::string entry = to_entry(solution);
  if (files_ != nullptr) files_->keep(key, entry);
  entries_.insert_or_assign(std::move(key), Entry{std::move(entry)});
}

bool is_repeatable(const SearchOptions& options) {
  return !options.max_seconds && !options.is_stopped();
}

}  // namespace collage::place
