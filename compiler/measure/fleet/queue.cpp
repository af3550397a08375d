// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/queue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "compiler/measure/fleet/need.h"

namespace collage::measure::fleet {
namespace {

using postgres::Rows;
using runtime::Result;
using runtime::Status;

constexpr int64_t kWaits = 0, kMeasured = 1, kGivenUp = 2;  ///< `state` of a job

/// For each need the index gives the job that has waited longest; the first need that has one ends the search. Rows that
/// others are about to claim are skipped. Jobs that were claimed before may be for others to try.
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

/// As the server reads arrays: `{1,2}`.
std::string array_of(const std::vector<int64_t>& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

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

/// With more time it may succeed.
bool is_too_short(const Measurement& cost, const Wanted& wanted) {
  return cost.failed() && cost.timeout > Duration() && cost.timeout < wanted.timeout;
}

std::vector<int64_t> numbers_of(const Rows& rows) {
  std::vector<int64_t> numbers;
  for (size_t row = 0; row < rows.size(); ++row) numbers.push_back(rows.number(row, 0));
  return numbers;
}

}  // namespace

Result<int64_t> Queue::need_id(const std::string& text) {
  constexpr const char* kFind =
      "SELECT id FROM collage.need WHERE collage.text_digest(text) = collage.text_digest($1) AND text = $1";
  if (const auto found = needs_.find(text); found != needs_.end()) return found->second;
  auto found = connection_.execute(kFind, {text});
  if (!found) return found.status();
  if ((*found)->size() == 0) {
    auto made = connection_.execute("INSERT INTO collage.need(text) VALUES ($1) ON CONFLICT DO NOTHING", {text});
    if (!made) return made.status();
    found = connection_.execute(kFind, {text});
    if (!found) return found.status();
    if ((*found)->size() == 0) return Status::error("the queue does not keep what is put into it");
  }
  return needs_[text] = (*found)->number(0, 0);
}

Status Queue::notify(const char* channel, int64_t payload) {
  return connection_.execute("SELECT pg_notify($1, $2)", {channel, std::to_string(payload)}).status();
}

Result<std::optional<Measurement>> Queue::find_cost(const Wanted& wanted) {
  Result<std::optional<CostRow>> row = costs_.look_up(wanted.environment, wanted.candidate);
  if (!row) return row.status();
  if (!*row || !(*row)->problem.empty()) return std::optional<Measurement>();
  return std::optional(std::move((*row)->measurement));
}

Result<std::optional<Measurement>> Queue::known(const Wanted& wanted, int64_t asked) {
  auto found = find_cost(wanted);
  if (!found || !*found) return found;
  const Measurement& cost = **found;
  const bool is_to_repeat = wanted.repeats && !cost.disturbance.empty() && cost.date < asked;
  if (is_too_short(cost, wanted) || is_to_repeat) return std::optional<Measurement>();
  return found;
}

/// Another program may put or end the same job between two statements. The row that is found is locked, so that nobody
/// removes it before it is known who waits for it.
Result<int64_t> Queue::put_one(const Wanted& wanted, const Asker& asker, std::vector<int64_t>* needs) {
  const Result<int64_t> need = need_id(need_of(wanted.environment));
  if (!need) return need;
  const Result<int64_t> environment = costs_.environment_id(wanted.environment);
  if (!environment) return environment;
  const std::string_view repeats = wanted.repeats ? "t" : "f";
  int64_t id = 0;
  constexpr int kMostTries = 10;
  for (int tries = 0; id == 0; ++tries) {
    if (tries == kMostTries) return Status::error("the queue does not keep what is put into it");
    auto found = connection_.execute(
        "SELECT id, state, timeout_ps < $3 OR ($4 AND NOT repeats) FROM collage.job "
        "WHERE environment = $1 AND collage.text_digest(candidate) = collage.text_digest($2) AND candidate = $2 FOR "
        "UPDATE",
        {*environment, wanted.candidate, wanted.timeout.ps(), repeats});
    if (!found) return found.status();
    if ((*found)->size() == 0) {
      auto made = connection_.execute(
          "INSERT INTO collage.job(need, environment, candidate, timeout_ps, repeats, asked) "
          "VALUES ($1, $2, $3, $4, $5, extract(epoch FROM now())::bigint) ON CONFLICT DO NOTHING RETURNING id",
          {*need, *environment, wanted.candidate, wanted.timeout.ps(), repeats});
      if (!made) return made.status();
      if ((*made)->size() == 0) continue;
      id = (*made)->number(0, 0);
      needs->push_back(*need);
      break;
    }
    id = (*found)->number(0, 0);
    if ((*found)->number(0, 1) == kGivenUp) {
      if (Status status = revive(id); !status) return status;
      needs->push_back(*need);
    }
    if ((*found)->text(0, 2) != "t") break;
    auto changed = connection_.execute(
        "UPDATE collage.job SET timeout_ps = greatest(timeout_ps, $2), repeats = repeats OR $3 WHERE id = $1",
        {id, wanted.timeout.ps(), repeats});
    if (!changed) return changed.status();
  }
  auto asked = connection_.execute(
      "INSERT INTO collage.asked_for(job, asker, timeout_ps, repeats, measures) VALUES ($1, $2, $3, $4, $5) "
      "ON CONFLICT (job, asker) DO UPDATE SET timeout_ps = greatest(asked_for.timeout_ps, excluded.timeout_ps), "
      "repeats = asked_for.repeats OR excluded.repeats, measures = excluded.measures",
      {id, asker.id, wanted.timeout.ps(), repeats, asker.measures ? "t" : "f"});
  if (!asked) return asked.status();
  return id;
}

Status Queue::revive(int64_t job) {
  auto forgotten = connection_.execute("DELETE FROM collage.failed_by WHERE job = $1", {job});
  if (!forgotten) return forgotten.status();
  return connection_
      .execute(
          "UPDATE collage.job SET state = 0, attempts = 0, failures = 0, reason = '', crashed = false, "
          "asked = extract(epoch FROM now())::bigint WHERE id = $1",
          {job})
      .status();
}

Result<int64_t> Queue::present(const Asker& asker) {
  if (asker.id != 0) {
    const Result<bool> known = renew(asker);
    if (!known) return known.status();
    if (*known) return asker.id;
  }
  auto made = connection_.execute(
      "INSERT INTO collage.asker(name, host, until) "
      "VALUES ($1, $2, clock_timestamp() + $3::double precision * interval '1 second') RETURNING id",
      {asker.name, asker.host, asker.lease_seconds});
  if (!made) return made.status();
  return (*made)->number(0, 0);
}

Result<bool> Queue::renew(const Asker& asker) {
  auto renewed = connection_.execute(
      "UPDATE collage.asker SET until = clock_timestamp() + $2::double precision * interval '1 second' WHERE id = $1",
      {asker.id, asker.lease_seconds});
  if (!renewed) return renewed.status();
  return (*renewed)->changed() > 0;
}

/// Who puts a job again locks it: either it waits here, and finds no job, or the job is found to be wanted.
Status Queue::remove_unwanted(const std::vector<int64_t>& jobs) {
  if (jobs.empty()) return Status::ok();
  auto locked = connection_.execute(
      "SELECT id FROM collage.job WHERE id = ANY($1::bigint[]) AND state <> 1 ORDER BY id FOR UPDATE",
      {array_of(jobs)});
  if (!locked) return locked.status();
  return connection_
      .execute(
          "DELETE FROM collage.job WHERE id = ANY($1::bigint[]) "
          "AND NOT EXISTS (SELECT FROM collage.asked_for WHERE asked_for.job = job.id)",
          {array_of(numbers_of(**locked))})
      .status();
}

Status Queue::remove_absent_askers() {
  auto absent =
      connection_.execute("SELECT id FROM collage.asker WHERE until < clock_timestamp() FOR UPDATE SKIP LOCKED");
  if (!absent) return absent.status();
  if ((*absent)->size() == 0) return Status::ok();
  return remove_askers(numbers_of(**absent));
}

/// As everywhere, jobs are locked before what belongs to them.
Status Queue::remove_askers(const std::vector<int64_t>& askers) {
  auto locked = connection_.execute(
      "SELECT FROM collage.job WHERE id IN (SELECT job FROM collage.asked_for WHERE asker = ANY($1::bigint[])) "
      "ORDER BY id FOR UPDATE",
      {array_of(askers)});
  if (!locked) return locked.status();
  auto left = connection_.execute("DELETE FROM collage.asked_for WHERE asker = ANY($1::bigint[]) RETURNING job",
                                  {array_of(askers)});
  if (!left) return left.status();
  if (Status status = remove_unwanted(numbers_of(**left)); !status) return status;
  return connection_.execute("DELETE FROM collage.asker WHERE id = ANY($1::bigint[])", {array_of(askers)}).status();
}

Status Queue::withdraw(const Asker& asker) {
  if (asker.id == 0) return Status::ok();
  return connection_.in_transaction([&] { return remove_askers({asker.id}); });
}

Result<std::vector<int64_t>> Queue::put(const std::vector<Wanted>& wanted, Asker* asker) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Programs that put the same wait for each other, and not in a circle.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(wanted[a].environment, wanted[a].candidate) < std::tie(wanted[b].environment, wanted[b].candidate);
  });
  std::vector<int64_t> ids(wanted.size(), 0);
  // Texts are put on their own, so that none is known here that was rolled back.
  for (const Wanted& one : wanted) {
    if (const auto id = costs_.environment_id(one.environment); !id) return id.status();
    if (const auto id = need_id(need_of(one.environment)); !id) return id.status();
  }
  Asker now = *asker;
  const Status status = connection_.in_transaction([&]() -> Status {
    const Result<int64_t> present_id = present(*asker);
    if (!present_id) return present_id.status();
    now.id = *present_id;
    std::vector<int64_t> needs;
    for (size_t one : order) {
      const Result<int64_t> id = put_one(wanted[one], now, &needs);
      if (!id) return id.status();
      ids[one] = *id;
    }
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    for (int64_t need : needs) {
      if (Status told = notify(kJobsChannel, need); !told) return told;
    }
    return Status::ok();
  });
  if (!status) return status;
  asker->id = now.id;
  return ids;
}

Result<JobState> Queue::look(int64_t job, const Wanted& wanted, const Asker& asker) {
  auto found = connection_.execute(
      "SELECT state, reason, crashed, EXISTS (SELECT FROM collage.asked_for WHERE job = $1 AND asker = $2) "
      "FROM collage.job WHERE id = $1",
      {job, asker.id});
  if (!found) return found.status();
  JobState state;
  const bool has_asked = (*found)->size() > 0 && (*found)->text(0, 3) == "t";
  if (has_asked && (*found)->number(0, 0) != kGivenUp) return state;
  if (has_asked) {
    state.kind = JobState::Kind::GivenUp;
    state.measurement = passing_failure(std::string((*found)->text(0, 1)));
    state.measurement.crashed = (*found)->text(0, 2) == "t";
    return state;
  }
  auto cost = find_cost(wanted);
  if (!cost) return cost.status();
  state.kind = JobState::Kind::Gone;
  if (!*cost || is_too_short(**cost, wanted)) return state;
  state.kind = JobState::Kind::Known;
  state.measurement = std::move(**cost);
  return state;
}

Result<std::vector<int64_t>> Queue::ended(const std::vector<int64_t>& jobs, const Asker& asker) {
  auto found = connection_.execute(
      "SELECT one.id FROM unnest($1::bigint[]) AS one(id) "
      "LEFT JOIN collage.asked_for ON asked_for.job = one.id AND asker = $2 LEFT JOIN collage.job ON job.id = "
      "asked_for.job "
      "WHERE coalesce(state, 2) = 2",
      {array_of(jobs), asker.id});
  if (!found) return found.status();
  return numbers_of(**found);
}

Result<std::vector<int64_t>> Queue::left_by_workers(const std::vector<int64_t>& jobs, const Asker& asker) {
  auto found = connection_.execute(
      "SELECT id FROM collage.job WHERE id = ANY($1::bigint[]) AND state = 0 AND attempts > 0 "
      "AND EXISTS (SELECT FROM collage.failed_by WHERE failed_by.job = job.id) AND NOT EXISTS (SELECT FROM "
      "collage.able "
      "WHERE able.job = job.id AND serves AND collage.tries(job.id, able.host, able.name) <= collage.tries(job.id, $2, "
      "$3)) "
      "ORDER BY id",
      {array_of(jobs), asker.host, asker.name});
  if (!found) return found.status();
  return numbers_of(**found);
}

Result<std::vector<KnownWorker>> Queue::workers() {
  auto found = connection_.execute(
      "SELECT id, name, host, arch, processor, machine, build, backends, "
      "NOT gone AND seen + lease_s * interval '1 second' > clock_timestamp(), note FROM collage.worker "
      "WHERE EXISTS (SELECT FROM collage.offer WHERE offer.worker = worker.id) ORDER BY id DESC LIMIT 10000");
  if (!found) return found.status();
  std::vector<KnownWorker> workers;
  for (size_t row = 0; row < (*found)->size(); ++row) {
    KnownWorker& worker = workers.emplace_back();
    worker.id = (*found)->number(row, 0);
    int column = 1;
    for (std::string Announcement::*text :
         {&Announcement::name, &Announcement::host, &Announcement::arch, &Announcement::processor,
          &Announcement::machine, &Announcement::build, &Announcement::backends}) {
      worker.announcement.*text = (*found)->text(row, column++);
    }
    worker.is_live = (*found)->text(row, 8) == "t";
    worker.note = (*found)->text(row, 9);
  }
  return workers;
}

Result<std::vector<int64_t>> Queue::need_ids(const std::vector<std::string>& needs) {
  std::vector<int64_t> ids;
  for (const std::string& need : needs) {
    const Result<int64_t> id = need_id(need);
    if (!id) return id.status();
    ids.push_back(*id);
  }
  return ids;
}

Result<std::map<int64_t, std::vector<std::string>>> Queue::offers() {
  auto found = connection_.execute(
      "SELECT worker.id, text FROM collage.worker JOIN collage.offer ON offer.worker = worker.id "
      "JOIN collage.need ON need.id = offer.need "
      "WHERE NOT gone AND seen + lease_s * interval '1 second' > clock_timestamp() ORDER BY worker.id, need.id");
  if (!found) return found.status();
  std::map<int64_t, std::vector<std::string>> offers;
  for (size_t row = 0; row < (*found)->size(); ++row)
    offers[(*found)->number(row, 0)].emplace_back((*found)->text(row, 1));
  return offers;
}

Result<std::map<int64_t, size_t>> Queue::live_workers(const std::vector<int64_t>& needs) {
  auto found = connection_.execute(
      "SELECT need, count(*) FROM collage.offer JOIN collage.worker ON worker.id = offer.worker "
      "WHERE need = ANY($1::bigint[]) AND NOT gone AND NOT withheld AND seen + lease_s * interval '1 second' > "
      "clock_timestamp() "
      "GROUP BY need",
      {array_of(needs)});
  if (!found) return found.status();
  std::map<int64_t, size_t> counts;
  for (int64_t need : needs) counts[need] = 0;
  for (size_t row = 0; row < (*found)->size(); ++row) {
    counts[(*found)->number(row, 0)] = static_cast<size_t>((*found)->number(row, 1));
  }
  return counts;
}

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
      if (Status told = notify(kJobsChannel, (*back)->number(row, 1)); !told) return told;
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
      "UPDATE collage.worker SET seen = clock_timestamp(), gone = false, note = $2 WHERE id = $1", {worker, note});
  if (!seen) return seen.status();
  return (*seen)->changed() > 0;
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
      if (Status told = notify(kResultsChannel, job.id); !told) return told;
      if (Status told = notify(kJobsChannel, (*waits)->number(0, 0)); !told) return told;
      return Finished::StoredForSome;
    }
  }
  if (auto ended = connection_.execute("DELETE FROM collage.job WHERE id = $1", {job.id}); !ended)
    return ended.status();
  if (Status told = notify(kResultsChannel, job.id); !told) return told;
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
  const Status told = is_given_up ? notify(kResultsChannel, job.id) : notify(kJobsChannel, (*back)->number(0, 0));
  if (!told) return told;
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
      const Status told =
          waits ? notify(kJobsChannel, (*reaped)->number(row, 2)) : notify(kResultsChannel, (*reaped)->number(row, 0));
      if (!told) return told;
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
