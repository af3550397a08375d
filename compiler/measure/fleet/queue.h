// SPDX-License-Identifier: Apache-2.0
// The queue of candidates that have no cost yet, in a PostgreSQL database (queue_schema.h).
//
//     compiler                           database                        worker
//     `put`          ─────────────────→  job, waits     ── notified ──→  `claim`: a lease, which ends unless extended
//                                        job, measured  ←─────────────── `extend`
//     `look` ←─── notified ────────────  cost, no job   ←─────────────── `finish`, in one transaction
//
// A cost is stored in the transaction that removes its job, and only by the holder of the lease. Who claims a job that
// was put again by a compiler that had not seen the cost yet finds the cost (`begin`). So nothing is measured twice
// or lost, whichever program dies at whatever time. A lease that ends makes the job wait again (`reap`), a bounded
// number of times.
//
// The queue knows who waits for each job (`Asker`). A job is measured with the longest timeout that one of them asks
// for; where that is too short for a compiler that came later, the failure answers the others, and the job waits again.
// A job without waiting compilers is removed: a killed compiler gives no signs of life, and what it waits for ends with
// it.
//
// A failure that does not last counts against the worker that had it. Another worker tries next, if there is one; the
// job is given up when two have failed, or the only one has failed twice. A compiler that can measure itself counts as
// a worker here.
//
// Every function is an error where the server is lost or busy: the caller does what that asks for (postgres/retry.h)
// and goes on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/measure/measurement.h"
#include "compiler/measure/postgres/connection.h"
#include "compiler/measure/postgres_cost_table.h"

namespace collage::measure::fleet {

/// Channels of notifications. The payload of one for jobs is the id of their need, of one for results the id of the
/// job.
inline constexpr const char* kJobsChannel = "collage_jobs";
inline constexpr const char* kResultsChannel = "collage_results";

/// So often a job is claimed, when the leases end without an answer: whatever ends its workers may be the candidate.
inline constexpr int kMostAttempts = 8;
/// A job is given up when so many workers failed it for a reason that does not last, or the only one so often.
inline constexpr int kMostFailures = 2;

/// Which candidate is to be measured, in which environment.
struct Wanted {
  std::string environment;
  std::string candidate;
  Duration timeout;      ///< for it; a cost that failed by a shorter one is measured again
  bool repeats = false;  ///< so is one that was disturbed
};

/// A program that waits for jobs.
struct Asker {
  std::string name, host;     ///< also of the worker that it announces to measure itself
  bool measures = false;      ///< it can measure what it asks for, where no worker does
  double lease_seconds = 60;  ///< after which it counts as gone, without a sign of life
  int64_t id = 0;             ///< in the database; 0: `put` makes it known there
};

/// One that is claimed.
struct Job {
  int64_t id = 0;
  int attempt = 0;  ///< counts claims; with the id it names the lease
  Wanted wanted;
  int64_t asked = 0;  ///< when, in seconds of Unix time of the server
};

/// What a worker says of itself.
struct Announcement {
  std::string name;
  std::string host;
  std::string arch;       ///< `x86_64`
  std::string processor;  ///< its name
  std::string machine;    ///< `describe_machine`
  std::string build;      ///< `describe_build`
  std::string backends;   ///< names, separated by blanks
  std::vector<std::string> needs;
};

/// A worker as the database knows it.
struct KnownWorker {
  int64_t id = 0;
  Announcement announcement;  ///< without needs
  bool is_live = false;       ///< it was seen lately
  std::string note;           ///< that it says of itself: it is slower than otherwise
};

/// The state of a job that was put.
struct JobState {
  /// `Gone`: it was removed, and no cost answers it; who still needs it puts it again.
  enum class Kind { Pending, Known, GivenUp, Gone } kind = Kind::Pending;
  Measurement measurement{};  ///< if it is known or given up
};

/// What there is to do for a job that was claimed.
struct Begun {
  enum class Kind { ToMeasure, Known, Unwanted, LeaseLost } kind = Kind::ToMeasure;
  Measurement measurement{};  ///< if it is known
};

/// `StoredForSome`: it took longer than the timeout, but a waiting compiler allows more time.
enum class Finished { Stored, StoredForSome, LeaseLost, Waits, GivenUp };

class Queue {
 public:
  /// The connection outlives it. The tables are there: CostDatabase::open makes them.
  explicit Queue(postgres::Connection& connection) : connection_(connection), costs_(connection) {}
  /// The tables were made anew: ids of texts are others.
  void forget() {
    needs_.clear();
    costs_.forget_environments();
  }

  // --- the compiler's side ---

  /// Puts candidates that wait or are measured already once; returns the ids of their jobs, in this order. The asker
  /// waits for them from now on. Expects at most some hundreds.
  runtime::Result<std::vector<int64_t>> put(const std::vector<Wanted>& wanted, Asker* asker);
  /// The asker is there. False: it is not known any more, and has to put again what it waits for.
  runtime::Result<bool> renew(const Asker& asker);
  /// The asker waits for nothing any more.
  runtime::Status withdraw(const Asker& asker);
  /// What became of a job, for an asker.
  runtime::Result<JobState> look(int64_t job, const Wanted& wanted, const Asker& asker);
  /// Which of these jobs the asker need not wait for any more.
  runtime::Result<std::vector<int64_t>> ended(const std::vector<int64_t>& jobs, const Asker& asker);
  /// Which of these waiting jobs every live worker has failed more often than the asker has.
  runtime::Result<std::vector<int64_t>> left_by_workers(const std::vector<int64_t>& jobs, const Asker& asker);
  /// Workers, the latest ones first.
  runtime::Result<std::vector<KnownWorker>> workers();
  /// Ids of these needs, in their order.
  runtime::Result<std::vector<int64_t>> need_ids(const std::vector<std::string>& needs);
  /// What live workers can measure: texts of needs, by worker.
  runtime::Result<std::map<int64_t, std::vector<std::string>>> offers();
  /// How many live workers have each of these needs.
  runtime::Result<std::map<int64_t, size_t>> live_workers(const std::vector<int64_t>& needs);
  /// Whether a live worker has this need, but cannot measure for now (`withhold`).
  runtime::Result<bool> is_withheld(int64_t need);
  /// Claims one of these jobs, as `claim` does.
  runtime::Result<std::optional<Job>> claim_of(const std::vector<int64_t>& jobs, int64_t worker, double lease_seconds);

  // --- the worker's side ---

  /// Says what a worker can measure; `known`: its id if it has one. Returns its id.
  runtime::Result<int64_t> announce(const Announcement& worker, double lease_seconds, int64_t known = 0);
  /// It measures no longer. Its jobs wait again.
  runtime::Status leave(int64_t worker);
  /// It cannot measure what has these needs for now, and does not count among those who can; or it can again.
  runtime::Status withhold(int64_t worker, const std::vector<int64_t>& needs, bool is_withheld);
  /// It is there, and has something to say. False: it is not known any more.
  runtime::Result<bool> beat(int64_t worker, const std::string& note);
  /// Claims the job that waits longest among those with one of these needs, unless another that is able to measure it
  /// has failed it less often.
  runtime::Result<std::optional<Job>> claim(const std::vector<int64_t>& needs, int64_t worker, double lease_seconds);
  /// The statement of that, whose plan EXPLAIN shows.
  static const char* claim_statement();
  /// Whether there is one to claim.
  runtime::Result<bool> has_waiting(const std::vector<int64_t>& needs, int64_t worker);
  /// Extends a lease. False: it is another's by now.
  runtime::Result<bool> extend(const Job& job, int64_t worker, double lease_seconds);
  /// Reads what those who wait for a claimed job ask for now, into the job. Ends the job if no compiler waits, or if
  /// its cost is known.
  runtime::Result<Begun> begin(Job* job, int64_t worker);
  /// Ends a job that was measured with the timeout that it has here: stores what was measured and removes it, unless
  /// a waiting compiler allows more time than it took. After a failure that does not last it waits again, or is given
  /// up. `*measurement` gets its date, and becomes what the database has where that counts more.
  runtime::Result<Finished> finish(const Job& job, int64_t worker, double seconds, Measurement* measurement);
  /// Makes jobs wait again whose leases have ended, or gives them up; removes askers without signs of life, and jobs
  /// without waiting compilers. Returns the seconds until the next lease ends; nullopt: there is none.
  runtime::Result<std::optional<double>> reap();

 private:
  /// Expects that no transaction has begun that may be rolled back, or that the text is known.
  runtime::Result<int64_t> need_id(const std::string& text);
  runtime::Result<int64_t> put_one(const Wanted& wanted, const Asker& asker, std::vector<int64_t>* needs);
  /// Returns the id of an asker, which counts as there from now on.
  runtime::Result<int64_t> present(const Asker& asker);
  runtime::Status notify(const char* channel, int64_t payload);
  /// Whether an UPDATE that returns `kVersion` changed a row. An error where the tables are those of a newer program.
  runtime::Result<bool> has_changed(const postgres::Rows& rows);
  /// Has a job that was given up wait again, as if it were new.
  runtime::Status revive(int64_t job);
  /// Remove jobs that no compiler waits for: of these, or those of askers, with the askers. Expect a transaction.
  runtime::Status remove_unwanted(const std::vector<int64_t>& jobs);
  runtime::Status remove_askers(const std::vector<int64_t>& askers);
  runtime::Status remove_absent_askers();
  /// Ends of `finish`, in its transaction.
  runtime::Result<Finished> store(const Job& job, double seconds, Measurement* measurement);
  runtime::Result<Finished> put_back(const Job& job, int64_t worker, const Measurement& failed);
  /// Whether a cost in the database answers a job.
  runtime::Result<std::optional<Measurement>> known(const Wanted& wanted, int64_t asked);
  runtime::Result<std::optional<Measurement>> find_cost(const Wanted& wanted);

  postgres::Connection& connection_;
  PostgresCostTable costs_;
  std::map<std::string, int64_t> needs_;
};

}  // namespace collage::measure::fleet
