// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize_search/choose_sites.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace collage::quantize_search {
namespace {

/// Searches that look for partitions which do not pay.
constexpr int kMostTrials = 48;

std::vector<bool> without(std::vector<bool> wanted, const std::vector<size_t>& sites) {
  for (size_t site : sites) wanted[site] = false;
  return wanted;
}

std::vector<bool> with(std::vector<bool> wanted, const std::vector<size_t>& sites) {
  for (size_t site : sites) wanted[site] = true;
  return wanted;
}

std::vector<bool> on_devices(const TriedSites& tried) {
  std::vector<bool> wanted = tried.wanted;
  for (const SiteGroup& group : tried.groups()) {
    if (tried.placement.partitions[group.partition].backend == "host") wanted = without(std::move(wanted), group.sites);
  }
  return wanted;
}

/// Tries each partition of integers in f32, and keeps that where it is not more expensive.
bool drop_what_does_not_pay(SiteTrials& trials, ChosenSites* chosen) {
  int trials_left = kMostTrials;
  for (bool has_changed = true; has_changed && chosen->best.has_integers();) {
    has_changed = false;
    chosen->tried.clear();
    for (const SiteGroup& group : chosen->best.groups()) {
      if (trials_left-- <= 0) return true;
      const std::vector<bool> rest = without(chosen->best.wanted, group.sites);
      const bool is_rest_empty = std::none_of(rest.begin(), rest.end(), [](bool one) { return one; });
      std::optional<TriedSites> tried = is_rest_empty ? chosen->in_f32 : trials.settle(rest);
      if (!tried) return false;
      if (!tried->is_possible()) continue;
      if (tried->cost > chosen->best.cost) {
        chosen->tried.push_back({group.sites, tried->cost - chosen->best.cost});
        continue;
      }
      chosen->best = std::move(*tried);
      has_changed = true;
      break;
    }
  }
  return true;
}

/// Chooses, again and again, what to give up until limits hold.
class LimitKeeper {
 public:
  LimitKeeper(const ErrorLimits& limits, const QuantizableModel& model, const ErrorMeter& meter, SiteTrials& trials,
              ChosenSites* chosen, support::Diagnostics& diags)
      : limits_(limits), model_(model), meter_(meter), trials_(trials), chosen_(chosen), diags_(diags) {}

  bool run() {
    if (!measure(chosen_->best)) return false;
    bool has_given_up = false;
    std::vector<bool> before = chosen_->best.wanted;
    while (chosen_->best.has_integers() && !limits_.hold(*chosen_->end_to_end)) {
      before = chosen_->best.wanted;
      if (!give_up_worst()) return false;
      has_given_up = true;
    }
    if (!chosen_->best.is_possible()) return trials_.explain(chosen_->best), false;
    return !has_given_up || !limits_.hold(*chosen_->end_to_end) || give_back(before);
  }

 private:
  bool measure(const TriedSites& tried) {
    chosen_->end_to_end = meter_.end_to_end(tried.quantized.graph, diags_);
    return chosen_->end_to_end.has_value();
  }

  /// Noise relative to the signal, per second saved.
  double harm_of(const report::QuantizationError& error, const std::vector<size_t>& sites) const {
    const double ratio = error.signal > 0 ? error.noise / error.signal : error.noise > 0 ? 1 : 0;
    const std::optional<place::Cost> saved = chosen_->saved_by(sites);
    return ratio / std::max(saved ? saved->value() : usual_saving(sites), 1e-12);
  }

  /// What a partition saves that was not tried alone: its share of what all of them save.
  double usual_saving(const std::vector<size_t>& sites) const {
    const auto all = std::count(chosen_->best.wanted.begin(), chosen_->best.wanted.end(), true);
    if (!chosen_->in_f32.is_possible()) return static_cast<double>(sites.size());
    const double saved = (chosen_->in_f32.cost - chosen_->best.cost).value();
    return saved * static_cast<double>(sites.size()) / static_cast<double>(std::max<std::ptrdiff_t>(all, 1));
  }

  bool give_up_worst() {
    std::vector<std::vector<size_t>> groups;
    for (const SiteGroup& group : chosen_->best.groups()) groups.push_back(group.sites);
    const std::optional<std::vector<report::QuantizationError>> errors = meter_.of_groups(model_, groups, diags_);
    if (!errors) return false;
    size_t worst = 0;
    for (size_t g = 1; g < groups.size(); ++g) {
      if (harm_of((*errors)[g], groups[g]) > harm_of((*errors)[worst], groups[worst])) worst = g;
    }
    std::optional<TriedSites> rest = settled(without(chosen_->best.wanted, groups[worst]));
    if (!rest) return false;
    if (rest->cost >= chosen_->in_f32.cost) rest = chosen_->in_f32;
    chosen_->best = std::move(*rest);
    return measure(chosen_->best);
  }

  std::optional<TriedSites> settled(const std::vector<bool>& wanted) {
    if (std::none_of(wanted.begin(), wanted.end(), [](bool one) { return one; })) return chosen_->in_f32;
    return trials_.settle(wanted);
  }

  /// Keeps the largest number of the sites that went last within the limits, those with the least noise first.
  bool give_back(const std::vector<bool>& before) {
    std::vector<std::vector<size_t>> alone;
    for (size_t site = 0; site < before.size(); ++site) {
      if (before[site] && !chosen_->best.wanted[site]) alone.push_back({site});
    }
    const std::optional<std::vector<report::QuantizationError>> errors = meter_.of_groups(model_, alone, diags_);
    if (!errors) return false;
    std::vector<size_t> order(alone.size());
    std::iota(order.begin(), order.end(), size_t{0});
    auto noise = [&](size_t i) { return (*errors)[i].signal > 0 ? (*errors)[i].noise / (*errors)[i].signal : 0; };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return noise(a) < noise(b); });
    const std::vector<bool> base = chosen_->best.wanted;
    for (size_t kept = 0, refused = alone.size(); refused - kept > 1;) {
      const size_t middle = (kept + refused) / 2;
      std::vector<size_t> sites;
      for (size_t i = 0; i < middle; ++i) sites.push_back(alone[order[i]][0]);
      std::optional<TriedSites> tried = trials_.settle(with(base, sites));
      if (!tried) return false;
      const std::optional<ErrorMeter::EndToEnd> result = meter_.end_to_end(tried->quantized.graph, diags_);
      if (!result) return false;
      if (limits_.hold(*result)) {
        kept = middle;
        if (tried->cost < chosen_->best.cost) {
          chosen_->best = std::move(*tried);
          chosen_->end_to_end = result;
        }
      } else {
        refused = middle;
      }
    }
    return true;
  }

  const ErrorLimits& limits_;
  const QuantizableModel& model_;
  const ErrorMeter& meter_;
  SiteTrials& trials_;
  ChosenSites* chosen_;
  support::Diagnostics& diags_;
};

/// Notes what was quantised in `before` and is no longer, partition by partition.
bool note_given_up(const TriedSites& before, const QuantizableModel& model, const ErrorMeter& meter,
                   ChosenSites* chosen, support::Diagnostics& diags) {
  std::vector<std::vector<size_t>> lost;
  for (const SiteGroup& group : before.groups()) {
    std::vector<size_t> sites;
    for (size_t site : group.sites) {
      if (!chosen->best.wanted[site]) sites.push_back(site);
    }
    if (!sites.empty()) lost.push_back(std::move(sites));
  }
  if (lost.empty()) return true;
  const std::optional<std::vector<report::QuantizationError>> errors = meter.of_groups(model, lost, diags);
  if (!errors) return false;
  for (size_t i = 0; i < lost.size(); ++i) {
    const std::optional<place::Cost> saved = chosen->saved_by(lost[i]);
    chosen->given_up.push_back({{lost[i], saved.value_or(place::Cost())}, (*errors)[i]});
  }
  return true;
}

/// What partitions save once others are given up, and without those that save nothing any more, if the limits still
/// hold.
bool price_again(const ErrorLimits& limits, const ErrorMeter& meter, SiteTrials& trials, ChosenSites* chosen,
                 support::Diagnostics& diags) {
  const TriedSites before = chosen->best;
  if (!drop_what_does_not_pay(trials, chosen)) return false;
  if (chosen->best.wanted == before.wanted) return true;
  const std::optional<ErrorMeter::EndToEnd> result = meter.end_to_end(chosen->best.quantized.graph, diags);
  if (!result) return false;
  if (limits.hold(*result)) {
    chosen->end_to_end = result;
  } else {
    chosen->best = before;
    chosen->tried.clear();
  }
  return true;
}

}  // namespace

bool ErrorLimits::hold(const ErrorMeter::EndToEnd& result) const {
  if (most_error && !(result.error.largest <= *most_error)) return false;
  if (!least_accuracy || !result.accuracy) return true;
  // 0.99 of 100 are 99, whatever the product of the doubles is.
  constexpr double kRounding = 1e-9;
  const auto of = static_cast<double>(result.accuracy->of);
  return static_cast<double>(result.accuracy->right) >= (*least_accuracy - kRounding) * of;
}

std::optional<place::Cost> ChosenSites::saved_by(const std::vector<size_t>& sites) const {
  const auto found =
      std::find_if(tried.begin(), tried.end(), [&](const TriedGroup& group) { return group.sites == sites; });
  return found == tried.end() ? std::nullopt : std::optional(found->saved);
}

std::optional<ChosenSites> cheapest_sites(SiteTrials& trials, size_t site_count) {
  std::optional<TriedSites> in_f32 = trials.place(std::vector<bool>(site_count, false));
  if (!in_f32) return std::nullopt;
  ChosenSites chosen{*in_f32, *in_f32, {}, {}, {}};
  std::optional<TriedSites> all = trials.settle(std::vector<bool>(site_count, true));
  if (!all) return std::nullopt;
  const std::vector<bool> devices = on_devices(*all);
  std::optional<TriedSites> rest = devices == all->wanted ? all : trials.settle(devices);
  if (!rest) return std::nullopt;
  for (std::optional<TriedSites>* one : {&all, &rest}) {
    if ((*one)->cost < chosen.best.cost) chosen.best = std::move(**one);
  }
  if (!chosen.best.is_possible()) {
    trials.explain(*in_f32);
    return std::nullopt;
  }
  if (!drop_what_does_not_pay(trials, &chosen)) return std::nullopt;
  return chosen;
}

bool keep_within(const ErrorLimits& limits, const QuantizableModel& model, const ErrorMeter& meter, SiteTrials& trials,
                 ChosenSites* chosen, support::Diagnostics& diags) {
  const TriedSites before = chosen->best;
  return LimitKeeper(limits, model, meter, trials, chosen, diags).run() &&
         note_given_up(before, model, meter, chosen, diags) &&
         (chosen->given_up.empty() || price_again(limits, meter, trials, chosen, diags));
}

}  // namespace collage::quantize_search
