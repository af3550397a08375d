// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/interval_bound.h"

#include <algorithm>
#include <cmath>

#include "compiler/place/problem/steiner.h"

namespace collage::place {
namespace {

constexpr int kWeight = 840;  ///< that an interval's resources have together: divided by 2 to 8 without a rest
constexpr int kSteps = 200;
constexpr double kStep = 0.3;
constexpr size_t kMaxRanges = 60'000;  ///< intervals allowed for all nodes together
constexpr size_t kMaxSolutions = 16;   ///< that the weights look at
constexpr double kUnusedWeight = 0.1;  ///< at first, of a resource that only copies hold, beside 1
constexpr double kLeastWeight = 1e-7;

/// At least 1: of solutions that weigh nothing, the one with the least work is the cheapest.
Cost priced_at(const Problem& problem, Cost cost, int64_t factor) {
  if (cost >= Cost::max()) return Cost::max();
  if (factor > 0 && cost.count() >= Cost::max().count() / factor) return Cost::max();
  return problem.cost_of(std::max<int64_t>(cost.count() * factor, 1));
}

}  // namespace

IntervalBound::IntervalBound(const Problem& problem, const SolutionScheduler& scheduler, std::vector<NodeId> path)
    : problem_(problem),
      scheduler_(scheduler),
      path_(std::move(path)),
      resource_count_(scheduler.resources().size()),
      place_(problem.node_count, -1),
      after_(problem.node_count, -1),
      before_(problem.node_count, static_cast<int>(path_.size())),
      link_(path_.size() + 1) {
  find_ranges();
  thin_path();
}

void IntervalBound::thin_path() {
  const auto ranges = [&] {
    size_t sum = 0;
    for (NodeId node : problem_.nodes()) sum += static_cast<size_t>(2 * std::max(before_[node] - after_[node], 0) + 1);
    return sum;
  };
  while (path_.size() > 1 && ranges() > kMaxRanges) {
    std::vector<NodeId> kept;
    for (size_t k = 0; k < path_.size(); k += 2) kept.push_back(path_[k]);
    path_ = std::move(kept);
    place_.assign(problem_.node_count, -1);
    after_.assign(problem_.node_count, -1);
    before_.assign(problem_.node_count, static_cast<int>(path_.size()));
    link_.assign(path_.size() + 1, {});
    find_ranges();
  }
}

IntervalBound::IntervalBound(const Problem& problem, const SolutionScheduler& scheduler)
    : IntervalBound(problem, scheduler, std::vector<NodeId>()) {
  weights_.assign(resource_count_, kUnusedWeight);
  for (const Candidate& candidate : problem.candidates) {
    for (int r : scheduler.work_of(candidate)) weights_[static_cast<size_t>(r)] = 1;
  }
  weights_.push_back(0);
}

IntervalBound::IntervalBound(const IntervalBound& without, std::vector<NodeId> path, double path_weight)
    : IntervalBound(without.problem_, without.scheduler_, std::move(path)) {
  double all = 0;
  for (size_t r = 0; r < resource_count_; ++r) all += without.weights_[r];
  for (int i = 0; i < interval_count(); ++i) {
    for (size_t r = 0; r < resource_count_; ++r) weights_.push_back(without.weights_[r] / all);
    weights_.push_back(path_weight);
  }
}

void IntervalBound::find_ranges() {
  for (size_t k = 0; k < path_.size(); ++k) place_[path_[k]] = after_[path_[k]] = static_cast<int>(k);
  Table<NodeId, std::vector<NodeId>> operands(problem_.node_count);
  for (ProblemValueId v : problem_.values.ids()) {
    const ProblemValue& value = problem_.values[v];
    for (NodeId reader : value.readers) {
      if (value.writer.is_valid()) operands[reader].push_back(value.writer);
      const int at = place_[reader];
      if (at < 0) continue;
      const NodeId wanted = at == 0 ? NodeId() : path_[static_cast<size_t>(at - 1)];
      if (value.writer == wanted) link_[static_cast<size_t>(at)] = v;
    }
    if (!path_.empty() && value.is_output && value.writer == path_.back()) link_.back() = v;
  }
  for (NodeId node : problem_.nodes()) {
    for (NodeId operand : operands[node]) {
      if (place_[node] < 0) after_[node] = std::max(after_[node], after_[operand]);
    }
  }
  for (size_t n = problem_.node_count; n-- > 0;) {
    const NodeId node(n);
    const int own = place_[node] >= 0 ? place_[node] : before_[node];
    for (NodeId operand : operands[node]) before_[operand] = std::min(before_[operand], own);
  }
  for (size_t k = 0; k < path_.size(); ++k) before_[path_[k]] = static_cast<int>(k);
}

IntervalBound::Range IntervalBound::range_of(const Candidate& candidate, bool* is_on_path) const {
  int first = static_cast<int>(path_.size()), after = -1, before = first;
  *is_on_path = false;
  for (NodeId node : candidate.nodes) {
    if (place_[node] >= 0) {
      *is_on_path = true;
      first = std::min(first, place_[node]);
    }
    after = std::max(after, after_[node]);
    before = std::min(before, before_[node]);
  }
  if (*is_on_path) return {2 * first + 1, 2 * first + 1};
  if (after >= before) return {0, interval_count() - 1};  // in no solution: it would close a cycle
  return {2 * after + 2, 2 * before};
}

IntervalBound::Range IntervalBound::range_of(const ProblemValue& value) const {
  const int after = value.writer.is_valid() ? after_[value.writer] : -1;
  int before = value.is_output ? static_cast<int>(path_.size()) : 0;
  for (NodeId reader : value.readers) before = std::max(before, before_[reader]);
  return {2 * after + 2, std::max(2 * before, 2 * after + 2)};
}

std::vector<int> IntervalBound::with_path(std::vector<int> resources) const {
  resources.push_back(path_resource());
  return resources;
}

/// The least weight of the resources together in an interval of the range.
template <typename Number>
Number IntervalBound::least(const std::vector<Number>& weights, const std::vector<int>& resources, Range range,
                            int* at) const {
  Number best{};
  for (int i = range.first; i <= range.last; ++i) {
    Number sum{};
    for (int r : resources) sum += weights[slot(i, r)];
    if (i > range.first && sum >= best) continue;
    best = sum;
    *at = i;
  }
  return best;
}

void IntervalBound::add(const std::vector<CandidateId>& chosen) {
  Terms terms;
  Table<ProblemValueId, FormatId> written(problem_.values.size(), problem_.host_plain);
  Table<ProblemValueId, std::vector<FormatId>> wanted(problem_.values.size());
  std::vector<FormatId> path_reads(link_.size());
  for (CandidateId c : chosen) {
    const Candidate& candidate = problem_.candidates[c];
    bool is_on_path = false;
    const Range range = range_of(candidate, &is_on_path);
    const std::vector<int>& held = scheduler_.work_of(candidate);
    terms.list.push_back({candidate.cost.value(), is_on_path ? with_path(held) : held, range});
    for (const ValueFormat& write : candidate.writes) written[write.value] = write.format;
    for (const ValueFormat& read : candidate.reads) wanted[read.value].push_back(read.format);
    for (NodeId node : candidate.nodes) {
      if (place_[node] < 0) continue;
      const size_t k = static_cast<size_t>(place_[node]);
      const auto read = std::find_if(candidate.reads.begin(), candidate.reads.end(),
                                     [&](const ValueFormat& entry) { return entry.value == link_[k]; });
      if (read != candidate.reads.end()) path_reads[k] = read->format;
    }
  }
  const auto add_tree = [&](ProblemValueId v, std::vector<FormatId> formats, const std::vector<int>* held,
                            Range range) {
    std::erase(formats, written[v]);
    std::sort(formats.begin(), formats.end());
    formats.erase(std::unique(formats.begin(), formats.end()), formats.end());
    if (formats.empty()) return;
    for (const ConversionEdge& edge :
         cheapest_arborescence(problem_.values[v].conversions, written[v], formats).edges) {
      terms.list.push_back(
          {edge.cost.value(), held != nullptr ? *held : scheduler_.work_of(edge.from, edge.to), range});
    }
  };
  for (ProblemValueId v : problem_.values.ids()) {
    if (problem_.values[v].is_output) wanted[v].push_back(problem_.host_plain);
    add_tree(v, wanted[v], nullptr, range_of(problem_.values[v]));
  }
  const std::vector<int> path_only = {path_resource()};
  if (!path_.empty() && link_.back().is_valid()) path_reads.back() = problem_.host_plain;
  for (size_t k = 0; k < link_.size(); ++k) {
    const int gap = 2 * static_cast<int>(k);
    if (path_reads[k].is_valid()) add_tree(link_[k], {path_reads[k]}, &path_only, {gap, gap});
  }
  if (solutions_.size() == kMaxSolutions) solutions_.erase(solutions_.begin());
  solutions_.push_back(std::move(terms));
}

double IntervalBound::price(const Terms& terms, const std::vector<double>& weights, std::vector<double>* slope) const {
  double sum = 0;
  for (const Term& term : terms.list) {
    int at = 0;
    sum += term.time * least(weights, term.resources, term.range, &at);
    if (slope == nullptr) continue;
    for (int r : term.resources) (*slope)[slot(at, r)] += term.time;
  }
  return sum;
}

void IntervalBound::weigh() {
  const size_t width = resource_count_ + 1;
  const auto normalise = [&](std::vector<double>& weights) {
    for (size_t begin = 0; begin < weights.size(); begin += width) {
      double all = 0;
      for (size_t r = 0; r < width; ++r) all += weights[begin + r];
      for (size_t r = 0; r < width; ++r) weights[begin + r] = std::max(weights[begin + r] / all, kLeastWeight);
    }
  };
  normalise(weights_);
  const auto worst = [&](const std::vector<double>& weights) {
    const Terms* least_of_all = nullptr;
    for (Terms& terms : solutions_) {
      terms.value = price(terms, weights, nullptr);
      if (least_of_all == nullptr || terms.value < least_of_all->value) least_of_all = &terms;
    }
    return least_of_all;
  };
  std::vector<double> now = weights_, mean(weights_.size()), slope(weights_.size());
  std::vector<double> usual(static_cast<size_t>(interval_count()));  // the greatest slope of an interval
  double best = worst(weights_)->value;
  for (int step = 0; step < kSteps; ++step) {
    std::fill(slope.begin(), slope.end(), 0.0);
    price(*worst(now), now, &slope);
    const double length = kStep / std::sqrt(1.0 + step);
    for (size_t i = 0; i < usual.size(); ++i) {
      const auto begin = slope.begin() + static_cast<std::ptrdiff_t>(i * width);
      const double most = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(width));
      usual[i] = std::max(most, usual[i] * 0.9);
      if (usual[i] <= 0) continue;
      for (size_t r = 0; r < width; ++r) now[i * width + r] *= std::exp(length * (slope[i * width + r] / usual[i]));
    }
    normalise(now);
    for (size_t i = 0; i < now.size(); ++i) mean[i] += (now[i] - mean[i]) / (1 + step / 2.0);  // later ones count more
    if (step % 16 != 15) continue;
    std::vector<double> tried = mean;
    normalise(tried);
    if (const double value = worst(tried)->value; value > best) {
      best = value;
      weights_ = tried;
    }
  }
}

/// Steps leave noise: small weights become none, and those that are nearly the largest are all equal. So equal devices
/// weigh the same exactly.
std::vector<int> IntervalBound::whole_weights() const {
  constexpr double kNoise = 0.002, kNearly = 0.98;
  const size_t width = resource_count_ + 1;
  std::vector<int> weights;
  for (size_t begin = 0; begin < weights_.size(); begin += width) {
    const auto first = weights_.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<double> own(first, first + static_cast<std::ptrdiff_t>(width));
    const double largest = *std::max_element(own.begin(), own.end());
    double all = 0;
    std::vector<size_t> top;
    for (size_t r = 0; r < width; ++r) {
      if (own[r] < kNoise * largest) own[r] = 0;
      if (own[r] >= kNearly * largest) {
        own[r] = largest;
        top.push_back(begin + r);
      }
      all += own[r];
    }
    int rest = kWeight;
    for (double weight : own) {
      weights.push_back(static_cast<int>(kWeight * weight / all));
      rest -= weights.back();
    }
    for (size_t i = 0; rest > 0; i = (i + 1) % top.size(), --rest) ++weights[top[i]];
  }
  return weights;
}

Problem IntervalBound::priced() const {
  const std::vector<int> weights = whole_weights();
  Problem result = problem_;
  int at = 0;
  for (Candidate& candidate : result.candidates) {
    bool is_on_path = false;
    const Range range = range_of(candidate, &is_on_path);
    const std::vector<int>& held = scheduler_.work_of(candidate);
    candidate.cost =
        priced_at(problem_, candidate.cost,
                  is_on_path ? least(weights, with_path(held), range, &at) : least(weights, held, range, &at));
  }
  for (ProblemValue& value : result.values) {
    const Range range = range_of(value);
    for (ConversionEdge& edge : value.conversions) {
      edge.cost = priced_at(problem_, edge.cost, least(weights, scheduler_.work_of(edge.from, edge.to), range, &at));
    }
  }
  if (path_.empty()) return result;
  // The values on the path once more, for what the path waits.
  for (size_t k = 0; k < link_.size(); ++k) {
    const int weight = weights[slot(2 * static_cast<int>(k), path_resource())];
    if (!link_[k].is_valid() || weight == 0) continue;
    const ProblemValue& original = problem_.values[link_[k]];
    ProblemValue copy;
    copy.writer = original.writer;
    copy.is_output = k == path_.size();
    if (k < path_.size()) copy.readers = {path_[k]};
    copy.conversions = original.conversions;
    for (ConversionEdge& edge : copy.conversions) edge.cost = priced_at(problem_, edge.cost, weight);
    const ProblemValueId id = result.values.add(std::move(copy));
    for (Candidate& candidate : result.candidates) {
      const auto holds = [&](NodeId node) {
        return std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node);
      };
      const bool holds_reader = k < path_.size() && holds(path_[k]);
      const auto is_it = [&](const ValueFormat& entry) { return entry.value == link_[k]; };
      if (original.writer.is_valid() && holds(original.writer) && !holds_reader) {
        const auto write = std::find_if(candidate.writes.begin(), candidate.writes.end(), is_it);
        if (write != candidate.writes.end()) candidate.writes.push_back({id, write->format});
      } else if (holds_reader && !(original.writer.is_valid() && holds(original.writer))) {
        const auto read = std::find_if(candidate.reads.begin(), candidate.reads.end(), is_it);
        if (read != candidate.reads.end()) candidate.reads.push_back({id, read->format});
      }
    }
  }
  return result;
}

Duration IntervalBound::time_of(Cost bound) const {
  // Steps of weight 0 cost 1: at most every node, and every format of every value, on the path twice.
  const size_t added = problem_.node_count + 2 * problem_.values.size() * problem_.formats.size();
  return Duration::picoseconds(std::max<int64_t>(bound.time().ps() - static_cast<int64_t>(added) + kWeight - 1, 0) /
                               kWeight);
}

}  // namespace collage::place
