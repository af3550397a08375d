// SPDX-License-Identifier: Apache-2.0
#include "compiler/costs_tool/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "compiler/costs_tool/cost_files.h"
#include "compiler/costs_tool/provenance.h"
#include "compiler/measure/environment.h"
#include "runtime/core/text.h"
#include "runtime/support/print.h"
#include "runtime/support/write_file.h"

namespace collage::costs_tool {
namespace {

using measure::CostDatabase;
using measure::CostRow;
using measure::Measurement;
using support::Code;
using support::Diagnostics;

template <typename T>
bool is_among(const std::vector<T>& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool passes(const Filter& filter, const CostRow& row) {
  if (!is_among(filter.states, state_of(row))) return false;
  if (!filter.backends.empty() && !is_among(filter.backends, provenance_of(row).backend)) return false;
  if (filter.only_foreign && measure::parse_environment(row.environment).holds_here()) return false;
  if (filter.older_days == 0) return true;
  const double age = static_cast<double>(std::time(nullptr)) - static_cast<double>(row.measurement.date);
  return age >= filter.older_days * 24 * 3600;
}

/// The rows of a database that pass; nullopt after an error.
std::optional<std::vector<CostRow>> rows_of(const std::string& path, const Filter& filter, Diagnostics& diags) {
  auto database = CostDatabase::open_to_read(path);
  if (!database) {
    diags.error_at(Code::CostDatabase, measure::shown_database(path), "{}", database.message());
    return std::nullopt;
  }
  (*database)->expect_long_statements();
  auto rows = (*database)->rows();
  if (!rows) {
    diags.error_at(Code::CostDatabase, measure::shown_database(path), "{}", rows.message());
    return std::nullopt;
  }
  std::erase_if(*rows, [&](const CostRow& row) { return !passes(filter, row); });
  return std::move(*rows);
}

std::string cost_text(const CostRow& row) {
  return row.problem.empty() && !row.measurement.failed() ? human(row.measurement.cost) : "-";
}

std::string remark_of(const CostRow& row) {
  if (!row.problem.empty()) return row.problem;
  const Measurement& measured = row.measurement;
  if (measured.failed()) return measured.failure;
  return measured.repeated ? measured.disturbance + ", more than once" : measured.disturbance;
}

std::string table_of(const std::vector<CostRow>& rows) {
  std::string text = fmt::format("{:<10}  {:<10}  {:>10}  {:>10}  {:>5}  {:<16}  {:<9}  {}\n", "id", "backend", "cost",
                                 "spread", "runs", "date", "state", "candidate");
  for (const CostRow& row : rows) {
    const Provenance from = provenance_of(row);
    const Measurement& measured = row.measurement;
    const std::string remark = remark_of(row);
    text +=
        fmt::format("{:<10}  {:<10}  {:>10}  {:>10}  {:>5}  {:<16}  {:<9}  {}{}\n", row.id(), from.backend,
                    cost_text(row), measured.failed() ? "-" : human(measured.spread), measured.runs,
                    date_text(measured.date), state_of(row), from.what, remark.empty() ? "" : "   (" + remark + ")");
  }
  return text + runtime::counted(rows.size(), "cost") + "\n";
}

std::string details_of(const CostRow& row) {
  const Provenance from = provenance_of(row);
  const Measurement& measured = row.measurement;
  std::string text =
      fmt::format("cost        {}\nbackend     {}\nstate       {}\n", row.id(), from.backend, state_of(row));
  if (std::string remark = remark_of(row); !remark.empty()) text += fmt::format("because     {}\n", remark);
  text += fmt::format("takes       {}, spread {}, {} runs\n", cost_text(row), human(measured.spread), measured.runs);
  text += fmt::format("measured    {}\n", date_text(measured.date));
  if (from.program.empty()) {
    text += fmt::format("processor   {}\nthreads     {}\nbuild       {}\n", from.processor, from.threads, from.build);
  } else {
    text += fmt::format("by          {}\n", from.program);
  }
  return text + row.candidate + (row.candidate.ends_with('\n') ? "" : "\n");
}

void print_in(Form form, const std::vector<CostRow>& rows) {
  switch (form) {
    case Form::Table: support::print("{}", table_of(rows)); break;
    case Form::Csv: support::print_exactly(to_csv(rows)); break;
    case Form::Json: support::print_exactly(to_json(rows)); break;
  }
}

/// Adds rows to the database of the request and says how many are new.
bool write(const CostsRequest& request, const std::vector<CostRow>& rows, size_t refused, Diagnostics& diags) {
  auto database = CostDatabase::open(request.database);
  if (!database)
    return diags.error_at(Code::CostDatabase, measure::shown_database(request.database), "{}", database.message());
  (*database)->expect_long_statements();
  auto written = (*database)->write(rows);
  if (!written)
    return diags.error_at(Code::CostDatabase, measure::shown_database(request.database), "{}", written.message());
  support::print("{} added, {} replaced, {} known before", written->added, written->replaced, written->known);
  if (refused > 0) support::print(", {} refused", refused);
  support::print("\n");
  return true;
}

}  // namespace

bool list_costs(const CostsRequest& request, Diagnostics& diags) {
  const auto rows = rows_of(request.database, request.filter, diags);
  if (rows) print_in(request.form, *rows);
  return rows.has_value();
}

bool show_costs(const CostsRequest& request, Diagnostics& diags) {
  const auto rows = rows_of(request.database, request.filter, diags);
  if (!rows) return false;
  bool is_good = true;
  for (const std::string& name : request.names) {
    size_t found = 0;
    for (const CostRow& row : *rows) {
      if (!row.id().starts_with(name)) continue;
      support::print("{}{}", found++ == 0 && &name == &request.names.front() ? "" : "\n", details_of(row));
    }
    if (found == 0)
      is_good =
          diags.error_at(Code::CostDatabase, measure::shown_database(request.database), "no cost has the id `{}`", name)
              .note("`collagec costs list` shows them");
  }
  return is_good;
}

bool export_costs(const CostsRequest& request, Diagnostics& diags) {
  const bool is_file = !request.names.empty() && request.names[0] != "-";
  std::error_code error;
  if (is_file && std::filesystem::equivalent(request.names[0], request.database, error))
    return diags.error_at(Code::CostDatabase, request.names[0], "it is the database itself");
  auto rows = rows_of(request.database, request.filter, diags);
  if (!rows) return false;
  const size_t refused = std::erase_if(*rows, [](const CostRow& row) { return !row.problem.empty(); });
  if (refused > 0)
    diags.warning_at(Code::CostDatabase, measure::shown_database(request.database),
                     "{} {} left out, since {} impossible", runtime::counted(refused, "cost"),
                     refused == 1 ? "was" : "were", refused == 1 ? "it is" : "they are");
  const bool is_csv = is_file ? request.names[0].ends_with(".csv") : request.form == Form::Csv;
  if (!is_file) return print_in(is_csv ? Form::Csv : Form::Json, *rows), true;
  return support::write_file(request.names[0], is_csv ? to_csv(*rows) : to_json(*rows), diags);
}

bool import_costs(const CostsRequest& request, support::SourceManager& sources, Diagnostics& diags) {
  std::vector<CostRow> rows;
  bool is_good = true;
  for (const std::string& path : request.names) {
    const runtime::Result<support::FileId> file = sources.load(path);
    if (!file) {
      is_good = diags.error_at(Code::CannotRead, path, "cannot read: {}", file.message());
      continue;
    }
    auto read = read_costs(sources, *file, diags);
    if (read) rows.insert(rows.end(), read->begin(), read->end());
    is_good = read.has_value() && is_good;
  }
  return is_good && write(request, rows, 0, diags);
}

bool merge_costs(const CostsRequest& request, Diagnostics& diags) {
  std::vector<CostRow> rows;
  for (const std::string& path : request.names) {
    auto read = rows_of(path, request.filter, diags);
    if (!read) return false;
    rows.insert(rows.end(), read->begin(), read->end());
  }
  const size_t refused = std::erase_if(rows, [](const CostRow& row) { return !row.problem.empty(); });
  return write(request, rows, refused, diags);
}

bool prune_costs(const CostsRequest& request, Diagnostics& diags) {
  if (request.filter.is_any())
    return diags.error_at(Code::BadOption, "costs prune", "it needs to be said what goes")
        .note("for example `--older 30`, `--state disturbed`, `--foreign`, or `--backend NAME`");
  const auto rows = rows_of(request.database, request.filter, diags);  // an error if there is no database
  if (!rows) return false;
  if (request.is_dry) return print_in(request.form, *rows), true;
  auto database = CostDatabase::open(request.database);
  if (!database)
    return diags.error_at(Code::CostDatabase, measure::shown_database(request.database), "{}", database.message());
  (*database)->expect_long_statements();
  auto removed = (*database)->remove_if([&](const CostRow& row) { return passes(request.filter, row); });
  if (!removed)
    return diags.error_at(Code::CostDatabase, measure::shown_database(request.database), "{}", removed.message());
  support::print("{} removed\n", *removed);
  return true;
}

}  // namespace collage::costs_tool
