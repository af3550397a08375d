// SPDX-License-Identifier: Apache-2.0
// The functions of queue.h for workers and others that claim jobs.
#include <algorithm>
#include <string>

#include "compiler/measure/fleet/queue.h"
#include "compiler/measure/fleet/queue_rows.h"

namespace collage::measure::fleet {
namespace {

using postgres::Rows;
using runtime::Result;
using runtime::Status;

/// For each need the index gives the job that has waited longest; the first need that has one ends the search. Rows
/// that others are about to claim are skipped. Jobs that were claimed before may be for others to try.
constexpr const char* kClaim = R"sql(
  WITH next AS (
    SELECT job.id FROM unnest($1::bigint[]) AS offered(need)
    CROSS JOIN LATERAL (
      SELECT id FROM collage.job WHERE need = offered.need AND state = 0 AND (attempts = 0 OR collage.may_claim(id, $2))
      ORDER BY turn LIMIT 1 FOR UPDATE SKIP LOCKED) AS job
    LIMIT 1)
  UPDATE collage.job AS job SET state = 1, attempts = attempts + 1, worker = $2,
    lease_end = clock_timestamp() + $3::double precision * interval '1 second'
  FROM next, collage.environment WHERE job.id = next.id AND environment.id = job.environment
  RETURNING job.id, attempts, environment.text, candidate, timeout_ps, repeats, asked
)sql";

/// As that, of the jobs of one compiler.
constexpr const char* kClaimOf = R"sql(
  WITH next AS (
    SELECT id FROM collage.job WHERE id = ANY($1::bigint[]) AND state = 0 AND (attempts = 0 OR collage.may_claim(id, $2))
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
  UPDATE collage.job AS job SET state = 1, attempts = attempts + 1, worker = $2,
    lease_end = clock_timestamp() + $3::double precision * interval '1 second'
  FROM next, collage.environment WHERE job.id = next.id AND environment.id = job.environment
  RETURNING job.id, attempts, environment.text, candidate, timeout_ps, repeats, asked
)sql";

/// Given-up jobs are kept for a day, so that who asked for them learns why.
constexpr const char* kForget =
    "DELETE FROM collage.job WHERE state = 2 AND lease_end < clock_timestamp() - interval '1 day'";

constexpr const char* kReap = R"sql(
  UPDATE collage.job AS job SET
    state = CASE WHEN attempts >= $1 THEN 2 ELSE 0 END,
    reason = CASE WHEN attempts >= $1 THEN
      'its lease ended ' || attempts || ' times, the last time at worker `' || coalesce(
        (SELECT name FROM collage.worker WHERE worker.id = job.worker), '?') || '`' ELSE reason END
  WHERE id IN (
    SELECT id FROM collage.job WHERE state = 1 AND lease_end < clock_timestamp() FOR UPDATE SKIP LOCKED)
  RETURNING id, state, need
)sql";

/// A lease that ended is one that its worker lost.
constexpr const char* kCountLost = R"sql(
  INSERT INTO collage.failed_by(job, host, name, lost)
  SELECT job.id, host, name, 1 FROM collage.job JOIN collage.worker ON worker.id = job.worker WHERE job.id = ANY($1::bigint[])
  ON CONFLICT (job, host, name) DO UPDATE SET lost = failed_by.lost + 1
)sql";

constexpr const char* kCountFailure = R"sql(
  INSERT INTO collage.failed_by(job, host, name, failures)
  SELECT $1, host, name, 1 FROM collage.worker WHERE id = $2
  ON CONFLICT (job, host, name) DO UPDATE SET failures = failed_by.failures + 1
)sql";

/// Whether a job has failed for good: so many workers have, or the last one has so often and no other is able to try.
constexpr const char* kHasFailed = R"sql(
  SELECT attempts >= $3 OR (SELECT count(*) FROM collage.failed_by WHERE failed_by.job = $1 AND failures > 0) >= $4 OR EXISTS (
    SELECT FROM collage.worker AS own JOIN collage.failed_by ON failed_by.host = own.host AND failed_by.name = own.name
    WHERE own.id = $2 AND failed_by.job = $1 AND failed_by.failures >= $4 AND NOT EXISTS (
      SELECT FROM collage.able WHERE able.job = $1 AND (able.host, able.name) <> (own.host, own.name)))
  FROM collage.job WHERE job.id = $1
)sql";

std::optional<Job> job_of(const Rows& rows) {
  if (rows.size() == 0) return std::nullopt;
  Job job;
  job.id = rows.number(0, 0);
  job.attempt = static_cast<int>(rows.number(0, 1));
  job.wanted.environment = rows.text(0, 2);
  job.wanted.candidate = rows.text(0, 3);
  job.wanted.timeout = Duration::picoseconds(rows.number(0, 4));
  job.wanted.repeats = rows.text(0, 5) == "t";
  job.asked = rows.number(0, 6);
  return job;
}

}  // namespace

Result<int64_t> Queue::announce(const Announcement& worker, double lease_seconds, int64_t known) {
  const Result<std::vector<int64_t>> needs = need_ids(worker.needs);
  if (!needs) return needs.status();
  int64_t id = 0;
  const Status status = connection_.in_transaction([&]() -> Status {
    if (auto old =
            connection_.execute("DELETE FROM collage.worker WHERE seen < clock_timestamp() - interval '90 days'");
        !old)
      return old.status();
    id = known;
    if (id != 0) {
      auto seen =
          connection_.execute("UPDATE collage.worker SET seen = clock_timestamp(), gone = false WHERE id = $1", {id});
      if (!seen || (*seen)->changed() > 0) return seen.status();
    }
    auto made = connection_.execute(
        "INSERT INTO collage.worker(name, host, arch, processor, machine, build, backends, lease_s, seen) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp()) RETURNING id",
        {worker.name, worker.host, worker.arch, worker.processor, worker.machine, worker.build, worker.backends,
         lease_seconds});
    if (!made) return made.status();
    id = (*made)->number(0, 0);
    return connection_
        .execute(
            "INSERT INTO collage.offer(worker, need) SELECT $1::bigint, need FROM unnest($2::bigint[]) AS one(need)",
            {id, array_of(*needs)})
        .status();
  });
  if (!status) return status;
  return id;
}

Status Queue::leave(int64_t worker) {
  return connection_.in_transaction([&]() -> Status {
    auto back = connection_.execute(
        "UPDATE collage.job SET state = 0, attempts = attempts - 1 WHERE state = 1 AND worker = $1 RETURNING id, need",
        {worker});
    if (!back) return back.status();
    for (size_t row = 0; row < (*back)->size(); ++row) {
      if (Status notified = notify(kJobsChannel, (*back)->number(row, 1)); !notified) return notified;
    }
    if (Status removed = remove_unwanted(numbers_of(**back)); !removed) return removed;
    return connection_.execute("UPDATE collage.worker SET gone = true WHERE id = $1", {worker}).status();
  });
}

Status Queue::withhold(int64_t worker, const std::vector<int64_t>& needs, bool is_withheld) {
  return connection_
      .execute("UPDATE collage.offer SET withheld = $3 WHERE worker = $1 AND need = ANY($2::bigint[])",
               {worker, array_of(needs), is_withheld ? "t" : "f"})
      .status();
}

Result<bool> Queue::beat(int64_t worker, const std::string& note) {
  auto seen = connection_.execute(
      std::string("UPDATE collage.worker SET seen = clock_timestamp(), gone = false, note = $2 WHERE id = $1") +
          kVersion,
      {worker, note});
  if (!seen) return seen.status();
  return has_changed(**seen);
}

Result<std::optional<Job>> Queue::claim(const std::vector<int64_t>& needs, int64_t worker, double lease_seconds) {
  auto claimed = connection_.execute(kClaim, {array_of(needs), worker, lease_seconds});
  if (!claimed) return claimed.status();
  return job_of(**claimed);
}

const char* Queue::claim_statement() {
  return kClaim;
}

Result<std::optional<Job>> Queue::claim_of(const std::vector<int64_t>& jobs, int64_t worker, double lease_seconds) {
  auto claimed = connection_.execute(kClaimOf, {array_of(jobs), worker, lease_seconds});
  if (!claimed) return claimed.status();
  return job_of(**claimed);
}

Result<bool> Queue::has_waiting(const std::vector<int64_t>& needs, int64_t worker) {
  auto found = connection_.execute(
      "SELECT FROM unnest($1::bigint[]) AS offered(need) "
      "WHERE EXISTS (SELECT FROM collage.job WHERE need = offered.need AND state = 0 "
      "AND (attempts = 0 OR collage.may_claim(id, $2))) LIMIT 1",
      {array_of(needs), worker});
  if (!found) return found.status();
  return (*found)->size() > 0;
}

Result<bool> Queue::extend(const Job& job, int64_t worker, double lease_seconds) {
  auto extended = connection_.execute(
      "UPDATE collage.job SET lease_end = clock_timestamp() + $4::double precision * interval '1 second' "
      "WHERE id = $1 AND worker = $2 AND attempts = $3 AND state = 1",
      {job.id, worker, int64_t{job.attempt}, lease_seconds});
  if (!extended) return extended.status();
  return (*extended)->changed() > 0;
}

Result<Begun> Queue::begin(Job* job, int64_t worker) {
  Begun begun;
  const Status status = connection_.in_transaction([&]() -> Status {
    auto held = connection_.execute(
        "SELECT FROM collage.job WHERE id = $1 AND worker = $2 AND attempts = $3 AND state = 1 FOR UPDATE",
        {job->id, worker, int64_t{job->attempt}});
    if (!held) return held.status();
    begun.kind = Begun::Kind::LeaseLost;
    if ((*held)->size() == 0) return Status::ok();
    auto asked = connection_.execute(
        "SELECT count(*), coalesce(max(timeout_ps), 0), coalesce(bool_or(repeats), false) "
        "FROM collage.asked_for JOIN collage.asker ON asker.id = asked_for.asker "
        "WHERE job = $1 AND until > clock_timestamp()",
        {job->id});
    if (!asked) return asked.status();
    begun.kind = Begun::Kind::Unwanted;
    if ((*asked)->number(0, 0) > 0) {
      job->wanted.timeout = Duration::picoseconds((*asked)->number(0, 1));
      job->wanted.repeats = (*asked)->text(0, 2) == "t";
      auto cost = known(job->wanted, job->asked);
      if (!cost) return cost.status();
      begun.kind = *cost ? Begun::Kind::Known : Begun::Kind::ToMeasure;
      if (!*cost) return Status::ok();
      begun.measurement = std::move(**cost);
    }
    auto ended = connection_.execute("DELETE FROM collage.job WHERE id = $1", {job->id});
    return ended ? notify(kResultsChannel, job->id) : ended.status();
  });
  if (!status) return status;
  return begun;
}

Result<Finished> Queue::finish(const Job& job, int64_t worker, double seconds, Measurement* measurement) {
  const bool is_kept = !measurement->failed() || measurement->lasting;
  Finished finished = Finished::LeaseLost;
  const Measurement made = *measurement;
  const Status status = connection_.in_transaction([&]() -> Status {
    *measurement = made;
    auto held = connection_.execute(
        "SELECT extract(epoch FROM clock_timestamp())::bigint FROM collage.job "
        "WHERE id = $1 AND worker = $2 AND attempts = $3 AND state = 1 FOR UPDATE",
        {job.id, worker, int64_t{job.attempt}});
    if (!held) return held.status();
    finished = Finished::LeaseLost;
    if ((*held)->size() == 0) return Status::ok();
    measurement->date = (*held)->number(0, 0);
    // Whoever compares it with what is asked for compares the same number.
    if (measurement->timeout > Duration()) measurement->timeout = job.wanted.timeout;
    const Result<Finished> ended = is_kept ? store(job, seconds, measurement) : put_back(job, worker, *measurement);
    if (ended) finished = *ended;
    return ended.status();
  });
  if (!status) return status;
  return finished;
}

Result<Finished> Queue::store(const Job& job, double seconds, Measurement* measurement) {
  costs_.forget_environments();  // of another try
  const auto written = costs_.write({{job.wanted.environment, job.wanted.candidate, *measurement}});
  if (!written) return written.status();
  if (written->known > 0) {
    const auto better = find_cost(job.wanted);
    if (!better) return better.status();
    if (*better) *measurement = **better;
  }
  auto logged = connection_.execute(
      "INSERT INTO collage.measured_by(environment, candidate_digest, worker, host, attempt, seconds) "
      "SELECT environment, collage.text_digest(candidate), coalesce(name, ''), coalesce(host, ''), attempts, "
      "$2::double precision "
      "FROM collage.job LEFT JOIN collage.worker ON worker.id = job.worker WHERE job.id = $1",
      {job.id, seconds});
  if (!logged) return logged.status();
  if (measurement->failed() && measurement->timeout > Duration()) {
    auto answered = connection_.execute("DELETE FROM collage.asked_for WHERE job = $1 AND timeout_ps <= $2",
                                        {job.id, measurement->timeout.ps()});
    if (!answered) return answered.status();
    auto waits = connection_.execute(
        "UPDATE collage.job SET state = 0, turn = DEFAULT WHERE id = $1 "
        "AND EXISTS (SELECT FROM collage.asked_for WHERE asked_for.job = job.id) RETURNING need",
        {job.id});
    if (!waits) return waits.status();
    if ((*waits)->size() > 0) {
      if (Status notified = notify(kResultsChannel, job.id); !notified) return notified;
      if (Status notified = notify(kJobsChannel, (*waits)->number(0, 0)); !notified) return notified;
      return Finished::StoredForSome;
    }
  }
  if (auto ended = connection_.execute("DELETE FROM collage.job WHERE id = $1", {job.id}); !ended)
    return ended.status();
  if (Status notified = notify(kResultsChannel, job.id); !notified) return notified;
  return Finished::Stored;
}

Result<Finished> Queue::put_back(const Job& job, int64_t worker, const Measurement& failed) {
  if (auto counted = connection_.execute(kCountFailure, {job.id, worker}); !counted) return counted.status();
  auto has_failed = connection_.execute(kHasFailed, {job.id, worker, int64_t{kMostAttempts}, int64_t{kMostFailures}});
  if (!has_failed) return has_failed.status();
  const bool is_given_up = (*has_failed)->size() > 0 && (*has_failed)->text(0, 0) == "t";
  auto back = connection_.execute(
      "UPDATE collage.job SET state = $2, turn = DEFAULT, failures = failures + 1, reason = $3, crashed = $4 "
      "WHERE id = $1 RETURNING need",
      {job.id, is_given_up ? kGivenUp : kWaits, failed.failure, failed.crashed ? "t" : "f"});
  if (!back) return back.status();
  const Status notified = is_given_up ? notify(kResultsChannel, job.id) : notify(kJobsChannel, (*back)->number(0, 0));
  if (!notified) return notified;
  if (Status removed = remove_unwanted({job.id}); !removed) return removed;
  return is_given_up ? Finished::GivenUp : Finished::Waits;
}

Result<std::optional<double>> Queue::reap() {
  const Status status = connection_.in_transaction([&]() -> Status {
    if (Status removed = remove_absent_askers(); !removed) return removed;
    auto reaped = connection_.execute(kReap, {int64_t{kMostAttempts}});
    if (!reaped) return reaped.status();
    for (size_t row = 0; row < (*reaped)->size(); ++row) {
      const bool waits = (*reaped)->number(row, 1) == kWaits;
      const Status notified =
          waits ? notify(kJobsChannel, (*reaped)->number(row, 2)) : notify(kResultsChannel, (*reaped)->number(row, 0));
      if (!notified) return notified;
    }
    if (const std::vector<int64_t> jobs = numbers_of(**reaped); !jobs.empty()) {
      if (auto counted = connection_.execute(kCountLost, {array_of(jobs)}); !counted) return counted.status();
      if (Status removed = remove_unwanted(jobs); !removed) return removed;
    }
    return connection_.execute(kForget).status();
  });
  if (!status) return status;
  auto next = connection_.execute(
      "SELECT extract(epoch FROM min(lease_end) - clock_timestamp())::double precision FROM collage.job WHERE state = "
      "1");
  if (!next) return next.status();
  if ((*next)->is_null(0, 0)) return std::optional<double>();
  return std::optional(std::max(0.0, (*next)->real(0, 0)));
}

}  // namespace collage::measure::fleet
