// SPDX-License-Identifier: Apache-2.0
// `collagec`: the command line. Exit codes: tools/command_line/program_text.h.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "compiler/driver/commands.h"
#include "compiler/request/memory_caps.h"
#include "compiler/tools/collagec/backends_command.h"
#include "compiler/tools/collagec/costs_command.h"
#include "compiler/tools/collagec/describe.h"
#include "compiler/tools/collagec/interrupt.h"
#include "compiler/tools/collagec/measure_links_command.h"
#include "compiler/tools/collagec/parse_options.h"
#include "compiler/tools/collagec/terminal_progress.h"
#include "include/collage/export.h"
#include "include/collage/version.h"
#include "runtime/support/explain.h"
#include "runtime/support/print.h"
#include "runtime/tools/command_line/guarded_main.h"
#include "runtime/tools/command_line/process_limits.h"
#include "runtime/tools/command_line/short_waits.h"
#include "runtime/tools/command_line/terminal_width.h"

namespace {

using namespace collage;
using enum tools::ExitCode;

int wrong_usage(std::string_view message) {
  support::print(stderr, "error: {}\nRun with --help for more information.\n", message);
  return kWrongUsage;
}

/// Prints the answer to what needs no model. Returns the exit code.
int answer(const tools::Information& asked, request::CommandName command) {
  using Kind = tools::Information::Kind;
  const bool is_of_command = command != request::CommandName::Compile;
  switch (asked.kind) {
    case Kind::Help:
      support::print("{}", is_of_command ? tools::command_help(tools::describe_collagec(), tools::describe(command))
                                         : tools::help_text(tools::describe_collagec(), false));
      break;
    case Kind::HelpAll: support::print("{}", tools::help_text(tools::describe_collagec(), true)); break;
    case Kind::Version: support::print("collagec " COLLAGE_VERSION "\n"); break;
    case Kind::Man: support::print("{}", tools::man_page(tools::describe_collagec())); break;
    case Kind::BashCompletion: support::print("{}", tools::bash_completion(tools::describe_collagec())); break;
    case Kind::Explain: return support::explain(asked.code) ? kSuccess : kWrongUsage;
  }
  return kSuccess;
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
std::string limit_process(const request::LimitRequest& limits) {
  if (limits.seconds) tools::limit_time(*limits.seconds, fmt::format("--timeout {}", *limits.seconds));
  if (limits.memory.empty()) return "";
  const std::optional<size_t> bytes = request::parse_size(limits.memory);
  if (!bytes) return fmt::format("--max-memory: `{}` is no size: want 2GiB", limits.memory);
  tools::limit_memory(*bytes, "--max-memory " + limits.memory);
  return "";
}

int run(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "backends") return tools::run_backends_command(argc - 1, argv + 1);
  if (first == "costs") return tools::run_costs_command(argc - 1, argv + 1);
  if (first == "measure-links") return tools::run_measure_links_command(argc - 1, argv + 1);
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::variant<tools::CommandLine, tools::WrongUsage> parsed = tools::parse_command_line(argc, argv, diags);
  if (diags.has_errors()) return support::print(stderr, "{}", diags.render()), kWrongUsage;
  if (const auto* wrong = std::get_if<tools::WrongUsage>(&parsed)) return wrong_usage(wrong->message);
  auto& [request, information] = std::get<tools::CommandLine>(parsed);
  if (information) return answer(*information, request.command);
  // Before the limits: libraries that the loader starts again may wait for ever for memory that they must not have.
  if (request.executes()) tools::restart_with_short_waits(argv);
  tools::TerminalProgress progress(request.progress_seconds);
  if (std::string wrong = limit_process(request.limits); !wrong.empty()) return wrong_usage(wrong);
  const auto print_to = [&](std::FILE* file) {
    return [&progress, file](std::string_view text) {
      progress.clear();
      support::print(file, "{}", text);
    };
  };
  const driver::Output output{print_to(stdout), print_to(stderr), tools::terminal_width(STDOUT_FILENO)};
  const driver::Outcome outcome = driver::run_command(std::move(request), output, progress.listener());
  progress.finish();
  support::print(stderr, "{}", outcome.diagnostics);
  if (tools::interrupt_flag(tools::Interrupted::Measuring)) {
    std::fflush(stdout);
    tools::end_interrupted();
  }
  if (tools::interrupt_flag(tools::Interrupted::Search)) {
    support::print(stderr, "note: the search was interrupted; the result is the best placement that it had found\n");
  }
  return exit_code(outcome.verdict);
}

/// `collagec help bench` => `collagec bench --help`
int run_words(int argc, char** argv) {
  if (argc < 2 || argv[1] != tools::kHelpWord) return run(argc, argv);
  std::string flag = "--help";
  std::vector<char*> words = {argv[0]};
  words.insert(words.end(), argv + 2, argv + argc);
  words.insert(words.end(), {flag.data(), nullptr});
  return run(argc, words.data());
}

}  // namespace

extern "C" COLLAGE_API int collage_main_collagec(int argc, char** argv) {
  return collage::tools::guarded_main("collagec", [&] { return run_words(argc, argv); });
}
