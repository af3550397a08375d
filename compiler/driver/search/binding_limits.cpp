// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/search/binding_limits.h"

#include <algorithm>
#include <functional>

namespace collage::driver {
namespace {

class LimitLifter {
 public:
  LimitLifter(const SearchInput& input, const FoundPlacement& plan)
      : asked_(input), problem_(input.priced != nullptr ? *input.priced : input.built), plan_(plan) {}

  std::vector<BindingLimit> run() {
    for (const std::string& backend : place::backend_names(problem_.problem)) {
      const ir::Backend* rules = asked_.rules.find(backend);
      if (rules == nullptr) continue;
      if (rules->max_partitions) {
        lift({BindingLimit::Kind::MaxPartitions, backend, *rules->max_partitions, rules->max_partitions_span, {}},
             [&](place::Owner& owner) {
               if (owner.backend == backend) owner.max_partitions.reset();
             });
      }
      if (!rules->conflicts.empty()) {
        lift({BindingLimit::Kind::Conflicts, backend, 0, rules->span, {}}, [&](place::Owner& owner) {
          if (owner.backend == backend) owner.conflicts.clear();
        });
      }
    }
    for (const place::MemoryLimit& limit : asked_.limits) {
      lift({BindingLimit::Kind::Memory, limit.instance, static_cast<int64_t>(limit.bytes), {}, {}}, nullptr);
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const BindingLimit& a, const BindingLimit& b) { return a.gain > b.gain; });
    return std::move(found_);
  }

 private:
  void lift(BindingLimit limit, const std::function<void(place::Owner&)>& change) {
    place::BuiltProblem free = problem_;
    SearchInput input = asked_;
    input.options.is_probe = true;
    input.listener = nullptr;
    if (change) {
      for (place::Owner& owner : free.problem.owners) change(owner);
    } else {
      std::erase_if(input.limits, [&](const place::MemoryLimit& one) { return one.instance == limit.of; });
    }
    const auto solution = solve(input, free, place::Strategy{}, nullptr);
    if (!solution || solution->cost >= plan_.solution.cost) return;
    limit.gain = plan_.solution.cost - solution->cost;
    found_.push_back(std::move(limit));
  }

  const SearchInput& asked_;
  const place::BuiltProblem& problem_;
  const FoundPlacement& plan_;
  std::vector<BindingLimit> found_;
};

}  // namespace

std::vector<BindingLimit> binding_limits(const SearchInput& input, const FoundPlacement& plan) {
  if (!plan.solution.is_limited || input.objective->is_concurrent()) return {};
  return LimitLifter(input, plan).run();
}

}  // namespace collage::driver
