// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/price_limits.h"

#include <algorithm>
#include <cmath>

namespace collage::place {
namespace {

/// The first price: all of the limit costs this part of the bound.
constexpr double kFirstPart = 0.01;
constexpr double kGrowth = 4;
constexpr int kMaxGrowths = 24;
/// Steps that narrow the interval, by the golden ratio: to a few percent of the price.
constexpr int kNarrowings = 7;
constexpr double kGolden = 0.6180339887498949;
/// A bound that rises by less than this part of itself does not rise.
constexpr double kLeastRise = 1e-7;

}  // namespace

RunUses uses_of_runs(const SearchLimits& limits, const IndexedProblem& search, const ChainBound& chain) {
  RunUses uses;
  Table<NodeId, Position> position_of(search.order.size());
  for (Position p : search.order.ids()) position_of[search.order[p]] = p;
  for (MoveId m : search.moves.ids()) {
    const CandidateId candidate = search.moves[m].source;
    const IdRange<RunId> runs = chain.runs_of(m);
    for (RunId r : runs) {
      const auto has = [&, r](NodeId node) {
        const Position at = position_of[node];
        return chain.runs()[r].begin <= at && at < chain.runs()[r].end;
      };
      for (LimitId limit : limits.limits().ids()) {
        const SearchLimits::Limit& of = limits.limits()[limit];
        double amount = 0;
        if (of.counter.is_valid()) {
          amount = static_cast<double>(limits.own_uses(limit, candidate)) / static_cast<double>(runs.size());
        } else if (!of.within.is_valid() && limits.instance_of(candidate) == of.instance) {
          for (const auto& [node, bytes] : limits.sure_bytes_at(candidate)) {
            if (has(node)) amount += static_cast<double>(bytes);
          }
        }
        if (amount > 0) uses.push_back({r, limit, amount});
      }
      for (const SearchLimits::LiveUse& use : limits.live_uses(candidate)) {
        if (has(use.at)) uses.push_back({r, use.limit, static_cast<double>(use.bytes)});
      }
    }
  }
  return uses;
}

RunExtras extras_of(const SearchLimits& limits, const RunUses& uses, const ChainBound& chain, double factor) {
  const LimitPrices prices = limits.prices_of_own_uses();
  RunExtras extras(chain.runs().size(), 0);
  for (size_t i = 0; i < uses.size();) {
    const RunId run = uses[i].run;
    double pays = 0;
    for (; i < uses.size() && uses[i].run == run; ++i) pays += prices[uses[i].limit] * uses[i].amount;
    extras[run] = static_cast<int64_t>(pays * factor);
  }
  return extras;
}

RunExtras add_prices(const SearchLimits& limits, const RunUses& uses, IndexedProblem& search, const ChainBound& chain) {
  RunExtras extras = extras_of(limits, uses, chain, 1);
  for (MoveId m : search.moves.ids()) {
    IndexedCandidate& move = search.moves[m];
    int64_t all = 0;
    for (RunId r : chain.runs_of(m)) all += extras[r];
    move.least += search.cost_of(all - move.extra.count());
    move.extra = search.cost_of(all);
  }
  return extras;
}

void LimitPricer::set(const Prices& prices) {
  for (LimitId r : prices.ids()) limits_.set_price(r, prices[r]);
  RunExtras extras = add_prices(limits_, uses_, search_, chain_);
  extras_.resize(extras.size(), 0);
  Multipliers multipliers = chain_.multipliers();
  for (RunId r : extras.ids()) {
    multipliers.shares[r] += extras[r] - extras_[r];
  }
  extras_ = std::move(extras);
  chain_.set(std::move(multipliers));
}

double LimitPricer::at(const Prices& prices) {
  set(prices);
  const double bound = static_cast<double>(chain_.lower().count()) - static_cast<double>(limits_.credit({}));
  if (bound > bound_) {
    bound_ = bound;
    best_ = prices;
  }
  return bound;
}

/// One price, the others as they are.
void LimitPricer::raise(LimitId limit) {
  const Prices others = best_;
  const auto at_price = [&](double price) {
    Prices prices = others;
    prices[limit] = price;
    return at(prices);
  };
  const double known = others[limit];
  const double capacity = static_cast<double>(std::max<int64_t>(1, limits_.limits()[limit].capacity));
  // The interval: its ends are below what lies within.
  double low = 0, high = std::max(known, std::abs(bound_) * kFirstPart / capacity);
  double value = known > 0 ? bound_ : at_price(high);
  for (int i = 0; i < kMaxGrowths; ++i) {
    const double next = at_price(high * kGrowth);
    const bool rises = next > value + std::abs(value) * kLeastRise;
    if (rises) low = high;
    high *= kGrowth;
    if (!rises) break;
    value = next;
  }
  low /= kGrowth;
  double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
  double at_left = at_price(left), at_right = at_price(right);
  for (int i = 0; i < kNarrowings; ++i) {
    if (at_left >= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - kGolden * (high - low);
      at_left = at_price(left);
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + kGolden * (high - low);
      at_right = at_price(right);
    }
  }
}

void LimitPricer::raise_bound() {
  best_.clear();
  for (const SearchLimits::Limit& limit : limits_.limits()) best_.push_back(limit.price);
  bound_ = -1e300;
  bound_ = at(best_);
  for (LimitId r : best_.ids()) {
    if (limits_.limits()[r].is_active && !limits_.limits()[r].node.is_valid()) raise(r);
  }
  set(best_);
}

}  // namespace collage::place
