// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/measured_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "compiler/ir/ops/op_def.h"
#include "compiler/measure/cache_state.h"
#include "compiler/measure/candidate_text.h"
#include "compiler/measure/cost_request.h"
#include "compiler/measure/environment.h"
#include "compiler/measure/machine_lock.h"
#include "compiler/measure/reference_kernel.h"

namespace collage::measure {

namespace {

/// `onednn Conv, Relu and 3 more`
std::string label_of(const ir::Graph& graph, const ir::Partition& candidate) {
  constexpr size_t kShown = 3;
  const size_t shown = std::min(kShown, candidate.nodes.size());
  std::string text = candidate.backend;
  for (size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{}", i == 0 ? " " : ", ", graph.node(candidate.nodes[i]).op->name);
  }
  return shown == candidate.nodes.size() ? text : fmt::format("{} and {} more", text, candidate.nodes.size() - shown);
}

int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The options with what follows from others: this machine, and what stops the measuring process.
MeasuredCostsOptions completed(MeasuredCostsOptions options) {
  if (!options.here) options.here = {describe_machine(), describe_build(options.worker.program)};
  options.worker.stop = options.stop;
  return options;
}

constexpr int64_t kDay = 24 * 3600;  ///< seconds
/// A calibration is forgotten after that long: machines are moved, and their clocks set.
constexpr int64_t kReferenceSeconds = 30 * kDay;

/// Measuring again was in vain, and not long ago: a machine that is always busy would measure at every compilation.
bool is_settled(const Measurement& measurement) {
  return measurement.repeated && unix_time() - measurement.date < kDay;
}

}  // namespace

MeasuredCosts::MeasuredCosts(MeasuredCostsOptions options, const place::ActiveBackends& backends)
    : options_(completed(std::move(options))),
      worker_(options_.worker),
      target_(options_.target.value_or(*options_.here)),
      is_for_here_(target_ == *options_.here),
      environments_(backends, target_, options_.threads, options_.code) {
  for (const place::ActiveBackend& active : backends) {
    if (!has_cost_program(active)) continue;
    const CostProgramOptions program{active.backend->cost_program, folder_of_program(active),
                                     options_.worker.timeout_seconds, options_.stop};
    external_[active.backend->name] = {active, std::make_unique<CostProgram>(program)};
  }
  send_reference();
}

std::vector<Measurement> MeasuredCosts::time_plans(const std::vector<std::string>& plans) {
  const auto start = std::chrono::steady_clock::now();
  std::string all;
  for (const std::string& plan : plans) all += plan;
  std::vector<CostRow> rows;
  // A time is one beside these others.
  for (const std::string& plan : plans) {
    const std::string mark = fmt::format("// timed beside {} others: {}\n", plans.size() - 1, short_hash(all));
    rows.push_back({environments_.of_plans(), plan + mark, {}});
  }
  const auto look_up = [&] {
    std::vector<Measurement> found;
    if (options_.database == nullptr) return found;
    for (const CostRow& row : rows) {
      if (auto one = options_.database->find(row.environment, row.candidate)) found.push_back(std::move(*one));
    }
    return found;
  };
  std::vector<Measurement> times = look_up();
  if (times.size() != plans.size() && !is_for_here_) {
    times = {passing_failure("costs are those of another machine")};
  } else if (times.size() != plans.size()) {
    const MachineLock lock(options_.lock, options_.waiting, options_.stop);
    if (lock.is_held()) times = look_up();
    if (times.size() != plans.size()) {
      report_progress(stats_.measured, stats_.measured, fmt::format("{} whole plans", plans.size()));
      times = worker_.time_plans(plans);
      report_progress(stats_.measured, stats_.measured, "");
      for (size_t p = 0; p < times.size() && p < rows.size(); ++p) {
        times[p].date = unix_time();
        rows[p].measurement = times[p];
      }
      const bool all_last =
          times.size() == plans.size() &&
          std::all_of(times.begin(), times.end(), [](const auto& one) { return !one.failed() || one.lasting; });
      if (options_.database != nullptr && all_last) options_.database->keep(rows);
    }
  }
  stats_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return times;
}

void MeasuredCosts::send_reference() {
  if (options_.database == nullptr || !is_for_here_) return;
  if (auto known = options_.database->reference(reference_key(describe_machine()), unix_time() - kReferenceSeconds)) {
    // What was measured on a slower machine than it can be is not measured again on one that is as slow.
    is_slow_ = usual_reference_time().seconds() > kMostSlowdown * known->seconds();
    options_.worker.arguments.insert(options_.worker.arguments.end(), {"--reference", std::to_string(known->ps())});
  }
  worker_.set_options(options_.worker);
}

void MeasuredCosts::keep_reference() {
  if (options_.database == nullptr || worker_.reference() == Duration()) return;
  const int64_t now = unix_time();
  options_.database->store_reference(reference_key(describe_machine()), worker_.reference(), now,
                                     now - kReferenceSeconds);
}

std::optional<Measurement> MeasuredCosts::stored(const Key& key) {
  if (options_.database == nullptr) return std::nullopt;
  std::string problem;
  std::optional<Measurement> found = options_.database->find(key.first, key.second, &problem);
  if (!problem.empty() && refused_.insert(key).second) {
    const CostRow row{key.first, key.second, {}, problem};
    new_refused_.push_back(fmt::format("{}: {}", row.id(), problem));
  }
  // With more time than before, it may succeed.
  bool may_end_now = found && found->failed() && found->timeout > Duration() &&
                     found->timeout < Duration::seconds(options_.worker.timeout_seconds);
  if (may_end_now) return std::nullopt;
  const bool is_disturbed = found && !found->disturbance.empty();
  if (is_disturbed && options_.repeats_disturbed && !is_slow_ && !is_settled(*found)) {
    repeated_.insert(key);
    return std::nullopt;
  }
  return found;
}

Measurement MeasuredCosts::measure_now(const Key& key) {
  return kept(key, with_second_try([&] { return run_worker(key); }));
}

Measurement MeasuredCosts::run_worker(const Key& key) {
  Measurement measurement = worker_.measure(key.second);
  stats_.runs += static_cast<size_t>(measurement.runs);
  stats_.compiled += static_cast<size_t>(measurement.compiled);
  return measurement;
}

Measurement MeasuredCosts::kept(const Key& key, Measurement measurement) {
  measurement.date = unix_time();
  const bool is_kept = options_.database != nullptr && (!measurement.failed() || measurement.lasting);
  if (is_kept) kept_.insert(key);
  return is_kept ? options_.database->store(key.first, key.second, measurement) : measurement;
}

void MeasuredCosts::look_up_all(std::vector<Unknown>* unknown) {
  std::erase_if(*unknown, [&](const Unknown& one) {
    std::optional<Measurement> found = stored(*one.key);
    if (!found) return false;
    known_[*one.key] = std::move(*found);
    ++stats_.from_cache;
    return true;
  });
}

std::optional<Measurement> MeasuredCosts::why_not_measured() const {
  if (is_stopped()) return stopped_measurement();
  const bool is_lost = options_.estimates_when_lost && options_.database != nullptr && options_.database->is_lost();
  return is_lost ? std::optional(passing_failure("the server of costs is lost")) : std::nullopt;
}

void MeasuredCosts::ask_programs(const ir::Graph& graph, std::vector<Unknown>* unknown) {
  const size_t needed = stats_.answered + unknown->size();
  bool has_asked = false;
  std::erase_if(*unknown, [&](const Unknown& one) {
    if (!external_.contains(one.candidate->backend)) return false;
    if (std::optional<Measurement> left_out = why_not_measured()) {
      known_[*one.key] = std::move(*left_out);
      return true;
    }
    has_asked = true;
    report_progress(stats_.answered, needed, label_of(graph, *one.candidate));
    known_[*one.key] = kept(*one.key, ask_program(graph, one));
    if (!is_stopped()) ++stats_.answered;
    return true;
  });
  if (has_asked) report_progress(stats_.answered, stats_.answered, "");
}

Measurement MeasuredCosts::ask_program(const ir::Graph& graph, const Unknown& one) {
  ExternalCosts& external = external_.at(one.candidate->backend);
  return external.program->ask([&](int64_t id) { return cost_request(id, graph, *one.candidate, external.active); });
}

void MeasuredCosts::ask_fleet(const ir::Graph& graph, std::vector<Unknown>* unknown) {
  if (options_.fleet == nullptr || unknown->empty()) return;
  std::vector<fleet::Wanted> wanted;
  for (const Unknown& one : *unknown) {
    wanted.push_back({one.key->first, one.key->second, Duration::seconds(options_.worker.timeout_seconds),
                      repeated_.contains(*one.key)});
  }
  const auto is_external = [&](size_t index) { return external_.contains((*unknown)[index].candidate->backend); };
  fleet::MeasureHere here;
  here.is_alone = [&](size_t index) { return !is_external(index); };
  WaitReport report(options_.waiting);
  here.lock = [&](MachineLock::Clock::time_point deadline) {
    LockHolder holder;
    auto lock = MachineLock::try_lock(options_.lock, deadline, &holder);
    lock == nullptr ? report.waits(holder) : report.end();
    return lock;
  };
  here.measure = [&](size_t index) {
    const Unknown& one = (*unknown)[index];
    if (is_external(index)) return ask_program(graph, one);
    const Measuring measure = [&] { return run_worker(*one.key); };
    return repeats_.better_of(measure(), measure);
  };
  // A cost program does not depend on the machine.
  const bool can_measure = is_for_here_ || std::all_of(unknown->begin(), unknown->end(), [&](const Unknown& one) {
                             return external_.contains(one.candidate->backend);
                           });
  if (!can_measure) here.measure = nullptr;
  const size_t before = stats_.measured + stats_.answered + stats_.by_workers;
  const auto progress = [&](size_t done, size_t next) {
    report_progress(before + done, before + unknown->size(), label_of(graph, *(*unknown)[next].candidate));
  };
  const std::vector<std::optional<fleet::FleetAnswer>> answers = options_.fleet->measure(wanted, here, progress);
  report_progress(before + unknown->size(), before + unknown->size(), "");
  size_t index = 0;
  std::erase_if(*unknown, [&](const Unknown& one) {
    const std::optional<fleet::FleetAnswer>& answer = answers[index++];
    if (!answer) return false;
    known_[*one.key] = answer->is_kept ? answer->measurement : kept(*one.key, answer->measurement);
    if (answer->is_kept && (!answer->measurement.failed() || answer->measurement.lasting)) kept_.insert(*one.key);
    size_t& count = !answer->is_from_here                        ? stats_.by_workers
                    : external_.contains(one.candidate->backend) ? stats_.answered
                                                                 : stats_.measured;
    ++count;
    stats_.repeated += repeated_.count(*one.key);
    return true;
  });
  if (is_for_here_) keep_reference();
}

void MeasuredCosts::measure_all(const ir::Graph& graph, std::vector<Unknown> unknown) {
  if (unknown.empty()) return;
  if (!is_for_here_) {
    const Measurement failed = passing_failure("costs are those of another machine, and no worker can be asked");
    for (const Unknown& one : unknown) known_[*one.key] = failed;
    return;
  }
  bool has_waited = false;
  const auto waiting = [&](const LockHolder& holder, double seconds) {
    has_waited = true;
    report_progress(stats_.measured, stats_.measured + unknown.size(), label_of(graph, *unknown.front().candidate));
    if (options_.waiting) options_.waiting(holder, seconds);
  };
  MachineLock lock(options_.lock, waiting, options_.stop);
  // The previous holder of the lock may have measured the same.
  if (lock.is_held()) look_up_all(&unknown);
  const size_t needed = stats_.measured + unknown.size();
  if (unknown.empty() && has_waited) report_progress(needed, needed, "");
  if (unknown.empty()) return;
  for (const auto& [key, candidate] : unknown) {
    if (std::optional<Measurement> left_out = why_not_measured()) {
      known_[*key] = std::move(*left_out);
      continue;
    }
    report_progress(stats_.measured, needed, label_of(graph, *candidate));
    known_[*key] = measure_now(*key);
    if (is_stopped()) continue;  // it was given up
    ++stats_.measured;
    stats_.repeated += repeated_.count(*key);
  }
  repeat_disturbed(graph, unknown);
  keep_reference();
  report_progress(needed, needed, "");
}

void MeasuredCosts::repeat_disturbed(const ir::Graph& graph, const std::vector<Unknown>& measured) {
  Repeats repeats;
  for (const auto& [key, candidate] : measured) {
    Measurement& known = known_[*key];
    if (known.disturbance.empty()) continue;
    if (repeats.have_stopped() || is_stopped()) return;
    report_progress(stats_.measured, stats_.measured, label_of(graph, *candidate));
    const Measuring again = [&, key = key] { return with_second_try([&] { return run_worker(*key); }); };
    if (Measurement better = repeats.better_of(known, again); better != known) known = kept(*key, std::move(better));
  }
}

void MeasuredCosts::report_progress(size_t done, size_t of, const std::string& candidate) const {
  if (options_.progress) options_.progress({done, of, candidate});
}

std::vector<MeasuredCosts::Key> MeasuredCosts::keys_of(const ir::Graph& graph,
                                                       const std::vector<ir::Partition>& candidates) const {
  std::vector<Key> keys;
  const int swept = swept_mebibytes(graph);
  for (const ir::Partition& candidate : candidates) {
    const std::string& environment = environments_.of(candidate.backend);
    if (external_.contains(candidate.backend)) {
      keys.emplace_back(environment, candidate_text(graph, on_first_instance(candidate)));
    } else {
      keys.emplace_back(environment, with_cache_state(candidate_text(graph, candidate), swept, graph, candidate));
    }
  }
  return keys;
}

int MeasuredCosts::id_of(const Key& key) {
  return ids_.emplace(key, static_cast<int>(ids_.size())).first->second;
}

place::MeasuredCost MeasuredCosts::answer(const Key& key) {
  const Measurement& measurement = known_.at(key);
  place::MeasuredCost answer;
  answer.id = id_of(key);
  if (measurement.failed()) {
    answer.failure = measurement.failure;
    // A candidate that crashed twice may crash the run: the crash is not stored, but its estimate is not used now
    // either.
    answer.lasting = measurement.lasting || measurement.crashed;
  } else {
    answer.cost = measurement.cost;
    answer.spread = measurement.spread;
  }
  return answer;
}

std::vector<place::KnownCost> MeasuredCosts::look_up(const ir::Graph& graph,
                                                     const std::vector<ir::Partition>& candidates) {
  std::vector<place::KnownCost> found;
  for (const Key& key : keys_of(graph, candidates)) {
    const bool is_new = !ids_.contains(key);
    place::KnownCost& entry = found.emplace_back();
    entry.id = id_of(key);
    bool is_known = known_.contains(key);
    if (!is_known && is_new) {
      if (std::optional<Measurement> measurement = stored(key)) {
        is_known = known_.emplace(key, std::move(*measurement)).second;
        ++stats_.from_cache;
      }
    }
    if (is_known) entry.cost = answer(key);
  }
  return found;
}

std::vector<place::MeasuredCost> MeasuredCosts::measure(const ir::Graph& graph,
                                                        const std::vector<ir::Partition>& candidates) {
  auto start = std::chrono::steady_clock::now();
  const std::vector<Key> keys = keys_of(graph, candidates);
  std::vector<Unknown> unknown;  // in the order of the candidates, so that progress is reproducible
  for (size_t i = 0; i < keys.size(); ++i) {
    if (known_.try_emplace(keys[i]).second) unknown.push_back({&keys[i], &candidates[i]});
  }
  look_up_all(&unknown);
  ask_fleet(graph, &unknown);
  ask_programs(graph, &unknown);
  measure_all(graph, std::move(unknown));
  stats_.failures.clear();
  stats_.disturbed = stats_.settled = 0;
  for (const auto& [key, measurement] : known_) {
    if (measurement.failed()) ++stats_.failures[measurement.failure];
    if (measurement.disturbance.empty()) continue;
    if (stats_.disturbed++ == 0) stats_.disturbance = measurement.disturbance;
    if (options_.database != nullptr && is_settled(measurement)) ++stats_.settled;
  }
  std::vector<place::MeasuredCost> answers;
  for (const Key& key : keys) answers.push_back(answer(key));
  stats_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answers;
}

}  // namespace collage::measure
