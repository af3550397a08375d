// SPDX-License-Identifier: Apache-2.0
// The queue of candidates that have no cost yet, in a PostgreSQL database (queue_schema.h).
//
//     compiler                           database                        worker
//     `put`          ─────────────────→  job, waits     ── notified ──→  `claim`: a lease that ends unless it is extended
//                                        job, measured  ←─────────────── `extend`
//     `look` ←─── notified ────────────  cost, no job   ←─────────────── `finish`, in one transaction
//
// A cost is stored in the transaction that removes its job, and only by the holder of the lease. Who claims a job that
// was put again by somebody who had not seen the cost yet finds the cost (`finish_known`). So nothing is measured twice
// or lost, whoever dies when. A lease that ends makes the job wait again (`reap`), a bounded number of times.
//
// Every function is an error where the server is lost: the caller connects again and goes on.
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

/// Channels of notifications. The payload of one for jobs is the id of their need, of one for results the id of the job.
inline constexpr const char* kJobsChannel = "collage_jobs";
inline constexpr const char* kResultsChannel = "collage_results";

/// So often a job is claimed, when the leases end without an answer: whatever ends its workers may be the candidate.
inline constexpr int kMostAttempts = 8;
/// So often workers may say that they failed for a reason that does not last.
inline constexpr int kMostFailures = 2;

/// Which candidate is to be measured, in which environment.
struct Wanted {
  std::string environment;
  std::string candidate;
  Duration timeout;      ///< for it; a cost that failed by a shorter one is measured again
  bool repeats = false;  ///< so is one that was disturbed
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
  enum class Kind { Pending, Known, GivenUp } kind = Kind::Pending;
  Measurement measurement{};  ///< unless it is pending
};

enum class Finished { Stored, LeaseLost, Waits, GivenUp };

class Queue {
 public:
  /// The connection outlives it. The tables are there: CostDatabase::open makes them.
  explicit Queue(postgres::Connection& connection) : connection_(connection), costs_(connection) {}

  // --- the compiler's side ---

  /// Puts candidates that wait or are measured already once; returns the ids of their jobs, in this order. Expects at
  /// most some hundreds.
  runtime::Result<std::vector<int64_t>> put(const std::vector<Wanted>& wanted);
  /// What became of a job.
  runtime::Result<JobState> look(int64_t job, const Wanted& wanted);
  /// Which of these jobs are neither waiting nor measured.
  runtime::Result<std::vector<int64_t>> ended(const std::vector<int64_t>& jobs);
  /// Workers, the latest ones first.
  runtime::Result<std::vector<KnownWorker>> workers();
  /// Ids of these needs, in their order.
  runtime::Result<std::vector<int64_t>> need_ids(const std::vector<std::string>& needs);
  /// How many live workers have each of these needs.
  runtime::Result<std::map<int64_t, size_t>> live_workers(const std::vector<int64_t>& needs);
  /// Claims one of these jobs.
  runtime::Result<std::optional<Job>> claim_of(const std::vector<int64_t>& jobs, int64_t worker, double lease_seconds);

  // --- the worker's side ---

  /// Says what a worker can measure; `known`: its id if it has one. Returns its id.
  runtime::Result<int64_t> announce(const Announcement& worker, double lease_seconds, int64_t known = 0);
  /// It measures no longer. Its jobs wait again.
  runtime::Status leave(int64_t worker);
  /// It is there, and has something to say. False: it is not known any more.
  runtime::Result<bool> beat(int64_t worker, const std::string& note);
  /// Claims the job that waits longest among those with one of these needs.
  runtime::Result<std::optional<Job>> claim(const std::vector<int64_t>& needs, int64_t worker, double lease_seconds);
  /// The statement of that, whose plan EXPLAIN shows.
  static const char* claim_statement();
  /// Whether one with one of these needs waits, and nobody has claimed it.
  runtime::Result<bool> has_waiting(const std::vector<int64_t>& needs);
  /// Extends a lease. False: it is another's by now.
  runtime::Result<bool> extend(const Job& job, int64_t worker, double lease_seconds);
  /// Ends a job whose cost is known by now, if it is.
  runtime::Result<std::optional<Measurement>> finish_known(const Job& job, int64_t worker);
  /// Ends a job: stores what was measured and removes it. After a failure that does not last it waits again, or is given
  /// up. `*measurement` gets its date, and becomes what the database has where that counts more.
  runtime::Result<Finished> finish(const Job& job, int64_t worker, double seconds, Measurement* measurement);
  /// Makes jobs wait again whose leases have ended, or gives them up. Returns the seconds until the next lease ends;
  /// nullopt: there is none.
  runtime::Result<std::optional<double>> reap();

 private:
  /// Expects that no transaction has begun that may be rolled back, or that the text is known.
  runtime::Result<int64_t> need_id(const std::string& text);
  runtime::Result<int64_t> put_one(const Wanted& wanted, std::vector<int64_t>* needs);
  runtime::Status notify(const char* channel, int64_t payload);
  /// Whether a cost in the database answers a job.
  runtime::Result<std::optional<Measurement>> known(const Wanted& wanted, int64_t asked);
  runtime::Result<std::optional<Measurement>> find_cost(const Wanted& wanted);

  postgres::Connection& connection_;
  PostgresCostTable costs_;
  std::map<std::string, int64_t> needs_;
};

}  // namespace collage::measure::fleet
