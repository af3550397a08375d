// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/time_plans.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "compiler/measure/build_text.h"
#include "runtime/exec/executor.h"
#include "runtime/pool/pool.h"
#include "runtime/runner/time_plan.h"

namespace collage::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLeastTurns = 3;
constexpr int kMostTurns = 34;
constexpr double kMostSeconds = 4;      ///< of turns, once there are enough
constexpr double kEnoughError = 0.003;  ///< of each ratio

struct Contender {
  BuiltText built;
  std::unique_ptr<runtime::Executor> executor;  ///< refers to `built`
  std::vector<double> seconds;
  std::string failure;
};

struct Estimate {
  double median = 0;
  double error = 0;  ///< its standard error
};

/// The standard error of a median is about 0.93 IQR / sqrt(n) for bell-shaped noise.
Estimate estimate_of(const std::vector<double>& values) {
  const double range = runner::quantile(values, 0.75) - runner::quantile(values, 0.25);
  return {runner::median(values), 0.93 * range / std::sqrt(static_cast<double>(values.size()))};
}

/// The ratio of the runs of `one` to those of `base`, in pairs.
Estimate ratio_of(const Contender& one, const Contender& base) {
  std::vector<double> ratios;
  for (size_t r = 0; r < one.seconds.size(); ++r) ratios.push_back(one.seconds[r] / base.seconds[r]);
  return estimate_of(ratios);
}

std::unique_ptr<Contender> load_contender(const std::string& text, const plan::PlanTargets& targets,
                                          const TimingOptions& options) {
  auto contender = std::make_unique<Contender>();
  auto built = build_text(text, targets, jit_options(targets, options.threads, options.cache));
  if (!built) {
    contender->failure = built.message();
    return contender;
  }
  contender->built = std::move(*built);
  auto executor = runtime::Executor::load(contender->built.plan.plan, *contender->built.jit, options.threads);
  if (executor) {
    contender->executor = std::move(*executor);
  } else {
    contender->failure = executor.message();
  }
  return contender;
}

double elapsed_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void take_turn(Contender& contender) {
  if (runtime::Status status = runner::settle(*contender.executor, contender.built.inputs); !status) {
    contender.failure = status.message();
    return;
  }
  for (int r = 0; r < runner::kRunsOfTurn; ++r) {
    auto run = runner::time_run(*contender.executor, contender.built.inputs);
    if (!run) {
      contender.failure = run.message();
      return;
    }
    contender.seconds.push_back(run->latency);
  }
}

}  // namespace

std::vector<Measurement> time_plans(const std::vector<std::string>& plans, const plan::PlanTargets& targets,
                                    const TimingOptions& options) {
  if (plans.empty()) return {};
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const std::string& text : plans) contenders.push_back(load_contender(text, targets, options));
  const auto running = [&] {
    std::vector<Contender*> list;
    for (const auto& contender : contenders) {
      if (contender->failure.empty()) list.push_back(contender.get());
    }
    return list;
  };
  const Clock::time_point start = Clock::now();
  for (int t = 0; t < kMostTurns; ++t) {
    std::vector<Contender*> turn = running();
    if (turn.empty() || !contenders[0]->failure.empty()) break;
    // Each is first as often as any other: what ran before it decides what it finds in the caches.
    std::rotate(turn.begin(), turn.begin() + t % static_cast<int>(turn.size()), turn.end());
    for (Contender* contender : turn) take_turn(*contender);
    if (t + 1 < kLeastTurns || !contenders[0]->failure.empty()) continue;
    turn = running();
    const bool is_precise = std::all_of(turn.begin(), turn.end(), [&](const Contender* one) {
      const Estimate ratio = ratio_of(*one, *contenders[0]);
      return ratio.error <= kEnoughError;
    });
    if (is_precise || elapsed_since(start) > kMostSeconds) break;
  }
  runtime::end_idle_openmp_threads();
  std::vector<Measurement> measured;
  const Contender& base = *contenders[0];
  const double whole = base.failure.empty() && !base.seconds.empty() ? estimate_of(base.seconds).median : 0;
  for (const auto& contender : contenders) {
    if (!contender->failure.empty() || whole <= 0) {
      measured.push_back(
          failed_measurement(contender->failure.empty() ? "nothing to compare with" : contender->failure));
      continue;
    }
    const Estimate ratio = ratio_of(*contender, base);
    Measurement& made = measured.emplace_back();
    made.cost = Duration::seconds(whole * ratio.median);
    made.spread = Duration::seconds(whole * ratio.error);
    made.runs = static_cast<int>(contender->seconds.size());
    made.compiled = static_cast<int>(contender->built.jit->stats().compiled);
  }
  return measured;
}

}  // namespace collage::measure
