// SPDX-License-Identifier: Apache-2.0
#include "compiler/certificate/limit_prices.h"

#include <algorithm>

namespace collage::certificate {
namespace {

/// Costs that prices of limits add are cut off here, far from where sums overflow.
constexpr Wide kMostOfLimits = Wide{1} << 50;

}  // namespace

runtime::Result<LimitPrices> LimitPrices::of(const place::Problem& problem, const Limits& limits,
                                             const place::Proof::Round& round,
                                             const Table<Limits::InstanceId, Wide>& rooms) {
  using runtime::Status;
  LimitPrices prices(problem, limits);
  prices.rooms_ = rooms;
  for (const place::Proof::LimitPrice& limit : round.limits) {
    const Wide price = limit.price.count();
    if (price < 0) return Status::error("the price of a limit is negative");
    if (limit.of == place::Proof::LimitPrice::Of::Partitions) {
      const Limits::CounterId counter = limits.counter_of(limit.owner);
      if (!counter.is_valid()) return Status::error("a price for a limit of partitions that there is not");
      if (prices.of_partition_[counter] != 0) return Status::error("a limit of partitions has two prices");
      prices.of_partition_[counter] = price;
    } else {
      const Limits::InstanceId instance = limits.instance_of(limit.owner);
      if (!instance.is_valid()) return Status::error("a price for a limit of memory that there is not");
      if (prices.of_memory_[instance] != 0) return Status::error("a limit of memory has two prices");
      prices.of_memory_[instance] = price;
    }
  }
  return prices;
}

Wide LimitPrices::priced_cost(CandidateId c, int64_t scale) const {
  const place::Candidate& candidate = problem_->candidates[c];
  Wide more = 0;
  if (const Limits::CounterId counter = limits_->counter_of(candidate.owner); counter.is_valid()) {
    more += of_partition_[counter];
  }
  if (const Limits::InstanceId instance = limits_->instance_of(c); instance.is_valid()) {
    more += of_memory_[instance] * limits_->sure_bytes(c) / place::kPricedBytes;
  }
  // Less is no more than a weaker bound.
  return Wide{candidate.cost.count()} * scale + std::min(more, kMostOfLimits);
}

Wide LimitPrices::credit(const Table<Limits::InstanceId, Wide>& rooms) const {
  Wide credit = 0;
  for (Limits::CounterId counter : of_partition_.ids()) {
    credit += of_partition_[counter] * limits_->most_partitions(counter);
  }
  for (Limits::InstanceId instance : of_memory_.ids()) {
    const Wide room = std::max<Wide>(0, std::min(rooms_[instance], rooms[instance]));
    credit += (of_memory_[instance] * room + place::kPricedBytes - 1) / place::kPricedBytes;
  }
  return credit;
}

}  // namespace collage::certificate
