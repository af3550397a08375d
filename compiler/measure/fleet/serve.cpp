// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/serve.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/fleet/lease_keeper.h"
#include "compiler/measure/fleet/need.h"
#include "compiler/measure/machine_lock.h"
#include "compiler/measure/reference_kernel.h"
#include "runtime/core/text.h"

namespace collage::measure::fleet {
namespace {

using postgres::Failure;
using runtime::Result;
using runtime::Status;
using Time = std::chrono::steady_clock;

constexpr double kFirstWait = 0.1, kLongestWait = 5;  ///< for a server that is away
constexpr std::chrono::minutes kMostTrouble{10};      ///< of one that is there
constexpr int kMostFailuresInRow = 3;                 ///< of jobs with one need, before it does not count as able
constexpr std::chrono::seconds kLockPatience{1};      ///< before jobs that need no lock are looked for again

int64_t now_in_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Server {
 public:
  Server(const ServeOptions& options, JobMeter& meter, std::unique_ptr<postgres::Connection> connection)
      : options_(options),
        meter_(meter),
        connection_(std::move(connection)),
        queue_(*connection_),
        keeper_(std::make_unique<LeaseKeeper>(
            LeaseKeeperOptions{options.address, options.lease_seconds, options.stop, options.stopped})) {}

  Status run();

 private:
  /// What it knows of the machine's usual speed, and this worker in the table of workers.
  Status announce();
  /// Measures until nothing waits.
  Status measure_waiting();
  /// Measures one job that needs the machine alone; nothing while another program has it.
  Status measure_alone();
  Status measure(Job job, bool is_alone);
  /// As Queue::reap; remembers when the next lease ends.
  Status reap();
  /// Says where the machine is slower than otherwise; returns how much.
  double look_for_drift();
  /// Announces that the worker waits for the machine, or no longer does (an empty `holder`).
  void note_wait(const std::string& holder);
  /// A worker that waits for the machine longer than a lease does not count among those who measure, until it has it.
  Status offer(bool has_machine);
  /// Nor does one that fails whatever has a need, until it measures one of these again.
  Status count_result(const std::string& environment, const Measurement& measured);
  /// Withholds what it cannot measure for now, and offers again what it can.
  Status update_offers();
  /// What it says of itself: why it does not measure, or not as fast as otherwise.
  const std::string& note() const { return !wait_.empty() ? wait_ : !failing_.empty() ? failing_ : note_; }
  void exchange_reference();
  /// Whether what failed last may succeed later.
  bool may_pass() const;
  /// After a failure: waits, connects again, has tables made. False: it lasts.
  bool recovers(const Status& trouble, double* pause);
  double pause_after_failures() const;  ///< seconds
  bool waits(double seconds) const;     ///< false: it is to stop
  bool is_to_stop() const { return !waits(0); }
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }

  const ServeOptions& options_;
  JobMeter& meter_;
  std::unique_ptr<postgres::Connection> connection_;
  Queue queue_;
  std::unique_ptr<LeaseKeeper> keeper_;
  int64_t worker_ = 0;
  std::vector<int64_t> alone_, side_by_side_;  ///< ids of needs
  Duration reference_;
  std::string note_, wait_, failing_;
  std::optional<double> next_lease_end_;  ///< of any worker, in seconds since `reaped_`
  Time::time_point reaped_;
  size_t measured_ = 0;
  int failures_ = 0;                             ///< in a row, for reasons that do not last
  std::optional<Time::time_point> waits_since_;  ///< for the machine
  bool lacks_machine_ = false;                   ///< for longer than a lease
  std::map<int64_t, int> failures_of_;           ///< as `failures_`, by need
  std::set<int64_t> withheld_;                   ///< needs
  std::string trouble_;                          ///< the last failure of the server that was reported
  Time::time_point trouble_since_;
};

bool Server::waits(double seconds) const {
  pollfd stop{options_.stop, POLLIN, 0};
  const int ready = ::poll(&stop, options_.stop < 0 ? 0 : 1, static_cast<int>(seconds * 1000));
  return ready <= 0;
}

/// Where everything fails here, the jobs are for other workers.
double Server::pause_after_failures() const {
  constexpr int kMostDoublings = 8;
  return failures_ == 0 ? 0 : std::min(kFirstWait * (1 << std::min(failures_, kMostDoublings)), kLongestWait);
}

void Server::exchange_reference() {
  constexpr int64_t kDays = 30;
  // Its own connection: it serves no transaction of the queue.
  auto database = CostDatabase::open(options_.address);
  if (!database) return;
  const std::string key = reference_key(options_.announcement.machine);
  const int64_t now = now_in_seconds(), oldest = now - kDays * 24 * 3600;
  if (meter_.measured_reference() > Duration()) {
    (*database)->store_reference(key, meter_.measured_reference(), now, oldest);
  }
  reference_ = (*database)->reference(key, oldest).value_or(Duration());
  meter_.set_reference(reference_);
}

Status Server::announce() {
  const Result<std::vector<int64_t>> alone = queue_.need_ids(meter_.needs().alone);
  if (!alone) return alone.status();
  const Result<std::vector<int64_t>> side_by_side = queue_.need_ids(meter_.needs().side_by_side);
  if (!side_by_side) return side_by_side.status();
  alone_ = *alone;
  side_by_side_ = *side_by_side;
  Announcement announcement = options_.announcement;
  for (const auto* needs : {&meter_.needs().alone, &meter_.needs().side_by_side}) {
    announcement.needs.insert(announcement.needs.end(), needs->begin(), needs->end());
  }
  const Result<int64_t> id = queue_.announce(announcement, options_.lease_seconds, worker_);
  if (!id) return id.status();
  if (*id != worker_) withheld_.clear();  // it has offers of its own
  worker_ = *id;
  keeper_->set_worker(worker_);
  return update_offers();
}

double Server::look_for_drift() {
  if (reference_ == Duration()) return 1;
  const double slowdown = usual_reference_time().seconds() / reference_.seconds();
  const bool is_slow = slowdown > kMostSlowdown;
  const std::string note =
      is_slow ? fmt::format("the reference kernel takes {:.1f} times as long as otherwise", slowdown) : "";
  if (note.empty() != note_.empty())
    say(is_slow ? note + "; costs are marked as disturbed" : "as fast as otherwise again");
  note_ = note;
  keeper_->set_note(this->note());
  return slowdown;
}

void Server::note_wait(const std::string& holder) {
  const std::string wait = holder.empty() ? "" : fmt::format("waits: {} measures on this machine", holder);
  if (wait == wait_) return;
  wait_ = wait;
  if (!wait.empty()) say(wait);
  keeper_->set_note(note());
}

Status Server::offer(bool has_machine) {
  if (has_machine) waits_since_.reset();
  if (!has_machine && !waits_since_) waits_since_ = Time::now();
  lacks_machine_ =
      !has_machine &&
      (lacks_machine_ || std::chrono::duration<double>(Time::now() - *waits_since_).count() > options_.lease_seconds);
  return update_offers();
}

Status Server::count_result(const std::string& environment, const Measurement& measured) {
  const bool has_failed = measured.failed() && !measured.lasting;
  failures_ = has_failed ? failures_ + 1 : 0;
  const Result<std::vector<int64_t>> need = queue_.need_ids({need_of(environment)});
  if (!need) return need.status();
  int& failures = failures_of_[need->front()];
  failures = has_failed ? failures + 1 : 0;
  if (failures >= kMostFailuresInRow)
    failing_ = fmt::format("it failed {} times in a row, the last time: {}", failures, measured.failure);
  return update_offers();
}

Status Server::update_offers() {
  std::vector<int64_t> withheld, offered;
  bool fails = false;
  for (const auto* needs : {&alone_, &side_by_side_}) {
    for (int64_t need : *needs) {
      const auto failures = failures_of_.find(need);
      const bool is_failing = failures != failures_of_.end() && failures->second >= kMostFailuresInRow;
      const bool is_to_withhold = is_failing || (lacks_machine_ && needs == &alone_);
      fails = fails || is_failing;
      if (is_to_withhold != withheld_.contains(need)) (is_to_withhold ? withheld : offered).push_back(need);
    }
  }
  if (!fails) failing_.clear();
  keeper_->set_note(note());
  if (withheld.empty() && offered.empty()) return Status::ok();
  // The note goes first, so that a compiler that finds backends withheld finds the reason.
  if (const Result<bool> known = queue_.beat(worker_, note()); !known) return known.status();
  if (Status status = withheld.empty() ? Status::ok() : queue_.withhold(worker_, withheld, true); !status)
    return status;
  withheld_.insert(withheld.begin(), withheld.end());
  if (Status status = offered.empty() ? Status::ok() : queue_.withhold(worker_, offered, false); !status) return status;
  for (int64_t need : offered) withheld_.erase(need);
  return Status::ok();
}

Status Server::measure(Job job, bool is_alone) {
  const Result<Begun> begun = queue_.begin(&job, worker_);
  if (!begun || begun->kind != Begun::Kind::ToMeasure) return begun.status();
  const double slowdown = is_alone ? look_for_drift() : 1;
  keeper_->hold(job, JobMeter::most_seconds(job.wanted));
  const Time::time_point start = Time::now();
  Measurement measured = meter_.measure(job.wanted);
  const double seconds = std::chrono::duration<double>(Time::now() - start).count();
  keeper_->drop();
  if (slowdown > kMostSlowdown && !measured.failed() && measured.disturbance.empty()) measured.disturbance = note_;
  const std::string name = short_hash(job.wanted.candidate);
  // Where the server is away just now, there may be time left.
  Result<Finished> finished = queue_.finish(job, worker_, seconds, &measured);
  const Time::time_point last =
      Time::now() + std::chrono::round<Time::duration>(std::chrono::duration<double>(options_.lease_seconds));
  while (!finished && may_pass() && Time::now() < last && waits(kFirstWait)) {
    if (!connection_->is_lost() || connection_->reconnect(1))
      finished = queue_.finish(job, worker_, seconds, &measured);
  }
  if (!finished) return finished.status();
  ++measured_;
  const std::string result = measured.failed() ? "failed: " + measured.failure : runtime::to_string(measured.cost);
  switch (*finished) {
    case Finished::Stored:
      say(fmt::format("{}: {}{}", name, result,
                      measured.disturbance.empty() ? "" : ", disturbed: " + measured.disturbance));
      break;
    case Finished::StoredForSome: say(fmt::format("{}: {}, to be tried again with more time", name, result)); break;
    case Finished::LeaseLost: say(fmt::format("{}: {}, too late: its lease had ended", name, result)); break;
    case Finished::Waits: say(fmt::format("{}: {}, to be tried again", name, result)); break;
    case Finished::GivenUp: say(fmt::format("{}: {}, given up", name, result)); break;
  }
  return count_result(job.wanted.environment, measured);
}

Status Server::reap() {
  const Result<std::optional<double>> next = queue_.reap();
  if (!next) return next.status();
  next_lease_end_ = *next;
  reaped_ = Time::now();
  return Status::ok();
}

Status Server::measure_waiting() {
  while (waits(pause_after_failures())) {
    const bool is_time_to_reap = std::chrono::duration<double>(Time::now() - reaped_).count() > options_.tick_seconds;
    if (Status status = is_time_to_reap ? reap() : Status::ok(); !status) return status;
    Result<std::optional<Job>> job = queue_.claim(side_by_side_, worker_, options_.lease_seconds);
    if (!job) return job.status();
    if (*job) {
      if (Status status = measure(std::move(**job), false); !status) return status;
      continue;
    }
    const Result<bool> waits_alone = queue_.has_waiting(alone_, worker_);
    if (!waits_alone) return waits_alone.status();
    if (!*waits_alone) return Status::ok();
    if (Status status = measure_alone(); !status) return status;
  }
  return Status::ok();
}

Status Server::measure_alone() {
  // Before the claim: who has a lease waits for no other.
  LockHolder holder;
  const std::unique_ptr<MachineLock> lock = MachineLock::try_lock(options_.lock, Time::now() + kLockPatience, &holder);
  note_wait(lock == nullptr ? holder.text() : "");
  if (Status status = offer(lock != nullptr); !status) return status;
  if (lock == nullptr || is_to_stop()) return Status::ok();
  Result<std::optional<Job>> job = queue_.claim(alone_, worker_, options_.lease_seconds);
  if (!job || !*job) return job.status();
  return measure(std::move(**job), true);
}

bool Server::may_pass() const {
  const Failure failure = connection_->failure();
  return failure != Failure::Lasting && failure != Failure::TablesGone;
}

bool Server::recovers(const Status& trouble, double* pause) {
  const Failure failure = connection_->failure();
  const auto wait_longer = [&] {
    const bool goes_on = waits(*pause);
    *pause = std::min(2 * *pause, kLongestWait);
    return goes_on;
  };
  if (failure == Failure::Lasting) return false;
  if (trouble_.empty()) trouble_since_ = Time::now();
  if (trouble_ != trouble.message()) {
    trouble_ = trouble.message();
    say(fmt::format("{}: {}", failure == Failure::Lost ? "the server is away" : "tries again", trouble_));
  }
  if (failure != Failure::Lost) {
    if (Time::now() - trouble_since_ > kMostTrouble) return false;
    if (!wait_longer()) return true;
  }
  if (failure == Failure::TablesGone) {
    queue_.forget();
    failures_of_.clear();  // needs have other ids
    worker_ = 0;
    (void)CostDatabase::open(options_.address);  // makes them
  }
  if (failure != Failure::Lost && failure != Failure::ReadOnly) return true;
  while (true) {
    const Status again = connection_->reconnect(1);
    if (again) break;
    if (trouble_ != again.message()) say(fmt::format("the server is away: {}", trouble_ = again.message()));
    if (!wait_longer()) break;
  }
  if (!connection_->is_lost()) say("connected again");
  return true;
}

Status Server::run() {
  exchange_reference();
  if (Status status = connection_->listen(kJobsChannel); !status) return status;
  if (Status status = announce(); !status) return status;
  say(fmt::format("worker `{}` {}: measures {}", options_.announcement.name, worker_, options_.announcement.backends));
  const auto once = [&]() -> Status {
    const Result<bool> known = queue_.beat(worker_, note());
    if (!known) return known.status();
    if (!*known) {
      if (Status status = announce(); !status) return status;
    }
    if (Status status = reap(); !status) return status;
    if (Status status = measure_waiting(); !status) return status;
    note_wait("");
    if (lacks_machine_) {
      const bool has_machine = MachineLock::try_lock(options_.lock, Time::now()) != nullptr;
      if (Status status = offer(has_machine); !status) return status;
    }
    const Duration found = meter_.measured_reference();
    if (found > Duration() && (reference_ == Duration() || found < reference_)) exchange_reference();
    if (is_to_stop() || options_.ends_when_empty) return Status::ok();
    constexpr double kAfter = 0.05;  // the lease has ended then
    const double most =
        next_lease_end_ ? std::min(options_.tick_seconds, *next_lease_end_ + kAfter) : options_.tick_seconds;
    // Notifications of other needs wake it, too; claims then find nothing.
    const auto came = connection_->wait(most, options_.stop);
    return came.status();
  };
  double pause = kFirstWait;
  while (!is_to_stop()) {
    const Status status = once();
    if (status) {
      pause = kFirstWait;
      trouble_.clear();
      if (options_.ends_when_empty) break;
      continue;
    }
    if (!recovers(status, &pause)) return status;
    if (is_to_stop()) break;
    if (Status again = announce(); !again && !may_pass() && connection_->failure() != Failure::TablesGone) return again;
  }
  keeper_.reset();  // a beat would announce it again
  connection_->limit_silence(kLongestWait);
  if (!connection_->is_lost()) (void)queue_.leave(worker_);
  say("ends after " + runtime::counted(measured_, "measurement"));
  return Status::ok();
}

}  // namespace

Status serve(const ServeOptions& options, JobMeter& meter) {
  if (!postgres::Connection::is_address(options.address))
    return Status::error("it is no address of a server, `postgresql://…`");
  // Makes the tables.
  if (auto database = CostDatabase::open(options.address); !database) return database.status();
  auto connection = postgres::Connection::open(options.address);
  if (!connection) return connection.status();
  return Server(options, meter, std::move(*connection)).run();
}

}  // namespace collage::measure::fleet
