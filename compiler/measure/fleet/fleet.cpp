// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/fleet.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "compiler/measure/fleet/host_name.h"
#include "compiler/measure/fleet/job_meter.h"
#include "compiler/measure/fleet/need.h"
#include "compiler/measure/fleet/worker_filter.h"

namespace collage::measure::fleet {
namespace {

using runtime::Result;
using runtime::Status;

constexpr size_t kMostPutAtOnce = 256;  ///< so that workers begin while others are put

std::chrono::steady_clock::duration of_seconds(double count) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(count));
}

}  // namespace

/// One call of `measure`.
class Fleet::Round {
 public:
  Round(Fleet& fleet, const std::vector<Wanted>& wanted, const MeasureHere& here,
        const std::function<void(size_t, size_t)>& progress)
      : fleet_(fleet), wanted_(wanted), here_(here), progress_(progress), answers_(wanted.size()) {
    for (size_t i = 0; i < wanted.size(); ++i) open_.push_back(i);
  }

  bool is_done() const { return open_.empty(); }
  std::vector<std::optional<FleetAnswer>> take_answers() { return std::move(answers_); }

  /// Puts what has no answer yet, also after the server went away, which then may have its cost.
  Status begin();
  /// Looks once at everything, measures one candidate here or waits for a notification.
  Status go_on();

 private:
  void answer(size_t index, FleetAnswer answer);
  Status look_at(const std::vector<int64_t>& jobs);
  /// Jobs without a worker, by whether to measure them here or to wait for one.
  Status sort_out(std::vector<int64_t>* for_here);
  /// False: others measure them.
  Result<bool> measure_one_here(const std::vector<int64_t>& jobs);
  Status wait_for_results(double most_seconds);

  Fleet& fleet_;
  const std::vector<Wanted>& wanted_;
  const MeasureHere& here_;
  const std::function<void(size_t, size_t)>& progress_;
  std::vector<std::optional<FleetAnswer>> answers_;
  std::vector<size_t> open_;                      ///< without an answer
  std::map<int64_t, size_t> index_of_;            ///< of jobs that were put and have no answer
  std::map<size_t, int64_t> need_of_;             ///< its id
  std::map<int64_t, Clock::time_point> missing_;  ///< needs without a worker, and since when
};

Status Fleet::Round::begin() {
  index_of_.clear();
  const std::vector<size_t> open = open_;
  for (size_t first = 0; first < open.size(); first += kMostPutAtOnce) {
    std::vector<size_t> part(open.begin() + static_cast<ptrdiff_t>(first),
                             open.begin() + static_cast<ptrdiff_t>(std::min(open.size(), first + kMostPutAtOnce)));
    // Of the same environment there are many.
    std::vector<std::string> needs;
    for (size_t index : part) needs.push_back(need_of(wanted_[index].environment));
    const Result<std::vector<int64_t>> need_ids = fleet_.queue_.need_ids(needs);
    if (!need_ids) return need_ids.status();
    std::vector<Wanted> put;
    for (size_t i = 0; i < part.size(); ++i) {
      need_of_[part[i]] = (*need_ids)[i];
      put.push_back(wanted_[part[i]]);
    }
    const Result<std::vector<int64_t>> ids = fleet_.queue_.put(put);
    if (!ids) return ids.status();
    for (size_t i = 0; i < part.size(); ++i) index_of_[(*ids)[i]] = part[i];
  }
  return Status::ok();
}

void Fleet::Round::answer(size_t index, FleetAnswer answer) {
  if (answers_[index]) return;
  answers_[index] = std::move(answer);
  std::erase(open_, index);
  std::erase_if(index_of_, [&](const auto& one) { return one.second == index; });
  if (!open_.empty()) progress_(answers_.size() - open_.size(), open_.front());
}

Status Fleet::Round::look_at(const std::vector<int64_t>& jobs) {
  for (int64_t job : jobs) {
    const auto found = index_of_.find(job);
    if (found == index_of_.end()) continue;
    const size_t index = found->second;
    Result<JobState> state = fleet_.queue_.look(job, wanted_[index]);
    if (!state) return state.status();
    if (state->kind != JobState::Kind::Pending) answer(index, {std::move(state->measurement)});
  }
  return Status::ok();
}

Status Fleet::Round::sort_out(std::vector<int64_t>* for_here) {
  std::vector<int64_t> needs;
  for (const auto& [job, index] : index_of_) needs.push_back(need_of_[index]);
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  const Result<std::map<int64_t, size_t>> counts = fleet_.queue_.live_workers(needs);
  if (!counts) return counts.status();
  std::vector<int64_t> given_up;
  for (const auto& [need, count] : *counts) {
    if (count > 0) {
      fleet_.seen_[need] = Clock::now();
      missing_.erase(need);
      continue;
    }
    missing_.try_emplace(need, Clock::now());
    const bool may_come_back =
        fleet_.seen_.contains(need) && Clock::now() - missing_[need] < of_seconds(fleet_.options_.worker_patience);
    if (!may_come_back) given_up.push_back(need);
  }
  if (given_up.empty()) return Status::ok();
  const Result<std::vector<KnownWorker>> workers = fleet_.queue_.workers();
  if (!workers) return workers.status();
  fleet_.warn_of_others(*workers);
  std::vector<size_t> unanswered;
  for (const auto& [job, index] : index_of_) {
    if (std::find(given_up.begin(), given_up.end(), need_of_[index]) == given_up.end()) continue;
    if (here_.measure) {
      for_here->push_back(job);
    } else {
      unanswered.push_back(index);
    }
  }
  for (size_t index : unanswered) {
    Measurement failed = failed_measurement("no worker that can measure it is there");
    failed.lasting = false;
    answer(index, {std::move(failed)});
  }
  return Status::ok();
}

Result<bool> Fleet::Round::measure_one_here(const std::vector<int64_t>& jobs) {
  const Result<int64_t> worker = fleet_.own_worker();
  if (!worker) return worker.status();
  const size_t first = index_of_.at(jobs.front());
  progress_(answers_.size() - open_.size(), first);
  // Before the claim: who has a lease waits for no other.
  std::unique_ptr<MachineLock> lock = here_.lock ? here_.lock(first) : nullptr;
  const Result<std::optional<Job>> job = fleet_.queue_.claim_of(jobs, *worker, fleet_.options_.lease_seconds);
  if (!job) return job.status();
  if (!*job) return false;
  const size_t index = index_of_.at((*job)->id);
  const Result<std::optional<Measurement>> known = fleet_.queue_.finish_known(**job, *worker);
  if (!known) return known.status();
  if (*known) {
    answer(index, {**known});
    return true;
  }
  progress_(answers_.size() - open_.size(), index);
  fleet_.keeper_->hold(**job, JobMeter::most_seconds((*job)->wanted));
  const auto start = Clock::now();
  Measurement measured = here_.measure(index);
  fleet_.keeper_->drop();
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  const Result<Finished> finished = fleet_.queue_.finish(**job, *worker, took, &measured);
  // Where the server is lost now, this compiler still has the cost.
  const bool counts = !finished || *finished == Finished::Stored || *finished == Finished::GivenUp;
  if (counts) answer(index, {std::move(measured), true, finished.is_ok()});
  if (!finished) return finished.status();
  return true;
}

Status Fleet::Round::wait_for_results(double most_seconds) {
  const auto end = Clock::now() + of_seconds(most_seconds);
  while (!is_done()) {
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0) return Status::ok();
    const auto came = fleet_.connection_->wait(left);
    if (!came) return came.status();
    if (!*came) return Status::ok();
    if ((*came)->channel != kResultsChannel) continue;
    int64_t job = 0;
    const std::string& payload = (*came)->payload;
    std::from_chars(payload.data(), payload.data() + payload.size(), job);
    if (Status looked = look_at({job}); !looked) return looked;
  }
  return Status::ok();
}

Status Fleet::Round::go_on() {
  std::vector<int64_t> jobs;
  for (const auto& [job, index] : index_of_) jobs.push_back(job);
  const Result<std::vector<int64_t>> ended = fleet_.queue_.ended(jobs);
  if (!ended) return ended.status();
  if (Status looked = look_at(*ended); !looked || is_done()) return looked;
  const Result<std::optional<double>> next_end = fleet_.queue_.reap();
  if (!next_end) return next_end.status();
  std::vector<int64_t> for_here;
  if (Status sorted = sort_out(&for_here); !sorted || is_done()) return sorted;
  if (!for_here.empty()) {
    const Result<bool> measured = measure_one_here(for_here);
    if (!measured || *measured) return measured.status();
  }
  progress_(answers_.size() - open_.size(), open_.front());
  double most = fleet_.options_.tick_seconds;
  constexpr double kAfter = 0.05;  // a lease has ended then
  if (*next_end) most = std::min(most, **next_end + kAfter);
  if (!missing_.empty()) most = std::min(most, 1.0);
  return wait_for_results(most);
}

Fleet::Fleet(FleetOptions options, std::unique_ptr<postgres::Connection> connection)
    : options_(std::move(options)), connection_(std::move(connection)), queue_(*connection_) {}

Result<std::unique_ptr<Fleet>> Fleet::open(FleetOptions options) {
  auto connection = postgres::Connection::open(options.address, options.connect_seconds);
  if (!connection) return connection.status();
  if (Status listens = (*connection)->listen(kResultsChannel); !listens) return listens;
  return std::unique_ptr<Fleet>(new Fleet(std::move(options), std::move(*connection)));
}

Fleet::~Fleet() {
  keeper_.reset();
  if (worker_ != 0 && !connection_->is_lost()) (void)queue_.leave(worker_);
}

Result<int64_t> Fleet::own_worker() {
  if (worker_ != 0) return worker_;
  Announcement own;
  own.name = fmt::format("compiler {}", ::getpid());
  own.host = host_name();
  own.machine = options_.target.machine;
  own.build = options_.target.build;
  const Result<int64_t> id = queue_.announce(own, options_.lease_seconds);
  if (!id) return id;
  worker_ = *id;
  LeaseKeeperOptions keeping;
  keeping.address = options_.address;
  keeping.lease_seconds = options_.lease_seconds;
  keeper_ = std::make_unique<LeaseKeeper>(std::move(keeping));
  keeper_->set_worker(worker_);
  return worker_;
}

void Fleet::warn(std::string text) {
  if (std::find(warned_.begin(), warned_.end(), text) != warned_.end()) return;
  warned_.push_back(text);
  warnings_.push_back(std::move(text));
}

void Fleet::warn_of_others(const std::vector<KnownWorker>& workers) {
  for (const KnownWorker& worker : workers) {
    const Announcement& one = worker.announcement;
    if (!worker.is_live || one.machine != options_.target.machine || one.build == options_.target.build) continue;
    warn(fmt::format("worker `{}` at {} is not asked: it is another build, {} instead of {}", one.name, one.host,
                     one.build, options_.target.build));
  }
}

std::vector<std::optional<FleetAnswer>> Fleet::measure(const std::vector<Wanted>& wanted, const MeasureHere& here,
                                                       const std::function<void(size_t, size_t)>& progress) {
  Round round(*this, wanted, here, progress);
  if (has_given_up_) return round.take_answers();
  Status status = round.begin();
  while (!status || !round.is_done()) {
    if (!status && round.is_done()) break;
    if (status) {
      status = round.go_on();
      continue;
    }
    if (!connection_->is_lost()) {
      has_given_up_ = true;
      warn(fmt::format("the queue cannot be used: {}", status.message()));
      break;
    }
    // Who has the database says that it is lost.
    has_given_up_ = !connection_->reconnect(options_.server_patience);
    if (has_given_up_) break;
    status = round.begin();
  }
  return round.take_answers();
}

}  // namespace collage::measure::fleet
