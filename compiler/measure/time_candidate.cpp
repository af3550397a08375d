// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/time_candidate.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/measure/build_text.h"
#include "compiler/measure/cache_state.h"
#include "compiler/measure/conditions.h"
#include "compiler/measure/reference_kernel.h"
#include "runtime/core/host_capabilities.h"
#include "runtime/exec/executor.h"
#include "runtime/pool/pool.h"
#include "runtime/runner/time_plan.h"

namespace collage::measure {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::Tensor;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Timed runs. Runs during which the operating system gave a processor to another process, or the hypervisor to another
/// machine, are kept apart, and count only if there are too few others.
class Samples {
 public:
  void add(double seconds, bool is_disturbed) { (is_disturbed ? disturbed_ : clean_).push_back(seconds); }

  bool has_clean(int least) const { return static_cast<int>(clean_.size()) >= least; }

  /// The standard error of a median is about 0.93 IQR / sqrt(n) for bell-shaped noise.
  bool is_precise() const {
    constexpr double kRelativeError = 0.01;
    const double range = runner::quantile(clean_, 0.75) - runner::quantile(clean_, 0.25);
    return 0.93 * range <= kRelativeError * runner::median(clean_) * std::sqrt(static_cast<double>(clean_.size()));
  }

  /// Expects at least one sample.
  Timing summary() const {
    constexpr int kFewest = 3;
    std::vector<double> runs = clean_;
    if (!has_clean(kFewest)) runs.insert(runs.end(), disturbed_.begin(), disturbed_.end());
    const double range = runner::quantile(runs, 0.75) - runner::quantile(runs, 0.25);
    return {runner::median(runs), range, static_cast<int>(runs.size())};
  }

 private:
  std::vector<double> clean_;
  std::vector<double> disturbed_;
};

/// What took processors away from this process so far.
struct Disturbances {
  long preemptions = 0;        ///< how often a thread of it lost its processor to another process
  long long stolen_ticks = 0;  ///< time that the hypervisor gave to other machines; 0 where none tells

  static Disturbances now() {
    Disturbances now;
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    now.preemptions = used.ru_nivcsw;
    // The first line is `cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...`, in ticks of all processors.
    std::ifstream file("/proc/stat");
    std::string name;
    long long ticks = 0;
    file >> name;
    for (int column = 0; column < 8 && file >> ticks; ++column) now.stolen_ticks = column == 7 ? ticks : 0;
    return now;
  }
  bool operator==(const Disturbances&) const = default;
};

class LoadedPlan : public LoadedCandidate {
 public:
  LoadedPlan(std::unique_ptr<codegen::Jit> jit, runtime::Plan plan, std::vector<Tensor> inputs)
      : jit_(std::move(jit)), plan_(std::move(plan)), inputs_(std::move(inputs)) {}

  runtime::Status load(int threads) {
    auto executor = runtime::Executor::load(plan_, *jit_, threads);
    if (!executor) return executor.status();
    executor_ = std::move(*executor);
    executor_->observe([this](const runtime::StepReport& report) {
      bool is_conversion = std::holds_alternative<runtime::ConvertStep>(plan_.steps[report.step]);
      if (!is_conversion) seconds_ += report.host_seconds;
    });
    return runtime::Status::ok();
  }

  runtime::Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) override {
    return executor_->run(inputs);
  }

  int compiled_kernels() const override { return static_cast<int>(jit_->stats().compiled); }
  bool calls_reference_kernels() const override {
    return std::any_of(plan_.steps.begin(), plan_.steps.end(), [](const runtime::Step& step) {
      const auto* host = std::get_if<runtime::HostStep>(&step);
      return host != nullptr && std::any_of(host->calls.begin(), host->calls.end(), [](const runtime::HostCall& call) {
               return std::holds_alternative<runtime::OpCall>(call);
             });
    });
  }

  runtime::Result<Timing> time(const TimingOptions& options) override {
    references_.clear();
    const ConditionsWatch watch;
    runtime::Result<Timing> timing = time_runs(options);
    Conditions conditions = watch.so_far(options.threads);
    if (!references_.empty() && options.reference > Duration()) {
      conditions.slowdown = runner::median(references_) / options.reference.seconds();
    }
    if (timing)
      timing->disturbance = disturbance_of(conditions, options.threads, runtime::host_capabilities().processors);
    runtime::end_idle_openmp_threads();  // a library's; they would disturb what is timed next
    return timing;
  }

 private:
  runtime::Result<Timing> time_runs(const TimingOptions& options) {
    constexpr double kPatience = 3;  // budgets, for clean runs on a busy machine
    SweepMemory own;
    CacheSweeper sweeper(*executor_, options.threads, options.swept_mebibytes,
                         options.sweep_memory != nullptr ? *options.sweep_memory : own);
    Samples samples;
    Clock::time_point start = Clock::now();
    for (bool is_warm_up = true;; is_warm_up = false) {
      references_.push_back(time_reference_kernel().seconds());
      if (runtime::Status status = sweeper.sweep(); !status) return status;
      seconds_ = 0;
      const Disturbances before = Disturbances::now();
      if (auto outputs = run(inputs_); !outputs) return outputs.status();
      bool is_long = seconds_ > options.budget_seconds;
      // The first run touches memory and wakes threads for the first time; in a long run that is a small part.
      if (is_warm_up && !is_long) {
        start = Clock::now();
        continue;
      }
      samples.add(seconds_, Disturbances::now() != before);
      double spent = seconds_since(start);
      bool has_enough = samples.has_clean(options.least_runs);
      if (has_enough && (spent > options.budget_seconds || samples.is_precise())) return samples.summary();
      if (spent > kPatience * options.budget_seconds || (is_warm_up && is_long)) return samples.summary();
    }
  }

  std::unique_ptr<codegen::Jit> jit_;
  runtime::Plan plan_;
  std::vector<Tensor> inputs_;
  std::unique_ptr<runtime::Executor> executor_;  ///< refers to the others
  double seconds_ = 0;                           ///< of the last run, without conversions
  std::vector<double> references_;               ///< seconds of the reference kernel before each run
};

}  // namespace

runtime::Result<std::unique_ptr<LoadedCandidate>> LoadedCandidate::load(const std::string& text,
                                                                        const plan::PlanTargets& targets,
                                                                        const codegen::JitOptions& options) {
  runtime::Result<BuiltText> built = build_text(text, targets, options);
  if (!built) return built.status();
  if (built->placement.partitions.size() != 1)
    return runtime::Status::error("the text is not a model with one partition");
  const bool is_host = built->placement.partitions[0].backend == "host";
  if (!is_host && !built->plan.fallbacks.empty()) return runtime::Status::error(built->plan.fallbacks[0].reason);
  if (!built->plan.refused_generators.empty()) return runtime::Status::error(built->plan.refused_generators[0]);
  auto loaded =
      std::make_unique<LoadedPlan>(std::move(built->jit), std::move(built->plan.plan), std::move(built->inputs));
  if (runtime::Status status = loaded->load(options.threads); !status) return status;
  return std::unique_ptr<LoadedCandidate>(std::move(loaded));
}

Measurement time_candidate(const std::string& text, const plan::PlanTargets& targets, const TimingOptions& options) {
  auto loaded = LoadedCandidate::load(text, targets, jit_options(targets, options.threads, options.cache));
  if (!loaded) return failed_measurement(loaded.message());
  TimingOptions in_its_state = options;
  in_its_state.swept_mebibytes = cache_state_of(text);
  runtime::Result<Timing> timing = (*loaded)->time(in_its_state);
  if (!timing) return failed_measurement(timing.message());
  Measurement measurement;
  measurement.spread = Duration::seconds(timing->range);
  measurement.cost = round_to_spread(Duration::seconds(timing->median), measurement.spread);
  measurement.runs = timing->runs;
  measurement.compiled = (*loaded)->compiled_kernels();
  measurement.disturbance = timing->disturbance;
  return measurement;
}

}  // namespace collage::measure
