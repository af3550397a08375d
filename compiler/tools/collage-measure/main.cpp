// SPDX-License-Identifier: Apache-2.0
// `collage-measure`: the process in which candidates are compiled and timed. `collagec` starts it with its own rule
// files and targets, sends candidates over a socket and reads one line for each. With `--serve` it starts these itself,
// for compilers anywhere (serve_others.h). Exit codes: tools/command_line/program_text.h.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <exception>
#include <new>

#include "compiler/measure/cache_state.h"
#include "compiler/measure/channel.h"
#include "compiler/measure/plan_text.h"
#include "compiler/measure/reference_kernel.h"
#include "compiler/measure/time_plans.h"
#include "compiler/request/activate.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/tools/collage-measure/measure_options.h"
#include "compiler/tools/collage-measure/serve_others.h"
#include "include/collage/export.h"
#include "runtime/tools/command_line/app_text.h"

namespace {

using namespace collage;
using enum tools::ExitCode;

using tools::MeasureOptions;

void limit(decltype(RLIMIT_AS) what, rlim_t most) {
  rlimit limits{};
  if (::getrlimit(what, &limits) != 0) return;
  limits.rlim_cur = std::min(limits.rlim_max, most);
  ::setrlimit(what, &limits);
}

/// No more address space than the machine has memory, and no core dumps. A sanitizer needs its shadow memory.
void limit_process() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Ctrl-C on a terminal is for the compiler, which may go on with what it has found.
  std::signal(SIGINT, SIG_IGN);
  // A worker, which may have started it, blocks others.
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  limit(RLIMIT_CORE, 0);
#if !defined(COLLAGE_ADDRESS_SANITIZER)
  auto pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0) limit(RLIMIT_AS, static_cast<rlim_t>(pages) * static_cast<rlim_t>(page));
#endif
}

/// Limits processor time, from now on, to what all threads can use until the timeout. Waiting does not count, so this
/// ends only what the compiler would have ended at its own timeout; it does so even if the compiler is stopped.
void limit_processor_time(const MeasureOptions& options, double timeout) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  double seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 2;
  seconds += std::ceil(timeout * std::max(options.threads, 1));
  limit(RLIMIT_CPU, static_cast<rlim_t>(std::min(seconds, 1e9)));
}

std::optional<plan::PlanTargets> read_targets(const MeasureOptions& options) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::optional<ir::RuleSet> rules = sema::load_rules(sources, options.rules, diags, options.allow_outside);
  if (!rules) return std::nullopt;
  const std::optional<codegen::Numerics> numerics = codegen::parse_numerics(options.numerics);
  if (!numerics) return std::nullopt;
  auto activations =
      request::activate(*rules, {.targets = options.targets, .allows_simulated = true}, diags, {*numerics, options.cpu},
                        {options.allow_code, true, options.allow_outside});  // costs are asked of programs elsewhere
  if (!activations) return std::nullopt;
  plan::PlanTargets targets = request::plan_targets(*rules, *activations, options.threads);
  targets.code = {*numerics, options.cpu};
  return targets;
}

/// A line for each plan.
std::string lines_of_plans(const std::vector<std::string>& plans, const plan::PlanTargets& targets,
                           const measure::TimingOptions& timing) {
  std::string lines;
  for (const measure::Measurement& one : measure::time_plans(plans, targets, timing))
    lines += measure::to_line(one) + "\n";
  return lines;
}

std::string answer_to(const std::string& message, const plan::PlanTargets& targets, const MeasureOptions& options,
                      const measure::TimingOptions& timing) {
  try {
    const auto plans = measure::parse_plans_message(message);
    limit_processor_time(options, options.timeout * (plans ? measure::kPlanTimeouts : 1));
    if (plans) return lines_of_plans(*plans, targets, timing);
    return measure::to_line(measure::time_candidate(message, targets, timing));
  } catch (const std::exception& error) {  // std::bad_alloc among them, which does not last
    return measure::to_line(measure::failed_measurement(error.what()));
  }
}

int serve(const MeasureOptions& options) {
  std::optional<plan::PlanTargets> targets = read_targets(options);
  if (!targets) return kInputError;
  measure::TimingOptions timing;
  measure::SweepMemory sweep_memory;
  timing.sweep_memory = &sweep_memory;
  timing.threads = options.threads;
  std::optional<support::FileCache> cache;
  if (!options.cache.empty()) timing.cache = &cache.emplace(options.cache);
  timing.reference = measure::calibrate_reference_kernel();
  if (options.reference > 0)
    timing.reference = std::min(timing.reference, runtime::Duration::picoseconds(options.reference));
  std::string candidate;
  if (!measure::send_message(measure::kWorkerDescriptor, std::to_string(timing.reference.ps()))) return kSuccess;
  while (measure::receive_message(measure::kWorkerDescriptor, {}, &candidate) == measure::Received::Message) {
    const std::string answer = answer_to(candidate, *targets, options, timing);
    if (!measure::send_message(measure::kWorkerDescriptor, answer)) return kSuccess;
  }
  return kSuccess;
}

int run(int argc, char** argv) {
  MeasureOptions options;
  CLI::App app{"measures candidates for collagec, which starts it, or for compilers anywhere (--serve)",
               "collage-measure"};
  tools::add_text_flags(app);
  app.add_option("-r,--rules", options.rules, "a rule file or folder; repeatable")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app.add_option("-t,--target", options.targets, "a backend to activate; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--allow-code", options.allow_code, "as for collagec");
  app.add_flag("--allow-outside", options.allow_outside, "as for collagec");
  app.add_option("--threads", options.threads, "threads of the host")->type_name("N");
  app.add_option("--numerics", options.numerics, "as for collagec")->type_name("HOW");
  app.add_option("--cpu", options.cpu, "as for collagec")->type_name("NAME");
  app.add_option("--cache", options.cache, "a folder of compiled code")->type_name("FOLDER");
  app.add_option("--reference", options.reference, "picoseconds that the reference kernel is known to take")
      ->type_name("N");
  app.add_option("--timeout", options.timeout, "seconds for one candidate")->type_name("SECONDS");
  const CLI::Option* serves =
      app.add_option("--serve", options.serve,
                     "postgresql://…: measures what compilers ask for over this server, until it is stopped")
          ->type_name("ADDRESS");
  app.add_option("--backends", options.backends,
                 "with --serve: names of those to measure, `host` for single operators; all")
      ->type_name("NAMES")
      ->delimiter(',');
  app.add_option("--name", options.name, "with --serve: of this worker; the host's")->type_name("NAME");
  app.add_option("--lease", options.lease,
                 "with --serve: seconds after which a worker that is not heard of counts as dead")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 3600.0))
      ->check([](const std::string& text) { return text.find("nan") == text.npos ? "" : "it is no number"; });
  app.add_flag("--once", options.once, "with --serve: ends when nothing waits");
  app.add_flag("--quiet", options.quiet, "with --serve: says nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  if (serves->count() > 0) return tools::serve_others(options);
  limit_process();
  return serve(options);
}

}  // namespace

extern "C" COLLAGE_API int collage_main_collage_measure(int argc, char** argv) {
  try {
    // Nobody reads what it prints: the compiler tells its user of the exit code.
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return kInputError;
  } catch (const std::exception&) {
    return kInternalError;
  }
}
