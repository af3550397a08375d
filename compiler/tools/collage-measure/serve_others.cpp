// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collage-measure/serve_others.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <mutex>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/environment.h"
#include "compiler/measure/fleet/serve.h"
#include "compiler/measure/machine_lock.h"
#include "compiler/request/activate.h"
#include "compiler/request/rule_files.h"
#include "compiler/sema/rules/build_rules.h"
#include "runtime/core/code_features.h"
#include "runtime/core/host_capabilities.h"
#include "runtime/core/machine_name.h"
#include "runtime/support/print.h"
#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {
namespace {

/// A descriptor that can be read after one of these signals, which then do nothing else; -1 if there is none.
int stop_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  if (::pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return -1;
  return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// The rules of all that it can measure.
struct Served {
  std::vector<std::string> paths;
  ir::RuleSet rules;
  place::ActiveBackends active;
};

std::optional<Served> read_rules(const MeasureOptions& options, support::SourceManager& sources,
                                 support::Diagnostics& diags) {
  Served served;
  served.paths = options.rules.empty() ? request::default_rules() : options.rules;
  std::optional<ir::RuleSet> rules = sema::load_rules(sources, served.paths, diags, options.allow_outside);
  if (!rules) return std::nullopt;
  served.rules = std::move(*rules);
  const auto activations =
      request::activate(served.rules, {.targets = options.targets, .allows_simulated = true}, diags, {},
                        {options.allow_code, options.allow_code, options.allow_outside});
  if (!activations) return std::nullopt;
  for (const request::Activation& activation : *activations) {
    if (activation.absent.empty()) served.active.push_back(activation.active);
  }
  return served;
}

/// False after an error.
bool knows_backends(const MeasureOptions& options, const place::ActiveBackends& active) {
  for (const std::string& name : options.backends) {
    const bool is_known = name == "host" || std::any_of(active.begin(), active.end(),
                                                        [&](const auto& one) { return one.backend->name == name; });
    if (is_known) continue;
    support::print(stderr, "error: --backends: there is no active backend `{}`\n", name);
    return false;
  }
  return true;
}

std::vector<std::string> arguments_of(const MeasureOptions& options, const std::vector<std::string>& paths) {
  std::vector<std::string> arguments;
  for (const std::string& path : paths) arguments.insert(arguments.end(), {"-r", path});
  for (const std::string& target : options.targets) arguments.insert(arguments.end(), {"-t", target});
  if (options.allow_code) arguments.push_back("--allow-code");
  if (options.allow_outside) arguments.push_back("--allow-outside");
  if (!options.cache.empty()) arguments.insert(arguments.end(), {"--cache", options.cache});
  return arguments;
}

measure::fleet::Announcement announcement_of(const MeasureOptions& options, const measure::TargetMachine& here,
                                             const place::ActiveBackends& active) {
  measure::fleet::Announcement made;
  made.host = runtime::machine_name();
  made.name = options.name.empty() ? made.host : options.name;
  made.arch = runtime::host_architecture();
  made.processor = runtime::host_capabilities().processor;
  made.machine = here.machine;
  made.build = here.build;
  std::vector<std::string> names = options.backends;
  if (names.empty()) {
    names = {"host"};
    for (const place::ActiveBackend& one : active) names.push_back(one.backend->name);
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  made.backends = fmt::format("{}", fmt::join(names, " "));
  return made;
}

}  // namespace

int serve_others(const MeasureOptions& options) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const std::optional<Served> served = read_rules(options, sources, diags);
  support::print(stderr, "{}", diags.render());
  if (!served) return kInputError;
  if (!knows_backends(options, served->active)) return kWrongUsage;
  const std::string program = measure::find_worker_program();
  const measure::TargetMachine here{measure::describe_machine(), measure::describe_build(program)};
  measure::fleet::JobMeter meter({program, arguments_of(options, served->paths), here}, served->active,
                                 options.backends);
  measure::fleet::ServeOptions serving;
  serving.address = options.serve;
  serving.announcement = announcement_of(options, here, served->active);
  serving.lease_seconds = options.lease;
  serving.ends_when_empty = options.once;
  serving.stop = stop_descriptor();
  serving.lock = measure::machine_lock_name();
  // Measuring processes end with this one.
  serving.stopped = [] { ::_exit(kSuccess); };
  std::mutex printing;
  if (!options.quiet) {
    serving.say = [&](const std::string& line) {
      const std::lock_guard lock(printing);
      support::print(stderr, "{}\n", line);
    };
  }
  const runtime::Status status = measure::fleet::serve(serving, meter);
  if (serving.stop >= 0) ::close(serving.stop);
  if (status) return kSuccess;
  support::print(stderr, "error: --serve {}: {}\n", measure::shown_database(options.serve), status.message());
  return kInputError;
}

}  // namespace collage::tools
