// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/postgres_cost_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "compiler/measure/cost_rules.h"
#include "runtime/support/utf8.h"

namespace collage::measure {
namespace {

using postgres::Rows;
using runtime::Result;
using runtime::Status;

// Rows go to the server as one JSON text.
constexpr size_t kRowsOfBatch = 1000;
constexpr size_t kBytesOfBatch = 4 << 20;
/// A row that is there when it is added can be gone when it is examined, so often.
constexpr int kMostRepeats = 100;

/// The rows of such a text. `number` is a place in the batch or an id in the table.
constexpr const char* kGiven =
    "json_to_recordset($1) AS given(number bigint, environment bigint, candidate text, cost_ps bigint, "
    "spread_ps bigint, runs bigint, failure text, timeout_ps bigint, date bigint, disturbance text, "
    "repeated bigint)";

/// Rows that are removed at a time, so that each statement is short.
constexpr size_t kRowsOfRemoval = 10'000;

constexpr const char* kRemove =
    "WITH gone AS (DELETE FROM collage.measurement WHERE id = ANY($1::bigint[]) RETURNING id) SELECT count(*) FROM "
    "gone";

constexpr const char* kRemoveWithMeasurers = R"sql(
  WITH gone AS (
    DELETE FROM collage.measurement WHERE id = ANY($1::bigint[])
    RETURNING environment, collage.text_digest(candidate) AS digest),
  forgotten AS (
    DELETE FROM collage.measured_by USING gone
    WHERE measured_by.environment = gone.environment AND candidate_digest = gone.digest)
  SELECT count(*) FROM gone
)sql";

Measurement read_measurement(const Rows& rows, size_t row, int first) {
  const auto text = [&](int column) { return std::string(rows.text(row, first + column)); };
  const auto number = [&](int column) { return rows.number(row, first + column); };
  return to_measurement({number(0), number(1), number(2), text(3), number(4), number(5), text(6), number(7)});
}

/// Texts of PostgreSQL are UTF-8 without zeros.
Status check_texts(const CostRow& row) {
  for (const std::string* text :
       {&row.environment, &row.candidate, &row.measurement.failure, &row.measurement.disturbance}) {
    if (!support::is_utf8(*text)) return Status::error("a text is not UTF-8");
    if (text->find('\0') != std::string::npos) return Status::error("a text holds a byte that is zero");
  }
  return Status::ok();
}

}  // namespace

Result<int64_t> PostgresCostTable::environment_id(const std::string& text) {
  const auto known = environments_.find(text);
  if (known != environments_.end()) return known->second;
  for (int turn = 0; turn < 2; ++turn) {
    auto found = server_.execute(
        "SELECT id FROM collage.environment WHERE collage.text_digest(text) = collage.text_digest($1) AND text = $1",
        {text});
    if (!found) return found.status();
    if ((*found)->size() == 1) return environments_[text] = (*found)->number(0, 0);
    auto added = server_.execute("INSERT INTO collage.environment(text) VALUES($1) ON CONFLICT DO NOTHING", {text});
    if (!added) return added.status();
  }
  return Status::error("the environment cannot be added");
}

Result<std::optional<CostRow>> PostgresCostTable::look_up(const std::string& environment,
                                                          const std::string& candidate) {
  // Texts that the server cannot hold are not there.
  if (!check_texts({environment, candidate, {}})) return std::optional<CostRow>();
  auto found = server_.execute(
      fmt::format(
          "SELECT {} FROM collage.measurement JOIN collage.environment ON environment.id = measurement.environment "
          "WHERE collage.text_digest(text) = collage.text_digest($1) AND text = $1 "
          "AND collage.text_digest(candidate) = collage.text_digest($2) AND candidate = $2",
          kCostColumns),
      {environment, candidate});
  if (!found) return found.status();
  if ((*found)->size() == 0) return std::optional<CostRow>();
  CostRow row{environment, candidate, read_measurement(**found, 0, 0)};
  row.problem = problem_of_measured(row.measurement);
  return std::optional(std::move(row));
}

Result<Written> PostgresCostTable::write(const std::vector<CostRow>& rows) {
  Written written;
  Batch batch;
  size_t bytes = 0;
  std::set<std::pair<std::string_view, std::string_view>> keys;
  const auto end_batch = [&] {
    Status status = write_batch(std::exchange(batch, {}), &written);
    keys.clear();
    bytes = 0;
    return status;
  };
  for (const CostRow& row : rows) {
    if (Status status = check_texts(row); !status) return status;
    const bool is_full = batch.size() == kRowsOfBatch || bytes > kBytesOfBatch;
    if (is_full || keys.contains({row.environment, row.candidate})) {
      if (Status status = end_batch(); !status) return status;
    }
    keys.insert({row.environment, row.candidate});
    batch.push_back(&row);
    bytes += row.candidate.size();
  }
  if (Status status = end_batch(); !status) return status;
  return written;
}

Status PostgresCostTable::write_batch(const Batch& batch, Written* written) {
  Batch open = batch;
  for (int turn = 0; turn < kMostRepeats && !open.empty(); ++turn) {
    const size_t size = open.size();
    Result<Batch> there = add(open);
    if (!there) return there.status();
    written->added += size - there->size();
    if (there->empty()) return Status::ok();
    there = settle(*there, written);
    if (!there) return there.status();
    open = std::move(*there);
  }
  return open.empty() ? Status::ok() : Status::error("another text has the digest of the candidate's");
}

Result<std::string> PostgresCostTable::document_of(const Batch& batch, const std::vector<int64_t>* numbers) {
  nlohmann::json document = nlohmann::json::array();
  for (size_t place = 0; place < batch.size(); ++place) {
    const Result<int64_t> environment = environment_id(batch[place]->environment);
    if (!environment) return environment.status();
    const Measurement& measured = batch[place]->measurement;
    document.push_back({{"number", numbers == nullptr ? static_cast<int64_t>(place) : (*numbers)[place]},
                        {"environment", *environment},
                        {"candidate", batch[place]->candidate},
                        {"cost_ps", measured.cost.ps()},
                        {"spread_ps", measured.spread.ps()},
                        {"runs", measured.runs},
                        {"failure", measured.failure},
                        {"timeout_ps", measured.timeout.ps()},
                        {"date", measured.date},
                        {"disturbance", measured.disturbance},
                        {"repeated", int64_t{measured.repeated}}});
  }
  return document.dump();
}

Result<PostgresCostTable::Batch> PostgresCostTable::add(const Batch& batch) {
  const Result<std::string> document = document_of(batch);
  if (!document) return document.status();
  // All writers take the rows in one order, so that none waits for another in a cycle.
  auto added = server_.execute(
      fmt::format("WITH given AS MATERIALIZED (SELECT *, collage.text_digest(candidate) AS digest FROM {0}), "
                  "added AS (INSERT INTO collage.measurement(environment, candidate, {1}) "
                  "SELECT environment, candidate, {1} FROM given ORDER BY environment, digest "
                  "ON CONFLICT DO NOTHING RETURNING environment, collage.text_digest(candidate) AS digest) "
                  "SELECT given.number FROM given JOIN added USING (environment, digest)",
                  kGiven, kCostColumns),
      {*document});
  if (!added) return added.status();
  std::vector<bool> is_added(batch.size(), false);
  for (size_t row = 0; row < (*added)->size(); ++row) is_added[static_cast<size_t>((*added)->number(row, 0))] = true;
  Batch there;
  for (size_t place = 0; place < batch.size(); ++place) {
    if (!is_added[place]) there.push_back(batch[place]);
  }
  return there;
}

Result<PostgresCostTable::Batch> PostgresCostTable::settle(const Batch& batch, Written* written) {
  const Result<std::string> document = document_of(batch);
  if (!document) return document.status();
  // Row by row, by the index: the planner would rather compute the digests of a whole table.
  auto locked = server_.execute(
      fmt::format("SELECT given.number, kept.* FROM "
                  "(SELECT * FROM {} ORDER BY environment, collage.text_digest(candidate)) given CROSS JOIN LATERAL "
                  "(SELECT id, {} FROM collage.measurement m WHERE m.environment = given.environment AND "
                  "collage.text_digest(m.candidate) = collage.text_digest(given.candidate) AND "
                  "m.candidate = given.candidate FOR UPDATE) kept",
                  kGiven, kCostColumns),
      {*document});
  if (!locked) return locked.status();
  std::vector<bool> is_settled(batch.size(), false);
  std::deque<CostRow> kept;
  Batch replaced;
  std::vector<int64_t> ids;
  for (size_t row = 0; row < (*locked)->size(); ++row) {
    const auto place = static_cast<size_t>((*locked)->number(row, 0));
    CostRow old{"", "", read_measurement(**locked, row, 2)};
    old.problem = problem_of_measured(old.measurement);
    Decision decision = decide(&old, batch[place]->measurement);
    if (decision.stored == Stored::Replaced) {
      kept.push_back({batch[place]->environment, batch[place]->candidate, std::move(decision.kept)});
      replaced.push_back(&kept.back());
      ids.push_back((*locked)->number(row, 1));
    }
    count(decision.stored, written);
    is_settled[place] = true;
  }
  if (!replaced.empty()) {
    const Result<std::string> better = document_of(replaced, &ids);
    if (!better) return better.status();
    auto updated = server_.execute(
        fmt::format("UPDATE collage.measurement SET ({}) = (given.cost_ps, given.spread_ps, given.runs, given.failure, "
                    "given.timeout_ps, given.date, given.disturbance, given.repeated) FROM {} WHERE measurement.id = "
                    "given.number",
                    kCostColumns, kGiven),
        {*better});
    if (!updated) return updated.status();
  }
  Batch gone;
  for (size_t place = 0; place < batch.size(); ++place) {
    if (!is_settled[place]) gone.push_back(batch[place]);
  }
  return gone;
}

Result<std::vector<CostRow>> PostgresCostTable::rows(std::vector<int64_t>* numbers) {
  auto found =
      server_.execute(fmt::format("SELECT measurement.id, text, candidate, {} FROM collage.measurement JOIN "
                                  "collage.environment ON environment.id = "
                                  "measurement.environment ORDER BY text COLLATE \"C\", candidate COLLATE \"C\"",
                                  kCostColumns));
  if (!found) return found.status();
  std::vector<CostRow> rows;
  for (size_t row = 0; row < (*found)->size(); ++row) {
    CostRow& made = rows.emplace_back(CostRow{std::string((*found)->text(row, 1)), std::string((*found)->text(row, 2)),
                                              read_measurement(**found, row, 3)});
    made.problem = problem_of_measured(made.measurement);
    if (numbers != nullptr) numbers->push_back((*found)->number(row, 0));
  }
  return rows;
}

Status PostgresCostTable::lock() {
  return server_.execute("LOCK TABLE collage.measurement IN SHARE ROW EXCLUSIVE MODE").status();
}

Result<size_t> PostgresCostTable::remove(const std::vector<int64_t>& numbers) {
  // Tables of an older version, which this user may not bring up to date, do not say who measured.
  const auto found = server_.execute("SELECT to_regclass('collage.measured_by') IS NOT NULL");
  if (!found) return found.status();
  const bool has_measurers = (*found)->text(0, 0) == "t";
  size_t count = 0;
  for (size_t first = 0; first < numbers.size(); first += kRowsOfRemoval) {
    const auto begin = numbers.begin() + static_cast<ptrdiff_t>(first);
    const auto end = begin + static_cast<ptrdiff_t>(std::min(kRowsOfRemoval, numbers.size() - first));
    const std::string ids = fmt::format("{{{}}}", fmt::join(begin, end, ","));
    auto removed = server_.execute(has_measurers ? kRemoveWithMeasurers : kRemove, {ids});
    if (!removed) return removed.status();
    count += static_cast<size_t>((*removed)->number(0, 0));
  }
  if (!has_measurers) return count;
  auto without_cost = server_.execute(
      "DELETE FROM collage.measured_by WHERE NOT EXISTS (SELECT FROM collage.measurement m WHERE m.environment = "
      "measured_by.environment AND collage.text_digest(m.candidate) = measured_by.candidate_digest)");
  if (!without_cost) return without_cost.status();
  return count;
}

}  // namespace collage::measure
