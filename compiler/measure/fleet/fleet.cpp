// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/fleet.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/fleet/job_meter.h"
#include "compiler/measure/fleet/missing.h"
#include "compiler/measure/fleet/need.h"
#include "compiler/measure/postgres/retry.h"
#include "runtime/core/machine_name.h"

namespace collage::measure::fleet {
namespace {

using runtime::Result;
using runtime::Status;

constexpr size_t kMostPutAtOnce = 256;  ///< so that workers begin while others are put
constexpr int kMostPuts = 4;            ///< of a job that is gone and has no cost
constexpr double kLockSeconds = 1;      ///< to wait for the machine before others' answers are examined

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
  Status put(const std::vector<size_t>& indices);
  Status look_at(const std::vector<int64_t>& jobs);
  /// Jobs to measure here: no worker is there, or all of them have failed it.
  Status sort_out(std::vector<int64_t>* for_here);
  Status answer_without_workers(const std::vector<int64_t>& needs, std::vector<int64_t>* for_here);
  /// False: others measure them, or the machine.
  Result<bool> measure_here(const std::vector<int64_t>& jobs);
  Result<bool> measure_one_of(const std::vector<int64_t>& jobs);
  Status wait_for_results(double most_seconds);

  Fleet& fleet_;
  const std::vector<Wanted>& wanted_;
  const MeasureHere& here_;
  const std::function<void(size_t, size_t)>& progress_;
  std::vector<std::optional<FleetAnswer>> answers_;
  std::vector<size_t> open_;            ///< without an answer
  std::map<int64_t, size_t> index_of_;  ///< of jobs that were put and have no answer
  std::map<size_t, int64_t> need_of_;   ///< its id
  std::map<size_t, int> puts_;          ///< how often it was put because it was gone
  bool lacks_workers_ = false;          ///< for a need of this round
  bool waits_for_machine_ = false;      ///< another program had it just now
};

Status Fleet::Round::begin() {
  index_of_.clear();
  const std::vector<size_t> open = open_;
  return put(open);
}

Status Fleet::Round::put(const std::vector<size_t>& indices) {
  fleet_.asker_.measures = static_cast<bool>(here_.measure);
  for (size_t first = 0; first < indices.size(); first += kMostPutAtOnce) {
    std::vector<size_t> part(
        indices.begin() + static_cast<ptrdiff_t>(first),
        indices.begin() + static_cast<ptrdiff_t>(std::min(indices.size(), first + kMostPutAtOnce)));
    // Many items share an environment.
    std::vector<std::string> needs;
    for (size_t index : part) needs.push_back(need_of(wanted_[index].environment));
    const Result<std::vector<int64_t>> need_ids = fleet_.queue_.need_ids(needs);
    if (!need_ids) return need_ids.status();
    std::vector<Wanted> put;
    for (size_t i = 0; i < part.size(); ++i) {
      need_of_[part[i]] = (*need_ids)[i];
      put.push_back(wanted_[part[i]]);
    }
    const Result<std::vector<int64_t>> ids = fleet_.queue_.put(put, &fleet_.asker_);
    if (!ids) return ids.status();
    for (size_t i = 0; i < part.size(); ++i) index_of_[(*ids)[i]] = part[i];
  }
  if (fleet_.keeper_ != nullptr) fleet_.keeper_->set_asker(fleet_.asker_);
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
  std::vector<size_t> gone;
  for (int64_t job : jobs) {
    const auto found = index_of_.find(job);
    if (found == index_of_.end()) continue;
    const size_t index = found->second;
    Result<JobState> state = fleet_.queue_.look(job, wanted_[index], fleet_.asker_);
    if (!state) return state.status();
    switch (state->kind) {
      case JobState::Kind::Pending: break;
      case JobState::Kind::Known:
      case JobState::Kind::GivenUp: answer(index, {std::move(state->measurement)}); break;
      case JobState::Kind::Gone:
        index_of_.erase(found);
        if (++puts_[index] < kMostPuts) {
          gone.push_back(index);
        } else {
          answer(index, {passing_failure("its cost was removed from the database")});
        }
        break;
    }
  }
  return put(gone);
}

Status Fleet::Round::sort_out(std::vector<int64_t>* for_here) {
  std::vector<int64_t> needs, jobs;
  for (const auto& [job, index] : index_of_) {
    needs.push_back(need_of_[index]);
    jobs.push_back(job);
  }
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  const Result<std::map<int64_t, size_t>> counts = fleet_.queue_.live_workers(needs);
  if (!counts) return counts.status();
  std::vector<int64_t> without_workers;
  lacks_workers_ = false;
  for (const auto& [need, count] : *counts) {
    if (count > 0) {
      fleet_.seen_[need] = Clock::now();
      fleet_.missing_.erase(need);
      continue;
    }
    lacks_workers_ = true;
    fleet_.missing_.try_emplace(need, Clock::now());
    bool may_come_back = fleet_.seen_.contains(need) &&
                         Clock::now() - fleet_.missing_[need] < of_seconds(fleet_.options_.worker_patience);
    if (may_come_back && here_.measure) {
      // One that is there and says that it cannot is not waited for.
      const Result<bool> is_withheld = fleet_.queue_.is_withheld(need);
      if (!is_withheld) return is_withheld.status();
      may_come_back = !*is_withheld;
    }
    if (!may_come_back) without_workers.push_back(need);
  }
  if (here_.measure) {
    const Result<std::vector<int64_t>> left = fleet_.queue_.left_by_workers(jobs, fleet_.asker_);
    if (!left) return left.status();
    for (int64_t job : *left) {
      if (!fleet_.missing_.contains(need_of_[index_of_.at(job)])) for_here->push_back(job);
    }
  }
  return without_workers.empty() ? Status::ok() : answer_without_workers(without_workers, for_here);
}

Status Fleet::Round::answer_without_workers(const std::vector<int64_t>& needs, std::vector<int64_t>* for_here) {
  std::vector<size_t> unanswered;
  for (const auto& [job, index] : index_of_) {
    const int64_t need = need_of_[index];
    if (std::find(needs.begin(), needs.end(), need) == needs.end()) continue;
    const bool measures_here = static_cast<bool>(here_.measure);
    if (Status said = fleet_.explain(need, need_of(wanted_[index].environment), measures_here); !said) return said;
    if (measures_here) {
      for_here->push_back(job);
    } else {
      unanswered.push_back(index);
    }
  }
  for (size_t index : unanswered) answer(index, {passing_failure("no worker that can measure it is there")});
  return Status::ok();
}

/// Measurements that disturb nothing do not wait for the machine.
Result<bool> Fleet::Round::measure_here(const std::vector<int64_t>& jobs) {
  const Result<int64_t> worker = fleet_.own_worker();
  if (!worker) return worker.status();
  std::vector<int64_t> alone, beside;
  for (int64_t job : jobs) {
    const bool is_alone = here_.is_alone && here_.is_alone(index_of_.at(job));
    (is_alone ? alone : beside).push_back(job);
  }
  if (!beside.empty()) {
    const Result<bool> measured = measure_one_of(beside);
    if (!measured || *measured) return measured;
  }
  if (alone.empty()) return false;
  progress_(answers_.size() - open_.size(), index_of_.at(alone.front()));
  // Before the claim: who has a lease waits for no other.
  const std::unique_ptr<MachineLock> lock = here_.lock(Clock::now() + of_seconds(kLockSeconds));
  waits_for_machine_ = lock == nullptr;
  if (waits_for_machine_) return false;
  return measure_one_of(alone);
}

Result<bool> Fleet::Round::measure_one_of(const std::vector<int64_t>& jobs) {
  const int64_t worker = fleet_.worker_;
  Result<std::optional<Job>> claimed = fleet_.queue_.claim_of(jobs, worker, fleet_.options_.lease_seconds);
  if (!claimed) return claimed.status();
  if (!*claimed) return false;
  Job& job = **claimed;
  const size_t index = index_of_.at(job.id);
  const Result<Begun> begun = fleet_.queue_.begin(&job, worker);
  if (!begun) return begun.status();
  if (begun->kind != Begun::Kind::ToMeasure) {
    if (Status looked = look_at({job.id}); !looked) return looked;
    return true;
  }
  job.wanted.timeout = wanted_[index].timeout;  // which the measuring process has
  progress_(answers_.size() - open_.size(), index);
  fleet_.keeper_->hold(job, JobMeter::most_seconds(job.wanted));
  const auto start = Clock::now();
  Measurement measured = here_.measure(index);
  fleet_.keeper_->drop();
  // It was given up, which is no failure: the job waits again once this worker leaves.
  if (is_set(fleet_.options_.stop) && measured.failed()) return true;
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  const Result<Finished> finished = fleet_.queue_.finish(job, worker, took, &measured);
  // Where the server is lost now, this compiler still has the cost.
  const bool counts = !finished || *finished == Finished::Stored || *finished == Finished::StoredForSome ||
                      *finished == Finished::GivenUp;
  if (counts) answer(index, {std::move(measured), true, finished.is_ok()});
  if (!finished) return finished.status();
  return true;
}

Status Fleet::Round::wait_for_results(double most_seconds) {
  const auto end = Clock::now() + of_seconds(most_seconds);
  while (!is_done()) {
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0 || is_set(fleet_.options_.stop)) return Status::ok();
    const double until_look = std::chrono::duration<double>(kStopPause).count();
    const auto came = fleet_.connection_->wait(fleet_.options_.stop == nullptr ? left : std::min(left, until_look));
    if (!came) return came.status();
    if (!*came) continue;
    if ((*came)->channel != kResultsChannel) continue;
    int64_t job = 0;
    const std::string& payload = (*came)->payload;
    std::from_chars(payload.data(), payload.data() + payload.size(), job);
    if (Status looked = look_at({job}); !looked) return looked;
  }
  return Status::ok();
}

Status Fleet::Round::go_on() {
  waits_for_machine_ = false;
  const Result<bool> is_known = fleet_.queue_.renew(fleet_.asker_);
  if (!is_known) return is_known.status();
  if (!*is_known) {
    if (Status put = begin(); !put) return put;
  }
  std::vector<int64_t> jobs;
  for (const auto& [job, index] : index_of_) jobs.push_back(job);
  const Result<std::vector<int64_t>> ended = fleet_.queue_.ended(jobs, fleet_.asker_);
  if (!ended) return ended.status();
  if (Status looked = look_at(*ended); !looked || is_done()) return looked;
  const Result<std::optional<double>> next_end = fleet_.queue_.reap();
  if (!next_end) return next_end.status();
  std::vector<int64_t> for_here;
  if (Status sorted = sort_out(&for_here); !sorted || is_done()) return sorted;
  if (!for_here.empty()) {
    const Result<bool> measured = measure_here(for_here);
    if (!measured || *measured) return measured.status();
  }
  progress_(answers_.size() - open_.size(), open_.front());
  double most = fleet_.options_.tick_seconds;
  constexpr double kAfter = 0.05;  // a lease has ended then
  if (*next_end) most = std::min(most, **next_end + kAfter);
  if (lacks_workers_) most = std::min(most, 1.0);
  if (waits_for_machine_) most = std::min(most, kAfter);
  return wait_for_results(most);
}

Fleet::Fleet(FleetOptions options, std::unique_ptr<postgres::Connection> connection)
    : options_(std::move(options)), connection_(std::move(connection)), queue_(*connection_) {
  if (options_.verdict == nullptr) options_.verdict = std::make_shared<postgres::Verdict>();
  asker_.name = fmt::format("compiler {}", ::getpid());
  asker_.host = runtime::machine_name();
  asker_.lease_seconds = options_.asker_seconds;
}

Result<std::unique_ptr<Fleet>> Fleet::open(FleetOptions options) {
  auto connection = postgres::Connection::open(options.address, options.connect_seconds);
  if (!connection) return connection.status();
  if (Status listens = (*connection)->listen(kResultsChannel); !listens) return listens;
  return std::unique_ptr<Fleet>(new Fleet(std::move(options), std::move(*connection)));
}

Fleet::~Fleet() {
  keeper_.reset();
  if (is_there()) (void)queue_.withdraw(asker_);
  if (worker_ != 0 && is_there()) (void)queue_.leave(worker_);
}

Result<int64_t> Fleet::own_worker() {
  if (worker_ != 0) return worker_;
  Announcement own;
  own.name = asker_.name;
  own.host = asker_.host;
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
  keeper_->set_asker(asker_);
  return worker_;
}

Status Fleet::make_tables() {
  queue_.forget();
  seen_.clear();
  missing_.clear();
  keeper_.reset();
  worker_ = asker_.id = 0;
  return CostDatabase::open(options_.address).status();
}

void Fleet::warn(std::string text) {
  if (std::find(warned_.begin(), warned_.end(), text) != warned_.end()) return;
  warned_.push_back(text);
  warnings_.push_back(std::move(text));
}

void Fleet::warn_of_queue(const std::string& why, bool measures_here) {
  // Who may only read does not keep what is measured here, and the database says so.
  const auto stores = connection_->execute(
      "SELECT has_table_privilege('collage.measurement', 'INSERT') AND current_setting('transaction_read_only') = "
      "'off'");
  const bool only_reads = stores && (*stores)->text(0, 0) == "f";
  if (!only_reads || !measures_here) warn(fmt::format("the queue cannot be used: {}", why));
}

Status Fleet::explain(int64_t id, const std::string& need, bool measures_here) {
  if (!explained_.insert(id).second) return Status::ok();
  const Result<std::vector<KnownWorker>> workers = queue_.workers();
  if (!workers) return workers.status();
  const auto offers = queue_.offers();
  if (!offers) return offers.status();
  const Explain explain = measures_here ? Explain::Mismatches : Explain::All;
  for (std::string& line : why_not_asked(need, *workers, *offers, explain)) warn(std::move(line));
  if (!measures_here && offers->empty()) warn("no worker is there");
  return Status::ok();
}

std::vector<std::optional<FleetAnswer>> Fleet::measure(const std::vector<Wanted>& wanted, const MeasureHere& here,
                                                       const std::function<void(size_t, size_t)>& progress) {
  Round round(*this, wanted, here, progress);
  if (has_given_up_ || options_.verdict->why_lost()) return round.take_answers();
  postgres::Retry retry(*connection_, {.make_tables = [this] { return make_tables(); },
                                       .patience = options_.server_patience,
                                       .verdict = options_.verdict});
  retry.begin();
  Status status = round.begin();
  while (!status || !round.is_done()) {
    if (is_set(options_.stop) || (!status && round.is_done())) break;
    if (status) {
      status = round.go_on();
      if (status) retry.begin();
      continue;
    }
    has_given_up_ = !retry.prepare(status.message());
    if (has_given_up_) {
      if (is_there()) warn_of_queue(status.message(), static_cast<bool>(here.measure));
      break;
    }
    status = round.begin();
  }
  // The asker no longer waits for jobs of this round.
  if (is_there()) {
    const Status withdrawn = queue_.withdraw(asker_);
    // A server that is away now is not waited for by the database as well.
    if (!withdrawn && connection_->is_lost()) (void)retry.prepare(withdrawn.message());
  }
  return round.take_answers();
}

}  // namespace collage::measure::fleet
