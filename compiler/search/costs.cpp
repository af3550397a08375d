// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "compiler/measure/environment.h"
#include "compiler/measure/fallback_costs.h"
#include "compiler/measure/fleet/worker_filter.h"
#include "compiler/measure/machine_lock.h"
#include "compiler/measure/postgres/connection.h"
#include "compiler/measure/postgres/verdict.h"

namespace collage::search {
namespace {

using support::Code;

bool asks_for_measuring(const place::ActiveBackend& active) {
  const ir::Backend& backend = *active.backend;
  return backend.policy.measured || std::any_of(backend.rules.begin(), backend.rules.end(), [](const ir::Rule& rule) {
           return std::any_of(rule.kernels.begin(), rule.kernels.end(),
                              [](const ir::Kernel& kernel) { return kernel.measured; });
         });
}

/// Measuring begins with the first report and ends with the one without a candidate.
std::function<void(const measure::MeasuringProgress&)> progress_to(const runner::WorkListener& listener) {
  auto scope = std::make_shared<std::unique_ptr<runner::WorkScope>>();
  return [&listener, scope](const measure::MeasuringProgress& now) {
    if (!*scope) *scope = std::make_unique<runner::WorkScope>(listener, runner::Work::Measuring);
    (*scope)->report(now.done, now.of, now.candidate);
    if (now.candidate.empty()) scope->reset();
  };
}

std::string database_of(const request::CostRequest& request) {
  return request.database.value_or(measure::default_cost_database());
}

bool is_on_server(const request::CostRequest& request) {
  return measure::postgres::Connection::is_address(database_of(request));
}

/// What follows where the server is not there.
std::string consequence_of(const request::CostRequest& request) {
  if (request.when_lost == request::kEstimateLost)
    return "costs that are not known are estimated; so says `--cost-db-lost`";
  if (request.when_lost == request::kForgetLost)
    return "measured costs are forgotten after this run; `--cost-db-lost FILE` keeps them in a file";
  return fmt::format("costs are kept in {0}; `collagec costs merge {0}` brings them to the server",
                     measure::shown_database(request.when_lost));
}

/// What takes the place of a server that is lost.
std::string fallback_of(const request::CostRequest& request) {
  return request.when_lost == request::kForgetLost || request.when_lost == request::kEstimateLost ? ":memory:"
                                                                                                  : request.when_lost;
}

using VerdictRef = std::shared_ptr<measure::postgres::Verdict>;

/// Sets which workers `--measure-on` names. False after an error: it is wrong, or there can be no workers.
bool read_filter(const request::CostRequest& request, std::optional<measure::fleet::WorkerFilter>* filter,
                 support::Diagnostics& diags) {
  if (request.measure_on.empty()) return true;
  if (!is_on_server(request))
    return diags.error_at(Code::BadOption, "--measure-on",
                          "workers are asked over a server with costs: `--cost-db postgresql://…` names it");
  auto parsed = measure::fleet::WorkerFilter::parse(request.measure_on);
  if (!parsed) return diags.error_at(Code::BadOption, "--measure-on", "{}", parsed.message());
  *filter = std::move(*parsed);
  return true;
}

/// Null where costs are kept nowhere. Without a server `--measure-on` is an error.
std::unique_ptr<measure::CostDatabase> open_database(const request::CostRequest& request, const VerdictRef& verdict,
                                                     support::Diagnostics& diags) {
  const std::string name = database_of(request);
  if (name.empty()) return nullptr;
  auto database = measure::CostDatabase::open(name, verdict);
  const bool is_server = is_on_server(request);
  if (database && is_server)
    return std::make_unique<measure::FallbackCosts>(std::move(*database), fallback_of(request));
  if (database) return std::move(*database);
  if (!request.measure_on.empty()) {
    diags.error_at(Code::CostDatabase, measure::shown_database(name), "workers cannot be asked for `{}`: {}",
                   request.measure_on, database.message());
    return nullptr;
  }
  diags
      .warning_at(Code::CostDatabase, measure::shown_database(name), "costs cannot be kept there: {}",
                  database.message())
      .note("{}", is_server ? consequence_of(request)
                            : "measured costs are forgotten after this run; `--cost-db FILE` names another file");
  if (!is_server || request.when_lost == request::kForgetLost || request.when_lost == request::kEstimateLost)
    return nullptr;
  auto other = measure::CostDatabase::open(request.when_lost);
  if (other) return std::move(*other);
  diags.warning_at(Code::CostDatabase, measure::shown_database(request.when_lost), "costs cannot be kept there: {}",
                   other.message());
  return nullptr;
}

/// The workers of the server that has the database, and whose costs are asked for. False after an error.
bool open_fleet(const request::Settings& settings, const std::optional<measure::fleet::WorkerFilter>& filter,
                const VerdictRef& verdict, Costs* costs, measure::MeasuredCostsOptions* measuring,
                support::Diagnostics& diags) {
  const std::string address = database_of(settings.costs), name = measure::shown_database(address);
  const bool has_server = dynamic_cast<measure::FallbackCosts*>(costs->database.get()) != nullptr;
  if (!has_server) return true;
  const measure::TargetMachine here{measure::describe_machine(), measure::describe_build(measuring->worker.program)};
  measuring->here = here;
  auto fleet =
      measure::fleet::Fleet::open({.address = address, .target = here, .stop = measuring->stop, .verdict = verdict});
  if (!fleet) {
    if (filter) return diags.error_at(Code::CostDatabase, name, "its workers cannot be asked: {}", fleet.message());
    diags.warning_at(Code::CostDatabase, name, "its workers cannot be asked: {}", fleet.message());
    return true;
  }
  costs->fleet = std::move(*fleet);
  if (!filter) return true;
  const auto workers = costs->fleet->workers();
  if (!workers) return diags.error_at(Code::CostDatabase, name, "{}", workers.message());
  const auto found = measure::fleet::target_of(*workers, *filter, here.build);
  if (!found)
    return diags.error_at(Code::BadOption, "--measure-on", "`{}`: {}", settings.costs.measure_on, found.message());
  costs->fleet->set_target(*found);
  measuring->target = *found;
  return true;
}

/// The measuring process reads the same rules as this one.
std::vector<std::string> worker_arguments(const request::Settings& settings, const std::vector<std::string>& rules,
                                          const support::FileCache* cache) {
  std::vector<std::string> arguments;
  for (const std::string& path : rules) arguments.insert(arguments.end(), {"-r", path});
  for (const std::string& target : settings.targets) arguments.insert(arguments.end(), {"-t", target});
  if (settings.allows_code) arguments.push_back("--allow-code");
  if (settings.allows_outside) arguments.push_back("--allow-outside");
  arguments.insert(arguments.end(), {"--threads", std::to_string(settings.threads), "--timeout",
                                     fmt::format("{}", settings.costs.timeout)});
  arguments.insert(arguments.end(), {"--numerics", std::string(codegen::row_of(settings.code.numerics).name)});
  if (!settings.code.cpu.empty()) arguments.insert(arguments.end(), {"--cpu", settings.code.cpu});
  if (cache != nullptr) arguments.insert(arguments.end(), {"--cache", cache->folder()});
  return arguments;
}

}  // namespace

Costs open_costs(const request::Settings& settings, const std::vector<std::string>& rules,
                 const place::ActiveBackends& active, const support::FileCache* cache,
                 const runner::WorkListener& listener, support::Diagnostics& diags) {
  const request::CostMode mode = settings.costs.mode;
  const bool may_choose =
      mode == request::CostMode::Choose && std::any_of(active.begin(), active.end(), asks_for_measuring);
  if (mode != request::CostMode::Measured && !may_choose) return {};
  measure::MeasuredCostsOptions measuring;
  measuring.threads = settings.threads;
  measuring.code = settings.code;
  measuring.worker.program = measure::find_worker_program();
  if (measuring.worker.program.empty()) {
    diags.warning_at(Code::BackendFailed, "costs", "`collage-measure` is not beside this program; costs are estimated");
    return {};
  }
  measuring.worker.timeout_seconds = settings.costs.timeout;
  measuring.worker.arguments = worker_arguments(settings, rules, cache);
  measuring.repeats_disturbed = settings.costs.repeats_disturbed;
  if (listener.waiting) {
    measuring.waiting = [say = listener.waiting](const measure::LockHolder& holder, double seconds) {
      say(holder.text(), seconds);
    };
  }
  if (listener.progress || listener.begin) measuring.progress = progress_to(listener);
  measuring.stop = listener.stop_measuring;
  std::optional<measure::fleet::WorkerFilter> filter;
  if (!read_filter(settings.costs, &filter, diags)) return {};
  const auto verdict = std::make_shared<measure::postgres::Verdict>();
  Costs costs;
  costs.database = open_database(settings.costs, verdict, diags);
  measuring.estimates_when_lost = settings.costs.when_lost == request::kEstimateLost;
  const bool needs_server = !settings.costs.measure_on.empty() || measuring.estimates_when_lost;
  if (costs.database == nullptr && is_on_server(settings.costs) && needs_server) return {};
  measuring.database = costs.database.get();
  measuring.lock = measure::machine_lock_name();
  if (const runtime::Status locks = measure::check_machine_locks(); !locks && !measuring.lock.empty())
    diags.warning_at(Code::CostDatabase, "costs", "other programs may measure at the same time: {}", locks.message());
  if (!open_fleet(settings, filter, verdict, &costs, &measuring, diags)) return {};
  measuring.fleet = costs.fleet.get();
  costs.source = std::make_unique<measure::MeasuredCosts>(std::move(measuring), active);
  return costs;
}

void warn_of_unkept(const request::Settings& settings, measure::CostDatabase* database, support::Diagnostics& diags) {
  if (database == nullptr) return;
  const std::string name = measure::shown_database(database_of(settings.costs));
  if (const std::string why = database->take_lost(); !why.empty())
    diags.warning_at(Code::CostDatabase, name, "the server is lost: {}", why)
        .note("{}", consequence_of(settings.costs));
  if (const std::string why = database->take_unkept(); !why.empty())
    diags.warning_at(Code::CostDatabase, name, "not all that was measured could be kept: {}", why)
        .note("it is measured again the next time");
}

void warn_of_fleet(const request::Settings& settings, measure::fleet::Fleet* fleet, support::Diagnostics& diags) {
  if (fleet == nullptr) return;
  for (const std::string& warning : fleet->take_warnings())
    diags.warning_at(Code::CostDatabase, measure::shown_database(database_of(settings.costs)), "{}", warning);
}

void warn_of_refused(const request::Settings& settings, const std::vector<std::string>& rows,
                     support::Diagnostics& diags) {
  const std::string name = measure::shown_database(database_of(settings.costs));
  for (const std::string& row : rows) {
    diags.warning_at(Code::CostDatabase, name, "cost {}", row)
        .note("it is measured again; `collagec costs list` shows all rows");
  }
}

namespace {

/// `12 disturbed, 5 of them twice, which stay for a day: other programs used 1.4 of 2 processors`
std::string disturbed_text(const measure::MeasuringStats& stats) {
  std::string then;
  if (stats.settled == 0) {
    then = ", to be measured again";
  } else if (stats.settled == stats.disturbed) {
    then = " twice, kept for a day";
  } else {
    then = fmt::format(", {} of them twice, which are kept for a day", stats.settled);
  }
  return fmt::format("{} disturbed{}: {}", stats.disturbed, then, stats.disturbance);
}

}  // namespace

std::string costs_line(const measure::MeasuringStats& stats, const place::LazyStats& lazy) {
  if (stats.measured + stats.from_cache + stats.answered + stats.by_workers == 0) return "";
  std::string text = fmt::format("{} measured, {} from cache", stats.measured, stats.from_cache);
  if (stats.by_workers > 0) text += fmt::format(", {} by workers", stats.by_workers);
  if (stats.answered > 0) text += fmt::format(", {} by programs", stats.answered);
  if (lazy.not_needed > 0) text += fmt::format(", {} not needed", lazy.not_needed);
  constexpr double kLeastShown = 0.0005;
  if (lazy.not_needed > 0 && lazy.could_save >= kLeastShown)
    text += fmt::format(" (could save {:.1f} %, by bounds)", 100 * lazy.could_save);
  text += fmt::format("   {:.1f} s", stats.seconds);
  if (stats.measured > 0) text += fmt::format("   {} runs, {} kernels compiled", stats.runs, stats.compiled);
  if (lazy.rounds > 0) text += fmt::format(", {} rounds", lazy.rounds);
  if (stats.repeated > 0) text += fmt::format("   {} again, which had been disturbed", stats.repeated);
  if (lazy.below > 0) text += fmt::format("   {} below their bound, which was lowered", lazy.below);
  if (stats.disturbed > 0) text += "   " + disturbed_text(stats);
  size_t failed = 0;
  const std::string* most = nullptr;
  for (const auto& [reason, count] : stats.failures) {
    failed += count;
    if (most == nullptr || count > stats.failures.at(*most)) most = &reason;
  }
  if (most == nullptr) return text;
  return text + fmt::format("   {} failed, {}x \"{}\"", failed, stats.failures.at(*most), *most);
}

}  // namespace collage::search
