// SPDX-License-Identifier: Apache-2.0
// `collagec`: the command line. Exit codes: tools/command_line/program_text.h.
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "compiler/driver/commands.h"
#include "compiler/request/memory_caps.h"
#include "compiler/tools/collagec/calibrate_command.h"
#include "compiler/tools/collagec/costs_command.h"
#include "compiler/tools/collagec/interrupt.h"
#include "compiler/tools/collagec/parse_options.h"
#include "compiler/tools/collagec/terminal_progress.h"
#include "include/collage/version.h"
#include "runtime/support/explain.h"
#include "runtime/support/visible.h"
#include "runtime/tools/command_line/guarded_main.h"
#include "runtime/tools/command_line/process_limits.h"
#include "runtime/tools/command_line/short_waits.h"

namespace {

using namespace collage;
using enum tools::ExitCode;

int wrong_usage(std::string_view message) {
  fmt::print(stderr, "error: {}\nRun with --help for more information.\n", message);
  return kWrongUsage;
}

/// The answer to an option that needs no model; empty where none was given.
std::string answer(const tools::Information& asked) {
  if (asked.help || asked.help_all) return tools::help_text(tools::describe_collagec(), asked.help_all);
  if (asked.version) return "collagec " COLLAGE_VERSION "\n";
  if (asked.man) return tools::man_page(tools::describe_collagec());
  return asked.bash_completion ? tools::bash_completion(tools::describe_collagec()) : "";
}

int exit_code(driver::Verdict verdict) {
  switch (verdict) {
    case driver::Verdict::Done: return kSuccess;
    case driver::Verdict::BadInput: return kInputError;
    case driver::Verdict::BadUsage: return kWrongUsage;
  }
  return kInternalError;
}

/// Returns what is wrong with the limits, or "".
std::string limit_process(const driver::Options& options) {
  if (options.timeout) tools::limit_time(*options.timeout, fmt::format("--timeout {}", *options.timeout));
  if (options.max_memory.empty()) return "";
  const std::optional<size_t> bytes = driver::parse_size(options.max_memory);
  if (!bytes) return fmt::format("--max-memory: `{}` is no size: want 2GiB", options.max_memory);
  tools::limit_memory(*bytes, "--max-memory " + options.max_memory);
  return "";
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "costs") return tools::run_costs_command(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "calibrate") return tools::run_calibrate_command(argc - 1, argv + 1);
  const std::variant<tools::CommandLine, tools::WrongUsage> parsed = tools::parse_command_line(argc, argv);
  if (const auto* wrong = std::get_if<tools::WrongUsage>(&parsed)) return wrong_usage(wrong->message);
  const auto& [options, information] = std::get<tools::CommandLine>(parsed);
  if (std::string text = answer(information); !text.empty()) return fmt::print("{}", text), kSuccess;
  if (!information.explain.empty()) return support::explain(information.explain) ? kSuccess : kWrongUsage;
  if (options.model.empty()) return wrong_usage("a model is needed: `collagec MODEL -r RULES`");
  const bool runs = options.run || options.bench > 0 || options.check || options.profile > 0 || options.verify_costs ||
                    options.timeline || !options.trace.empty() || !options.bisect.empty();
  // Before the limits: libraries that the loader starts again may wait for ever for memory that they must not have.
  if (runs) tools::restart_with_short_waits(argv);
  if (std::string wrong = limit_process(options); !wrong.empty()) return wrong_usage(wrong);
  tools::TerminalProgress progress;
  const driver::Output output{
      [](std::string_view text) { fmt::print("{}", support::visible(text, support::Lines::Keep)); },
      [](std::string_view text) { fmt::print(stderr, "{}", support::visible(text, support::Lines::Keep)); }};
  const driver::Outcome outcome = driver::run_command(options, output, progress.listener());
  fmt::print(stderr, "{}", outcome.diagnostics);
  if (tools::interrupt_flag()) {
    fmt::print(stderr, "note: the search was interrupted; the result is the best placement that it had found\n");
  }
  return exit_code(outcome.verdict);
}

}  // namespace

int main(int argc, char** argv) {
  return collage::tools::guarded_main("collagec", [&] { return run(argc, argv); });
}
