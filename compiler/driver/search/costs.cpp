// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/search/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace collage::driver {
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
std::function<void(const measure::MeasuringProgress&)> progress_to(const WorkListener& listener) {
  auto scope = std::make_shared<std::unique_ptr<WorkScope>>();
  return [&listener, scope](const measure::MeasuringProgress& now) {
    if (!*scope) *scope = std::make_unique<WorkScope>(listener, Work::Measuring);
    (*scope)->report(now.done, now.of, now.candidate);
    if (now.candidate.empty()) scope->reset();
  };
}

std::unique_ptr<measure::CostDatabase> open_database(const CostRequest& request, support::Diagnostics& diags) {
  std::string path = request.database.value_or(measure::default_cost_database());
  if (path.empty()) return nullptr;
  auto database = measure::CostDatabase::open(path);
  if (database) return std::move(*database);
  diags.warning_at(Code::CostDatabase, path, "costs cannot be kept there: {}", database.message())
      .note("measured costs are forgotten after this run; `--cost-db FILE` names another file");
  return nullptr;
}

/// The measuring process reads the same rules as this one.
std::vector<std::string> worker_arguments(const Settings& settings, const std::vector<std::string>& rules,
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

Costs open_costs(const Settings& settings, const std::vector<std::string>& rules, const place::ActiveBackends& active,
                 const support::FileCache* cache, const WorkListener& listener, support::Diagnostics& diags) {
  const CostMode mode = settings.costs.mode;
  const bool may_choose = mode == CostMode::Choose && std::any_of(active.begin(), active.end(), asks_for_measuring);
  if (mode != CostMode::Measured && !may_choose) return {};
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
  measuring.waiting = listener.waiting;
  if (listener.progress) measuring.progress = progress_to(listener);
  Costs costs;
  costs.database = open_database(settings.costs, diags);
  measuring.database = costs.database.get();
  if (costs.database != nullptr) measuring.lock_file = costs.database->lock_file();
  costs.source = std::make_unique<measure::MeasuredCosts>(std::move(measuring), active);
  return costs;
}

void warn_of_unkept(const Settings& settings, measure::CostDatabase* database, support::Diagnostics& diags) {
  const std::string why = database == nullptr ? "" : database->take_unkept();
  if (why.empty()) return;
  diags
      .warning_at(Code::CostDatabase, settings.costs.database.value_or(measure::default_cost_database()),
                  "not all that was measured could be kept: {}", why)
      .note("it is measured again the next time");
}

void warn_of_refused(const Settings& settings, const std::vector<std::string>& rows, support::Diagnostics& diags) {
  const std::string path = settings.costs.database.value_or(measure::default_cost_database());
  for (const std::string& row : rows) {
    diags.warning_at(Code::CostDatabase, path, "cost {}", row)
        .note("it is measured again; `collagec costs list` shows all rows");
  }
}

std::string costs_line(const measure::MeasuringStats& stats, const place::LazyStats& lazy) {
  if (stats.measured + stats.from_cache + stats.answered == 0) return "";
  std::string text = fmt::format("{} measured, {} from cache", stats.measured, stats.from_cache);
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
  if (stats.disturbed > 0)
    text += fmt::format("   {} disturbed, to be measured again: {}", stats.disturbed, stats.disturbance);
  size_t failed = 0;
  const std::string* most = nullptr;
  for (const auto& [reason, count] : stats.failures) {
    failed += count;
    if (most == nullptr || count > stats.failures.at(*most)) most = &reason;
  }
  if (most == nullptr) return text;
  return text + fmt::format("   {} failed, {}x \"{}\"", failed, stats.failures.at(*most), *most);
}

}  // namespace collage::driver
