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

constexpr int64_t kWaits = 0, kMeasured = 1;  ///< `state` of a job; 2: given up

/// For each need the index gives the job that has waited longest; the first need that has one ends the search. Rows that
/// others are about to claim are skipped.
constexpr const char* kClaim = R"sql(
  WITH next AS (
    SELECT job.id FROM unnest($1::bigint[]) AS offered(need)
    CROSS JOIN LATERAL (
      SELECT id FROM collage.job WHERE need = offered.need AND state = 0 ORDER BY turn LIMIT 1 FOR UPDATE SKIP LOCKED) AS job
    LIMIT 1)
  UPDATE collage.job AS job SET state = 1, attempts = attempts + 1, worker = $2,
    lease_end = clock_timestamp() + $3::double precision * interval '1 second'
  FROM next, collage.environment WHERE job.id = next.id AND environment.id = job.environment
  RETURNING job.id, attempts, environment.text, candidate, timeout_ps, repeats, asked
)sql";

/// As that, of the jobs of one compiler.
constexpr const char* kClaimOf = R"sql(
  WITH next AS (
    SELECT id FROM collage.job WHERE id = ANY($1::bigint[]) AND state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
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
  const bool may_end_now = cost.failed() && cost.timeout > Duration() && cost.timeout < wanted.timeout;
  const bool is_to_repeat = wanted.repeats && !cost.disturbance.empty() && cost.date < asked;
  if (may_end_now || is_to_repeat) return std::optional<Measurement>();
  return found;
}

/// Another program may put or end the same job between two statements.
Result<int64_t> Queue::put_one(const Wanted& wanted, std::vector<int64_t>* needs) {
  const Result<int64_t> need = need_id(need_of(wanted.environment));
  if (!need) return need;
  const Result<int64_t> environment = costs_.environment_id(wanted.environment);
  if (!environment) return environment;
  constexpr int kMostTries = 10;
  for (int tries = 0; tries < kMostTries; ++tries) {
    auto found = connection_.execute(
        "SELECT id, state, timeout_ps < $3 OR ($4 AND NOT repeats) FROM collage.job "
        "WHERE environment = $1 AND collage.text_digest(candidate) = collage.text_digest($2) AND candidate = $2",
        {*environment, wanted.candidate, wanted.timeout.ps(), wanted.repeats ? "t" : "f"});
    if (!found) return found.status();
    if ((*found)->size() > 0) {
      const int64_t id = (*found)->number(0, 0);
      const int64_t state = (*found)->number(0, 1);
      if ((state == kWaits || state == kMeasured) && (*found)->text(0, 2) != "t") return id;
      // Given up, which is tried again; or it asks for less.
      auto changed = connection_.execute(
          "UPDATE collage.job SET timeout_ps = greatest(timeout_ps, $2), repeats = repeats OR $3, "
          "asked = CASE WHEN state = 2 THEN extract(epoch FROM now())::bigint ELSE asked END, "
          "attempts = CASE WHEN state = 2 THEN 0 ELSE attempts END, "
          "failures = CASE WHEN state = 2 THEN 0 ELSE failures END, "
          "reason = CASE WHEN state = 2 THEN '' ELSE reason END, crashed = crashed AND state <> 2, "
          "state = CASE WHEN state = 2 THEN 0 ELSE state END WHERE id = $1",
          {id, wanted.timeout.ps(), wanted.repeats ? "t" : "f"});
      if (!changed) return changed.status();
      if (state == kWaits || state == kMeasured) return id;
      needs->push_back(*need);
      if ((*changed)->changed() > 0) return id;
      continue;
    }
    auto made = connection_.execute(
        "INSERT INTO collage.job(need, environment, candidate, timeout_ps, repeats, asked) "
        "VALUES ($1, $2, $3, $4, $5, extract(epoch FROM now())::bigint) ON CONFLICT DO NOTHING RETURNING id",
        {*need, *environment, wanted.candidate, wanted.timeout.ps(), wanted.repeats ? "t" : "f"});
    if (!made) return made.status();
    if ((*made)->size() == 0) continue;
    needs->push_back(*need);
    return (*made)->number(0, 0);
  }
  return Status::error("the queue does not keep what is put into it");
}

Result<std::vector<int64_t>> Queue::put(const std::vector<Wanted>& wanted) {
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
  const Status status = connection_.in_transaction([&]() -> Status {
    std::vector<int64_t> needs;
    for (size_t one : order) {
      const Result<int64_t> id = put_one(wanted[one], &needs);
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
  return ids;
}

Result<JobState> Queue::look(int64_t job, const Wanted& wanted) {
  auto found = connection_.execute("SELECT state, reason, crashed FROM collage.job WHERE id = $1", {job});
  if (!found) return found.status();
  JobState state;
  if ((*found)->size() > 0) {
    if ((*found)->number(0, 0) == kWaits || (*found)->number(0, 0) == kMeasured) return state;
    state.kind = JobState::Kind::GivenUp;
    state.measurement = failed_measurement(std::string((*found)->text(0, 1)));
    state.measurement.lasting = false;
    state.measurement.crashed = (*found)->text(0, 2) == "t";
    return state;
  }
  const auto cost = find_cost(wanted);
  if (!cost) return cost.status();
  state.kind = *cost ? JobState::Kind::Known : JobState::Kind::GivenUp;
  state.measurement = *cost ? **cost : failed_measurement("its cost was removed from the database");
  if (!*cost) state.measurement.lasting = false;
  return state;
}

Result<std::vector<int64_t>> Queue::ended(const std::vector<int64_t>& jobs) {
  auto found = connection_.execute(
      "SELECT one.id FROM unnest($1::bigint[]) AS one(id) "
      "LEFT JOIN collage.job ON job.id = one.id WHERE coalesce(state, 2) = 2",
      {array_of(jobs)});
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

Result<std::map<int64_t, size_t>> Queue::live_workers(const std::vector<int64_t>& needs) {
  auto found = connection_.execute(
      "SELECT need, count(*) FROM collage.offer JOIN collage.worker ON worker.id = offer.worker "
      "WHERE need = ANY($1::bigint[]) AND NOT gone AND seen + lease_s * interval '1 second' > clock_timestamp() "
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
        "UPDATE collage.job SET state = 0, attempts = attempts - 1 WHERE state = 1 AND worker = $1 RETURNING need",
        {worker});
    if (!back) return back.status();
    for (int64_t need : numbers_of(**back)) {
      if (Status told = notify(kJobsChannel, need); !told) return told;
    }
    return connection_.execute("UPDATE collage.worker SET gone = true WHERE id = $1", {worker}).status();
  });
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

Result<bool> Queue::has_waiting(const std::vector<int64_t>& needs) {
  auto found = connection_.execute(
      "SELECT FROM unnest($1::bigint[]) AS offered(need) "
      "WHERE EXISTS (SELECT FROM collage.job WHERE need = offered.need AND state = 0) LIMIT 1",
      {array_of(needs)});
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

Result<std::optional<Measurement>> Queue::finish_known(const Job& job, int64_t worker) {
  auto cost = known(job.wanted, job.asked);
  if (!cost || !*cost) return cost;
  const Status status = connection_.in_transaction([&]() -> Status {
    auto ended =
        connection_.execute("DELETE FROM collage.job WHERE id = $1 AND worker = $2 AND attempts = $3 AND state = 1",
                            {job.id, worker, int64_t{job.attempt}});
    return ended ? notify(kResultsChannel, job.id) : ended.status();
  });
  if (!status) return status;
  return cost;
}

Result<Finished> Queue::finish(const Job& job, int64_t worker, double seconds, Measurement* measurement) {
  const bool is_kept = !measurement->failed() || measurement->lasting;
  Finished finished = Finished::Stored;
  const Measurement made = *measurement;
  const Status status = connection_.in_transaction([&]() -> Status {
    *measurement = made;
    auto held = connection_.execute(
        "SELECT failures, need, extract(epoch FROM clock_timestamp())::bigint FROM collage.job "
        "WHERE id = $1 AND worker = $2 AND attempts = $3 AND state = 1 FOR UPDATE",
        {job.id, worker, int64_t{job.attempt}});
    if (!held) return held.status();
    finished = Finished::LeaseLost;
    if ((*held)->size() == 0) return Status::ok();
    measurement->date = (*held)->number(0, 2);
    if (is_kept) {
      finished = Finished::Stored;
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
      if (auto ended = connection_.execute("DELETE FROM collage.job WHERE id = $1", {job.id}); !ended)
        return ended.status();
      return notify(kResultsChannel, job.id);
    }
    const int64_t failures = (*held)->number(0, 0) + 1;
    finished = failures >= kMostFailures ? Finished::GivenUp : Finished::Waits;
    auto put_back = connection_.execute(
        "UPDATE collage.job SET state = $2, turn = DEFAULT, failures = $3, reason = $4, crashed = $5 "
        "WHERE id = $1",
        {job.id, finished == Finished::GivenUp ? int64_t{2} : kWaits, failures, measurement->failure,
         measurement->crashed ? "t" : "f"});
    if (!put_back) return put_back.status();
    return finished == Finished::GivenUp ? notify(kResultsChannel, job.id)
                                         : notify(kJobsChannel, (*held)->number(0, 1));
  });
  if (!status) return status;
  return finished;
}

Result<std::optional<double>> Queue::reap() {
  const Status status = connection_.in_transaction([&]() -> Status {
    auto reaped = connection_.execute(kReap, {int64_t{kMostAttempts}});
    if (!reaped) return reaped.status();
    for (size_t row = 0; row < (*reaped)->size(); ++row) {
      const bool waits = (*reaped)->number(row, 1) == kWaits;
      const Status told =
          waits ? notify(kJobsChannel, (*reaped)->number(row, 2)) : notify(kResultsChannel, (*reaped)->number(row, 0));
      if (!told) return told;
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
