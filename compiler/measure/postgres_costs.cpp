// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/postgres_costs.h"

#include <optional>
#include <utility>

#include "compiler/measure/cost_schema.h"

namespace collage::measure {

using runtime::Result;
using runtime::Status;

namespace {

/// Whether the server takes what is written, and does not only repeat what another one writes.
Result<bool> is_writable(postgres::Connection& server) {
  const auto found = server.execute("SELECT NOT pg_is_in_recovery()");
  if (!found) return found.status();
  return (*found)->text(0, 0) == "t";
}

}  // namespace

PostgresCosts::PostgresCosts(std::unique_ptr<postgres::Connection> server, bool only_reads, bool writes,
                             std::shared_ptr<postgres::Verdict> verdict)
    : server_(std::move(server)),
      table_(*server_),
      only_reads_(only_reads),
      retry_(*server_, {.make_tables = only_reads ? std::function<Status()>() : [this] { return make_tables(); },
                        .writes = writes,
                        .verdict = std::move(verdict)}) {}

Result<std::unique_ptr<CostDatabase>> PostgresCosts::open(const std::string& address,
                                                          std::shared_ptr<postgres::Verdict> verdict) {
  auto server = postgres::Connection::open(address);
  if (!server) return server.status();
  postgres::Retry retry(**server);
  const Result<bool> exist = retry.ask([&]() -> Result<bool> {
    if (Status status = measure::make_tables(**server); !status) return status;
    return true;
  });
  if (!exist) return exist.status();
  const Result<bool> writes = retry.ask([&] { return is_writable(**server); });
  if (!writes) return writes.status();
  return std::unique_ptr<CostDatabase>(new PostgresCosts(std::move(*server), false, *writes, std::move(verdict)));
}

Result<std::unique_ptr<CostDatabase>> PostgresCosts::open_to_read(const std::string& address) {
  auto server = postgres::Connection::open(address);
  if (!server) return server.status();
  const Result<bool> exist = postgres::Retry(**server).ask([&] { return has_tables(**server); });
  if (!exist) return exist.status();
  if (!*exist) return Status::error("it is empty");
  return std::unique_ptr<CostDatabase>(new PostgresCosts(std::move(*server), true, false, nullptr));
}

std::string PostgresCosts::take_lost() {
  return is_lost() && !std::exchange(is_loss_reported_, true) ? *retry_.why_lost() : "";
}

Status PostgresCosts::on_server(const std::function<Status()>& body) {
  // A repeated statement is harmless: it finds the row that it wrote the first time.
  return retry_.ask(body);
}

Status PostgresCosts::make_tables() {
  table_.forget_environments();
  return measure::make_tables(*server_);
}

Status PostgresCosts::in_transaction(const std::function<Status()>& body) {
  if (only_reads_) return Status::error("it was opened to be read");
  return on_server([&] {
    return server_->in_transaction([&] {
      // A number is that of its text in this transaction: others may have dropped the tables and made them anew before.
      table_.forget_environments();
      return body();
    });
  });
}

std::optional<CostRow> PostgresCosts::look_up(const std::string& environment, const std::string& candidate) {
  std::optional<CostRow> found;
  note_unkept(on_server([&] {
    Result<std::optional<CostRow>> row = table_.look_up(environment, candidate);
    if (row) found = std::move(*row);
    return row.status();
  }));
  return found;
}

Result<std::vector<CostRow>> PostgresCosts::rows() {
  std::vector<CostRow> rows;
  Status status = on_server([&] {
    Result<std::vector<CostRow>> found = table_.rows();
    if (found) rows = std::move(*found);
    return found.status();
  });
  if (!status) return status;
  return rows;
}

Result<Written> PostgresCosts::write(const std::vector<CostRow>& rows) {
  Written written;
  Status status = in_transaction([&] {
    const Result<Written> changed = table_.write(rows);
    if (changed) written = *changed;
    return changed.status();
  });
  if (!status) return status;
  return written;
}

Result<size_t> PostgresCosts::remove_if(const std::function<bool(const CostRow&)>& is_removed) {
  size_t removed = 0;
  Status status = in_transaction([&]() -> Status {
    if (Status locked = table_.lock(); !locked) return locked;
    std::vector<int64_t> numbers, chosen;
    const Result<std::vector<CostRow>> all = table_.rows(&numbers);
    if (!all) return all.status();
    for (size_t row = 0; row < all->size(); ++row) {
      if (is_removed((*all)[row])) chosen.push_back(numbers[row]);
    }
    const Result<size_t> gone = table_.remove(chosen);
    if (gone) removed = *gone;
    return gone.status();
  });
  if (!status) return status;
  return removed;
}

std::optional<int64_t> PostgresCosts::look_up_reference(const std::string& machine, int64_t oldest) {
  std::optional<int64_t> reference;
  (void)on_server([&] {
    auto found = server_->execute(
        "SELECT reference_ps FROM collage.reference WHERE collage.text_digest(machine) = collage.text_digest($1) AND "
        "machine = $1 AND date >= $2",
        {machine, oldest});
    if (found && (*found)->size() == 1) reference = (*found)->number(0, 0);
    return found.status();
  });
  return reference;
}

void PostgresCosts::put_reference(const std::string& machine, Duration reference, int64_t date) {
  if (only_reads_) return;
  (void)on_server([&] {
    return server_
        ->execute(
            "INSERT INTO collage.reference(machine, reference_ps, date) VALUES($1, $2, $3) "
            "ON CONFLICT (collage.text_digest(machine)) DO UPDATE SET reference_ps = EXCLUDED.reference_ps, "
            "date = EXCLUDED.date",
            {machine, reference.ps(), date})
        .status();
  });
}

}  // namespace collage::measure
