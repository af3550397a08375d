// SPDX-License-Identifier: Apache-2.0
// The side of the compilers, and who waits for what: queue.h. queue_work.cpp has that of the workers.
#include "compiler/measure/fleet/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "compiler/measure/cost_tables.h"
#include "compiler/measure/fleet/need.h"
#include "compiler/measure/fleet/queue_rows.h"

namespace collage::measure::fleet {
namespace {

using postgres::Rows;
using runtime::Result;
using runtime::Status;

/// With more time it may succeed.
bool is_too_short(const Measurement& cost, const Wanted& wanted) {
  return cost.failed() && cost.timeout > Duration() && cost.timeout < wanted.timeout;
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

/// Another program may put or end the same job between two statements. The row that is found is locked, so that no one
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
      std::string("UPDATE collage.asker SET until = clock_timestamp() + $2::double precision * interval '1 second' "
                  "WHERE id = $1") +
          kVersion,
      {asker.id, asker.lease_seconds});
  if (!renewed) return renewed.status();
  return has_changed(**renewed);
}

Result<bool> Queue::has_changed(const Rows& rows) {
  if (rows.size() == 0) return false;
  const int64_t needed = kTablesVersion, there = rows.number(0, 0);
  if (there <= needed) return true;
  return Status::error(
      fmt::format("another program made its tables again: they have version {}, this program needs {}", there, needed));
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
  // In one order for all programs: those that put the same wait for each other, and do not deadlock.
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
      if (Status notified = notify(kJobsChannel, need); !notified) return notified;
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
  auto found = connection_.execute(fmt::format(
      "SELECT id, name, host, arch, processor, machine, build, backends, {}, note FROM collage.worker "
      "WHERE EXISTS (SELECT FROM collage.offer WHERE offer.worker = worker.id) ORDER BY id DESC LIMIT 10000",
      kIsLive));
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
      fmt::format("SELECT worker.id, text FROM collage.worker JOIN collage.offer ON offer.worker = worker.id "
                  "JOIN collage.need ON need.id = offer.need WHERE {} ORDER BY worker.id, need.id",
                  kIsLive));
  if (!found) return found.status();
  std::map<int64_t, std::vector<std::string>> offers;
  for (size_t row = 0; row < (*found)->size(); ++row)
    offers[(*found)->number(row, 0)].emplace_back((*found)->text(row, 1));
  return offers;
}

Result<std::map<int64_t, size_t>> Queue::live_workers(const std::vector<int64_t>& needs) {
  auto found = connection_.execute(
      fmt::format("SELECT need, count(*) FROM collage.offer JOIN collage.worker ON worker.id = offer.worker "
                  "WHERE need = ANY($1::bigint[]) AND NOT withheld AND {} GROUP BY need",
                  kIsLive),
      {array_of(needs)});
  if (!found) return found.status();
  std::map<int64_t, size_t> counts;
  for (int64_t need : needs) counts[need] = 0;
  for (size_t row = 0; row < (*found)->size(); ++row) {
    counts[(*found)->number(row, 0)] = static_cast<size_t>((*found)->number(row, 1));
  }
  return counts;
}

Result<bool> Queue::is_withheld(int64_t need) {
  auto found =
      connection_.execute(fmt::format("SELECT FROM collage.offer JOIN collage.worker ON worker.id = offer.worker "
                                      "WHERE need = $1 AND withheld AND {} LIMIT 1",
                                      kIsLive),
                          {need});
  if (!found) return found.status();
  return (*found)->size() > 0;
}

}  // namespace collage::measure::fleet
