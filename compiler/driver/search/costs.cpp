// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/search/costs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

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

/// `costs       [####......] 12 of 88, 6 s left`, on one line that the next one overwrites and the last one clears.
class ProgressBar {
 public:
  void operator()(size_t done, size_t of) {
    using Clock = std::chrono::steady_clock;
    if (done == 0) start_ = Clock::now();
    if (done == of) {
      fmt::print(stderr, "\r\x1b[K");
      return;
    }
    constexpr size_t kWidth = 10;
    std::string bar(kWidth * done / of, '#');
    bar.resize(kWidth, '.');
    double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    std::string left = done == 0 ? ""
                                 : fmt::format(", {:.0f} s left",
                                               seconds / static_cast<double>(done) * static_cast<double>(of - done));
    fmt::print(stderr, "\rcosts       [{}] {} of {}{}\x1b[K", bar, done, of, left);
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

std::unique_ptr<measure::CostDatabase> open_database(const Options& options, support::Diagnostics& diags) {
  std::string path = options.cost_db.value_or(measure::default_cost_database());
  if (path.empty()) return nullptr;
  auto database = measure::CostDatabase::open(path);
  if (database) return std::move(*database);
  diags.warning_at(Code::CostDatabase, path, "costs cannot be kept there: {}", database.message())
      .note("measured costs are forgotten after this run; `--cost-db FILE` names another file");
  return nullptr;
}

}  // namespace

Costs open_costs(const Options& options, const std::vector<place::ActiveBackend>& active, support::Diagnostics& diags) {
  bool asked = options.costs == CostMode::Measured;
  bool may_choose = options.costs == CostMode::Choose && std::any_of(active.begin(), active.end(), asks_for_measuring);
  if (!asked && !may_choose) return {};
  measure::MeasuredCostsOptions measuring;
  measuring.threads = options.threads;
  measuring.worker.program = measure::find_worker_program();
  if (measuring.worker.program.empty()) {
    diags.warning_at(Code::BackendFailed, "costs", "`collage-measure` is not beside this program; costs are estimated");
    return {};
  }
  measuring.worker.timeout_seconds = options.measure_timeout;
  for (const std::string& path : options.rules) {
    measuring.worker.arguments.insert(measuring.worker.arguments.end(), {"-r", path});
  }
  for (const std::string& target : options.targets) {
    measuring.worker.arguments.insert(measuring.worker.arguments.end(), {"-t", target});
  }
  measuring.worker.arguments.insert(
      measuring.worker.arguments.end(),
      {"--threads", std::to_string(options.threads), "--timeout", fmt::format("{}", options.measure_timeout)});
  if (::isatty(STDERR_FILENO) == 1) {
    measuring.progress = ProgressBar();
    measuring.waiting = [] { fmt::print(stderr, "costs       waiting until another compiler has measured\n"); };
  }
  Costs costs;
  costs.database = open_database(options, diags);
  measuring.database = costs.database.get();
  if (costs.database != nullptr) measuring.lock_file = costs.database->lock_file();
  costs.source = std::make_unique<measure::MeasuredCosts>(std::move(measuring), active);
  return costs;
}

std::string costs_line(const measure::MeasuringStats& stats, const place::LazyStats& lazy) {
  if (stats.measured + stats.from_cache == 0) return "";
  std::string text = fmt::format("{} measured, {} from cache", stats.measured, stats.from_cache);
  if (lazy.not_needed > 0) text += fmt::format(", {} not needed", lazy.not_needed);
  text += fmt::format("   {:.1f} s", stats.seconds);
  if (lazy.below > 0) text += fmt::format("   {} below their bound, which was lowered", lazy.below);
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
