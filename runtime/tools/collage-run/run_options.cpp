// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/collage-run/run_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "runtime/exec/relocate.h"
#include "runtime/pool/pool.h"
#include "runtime/tools/command_line/file_uses.h"
#include "runtime/tools/command_line/run_options.h"
#include "runtime/tools/command_line/seconds_option.h"

namespace collage::tools {
namespace {

CLI::Option* add(CLI::App& app, const SharedOption& shared, const CLI::callback_t& store) {
  return app.add_option(std::string(shared.flag), store, std::string(shared.help))
      ->type_name(std::string(shared.value))
      ->allow_extra_args(false);
}

void add_files(CLI::App& app, const SharedOption& shared, std::vector<runner::NamedFile>& files) {
  add(app, shared, [&files](const CLI::results_t& texts) {
    for (const std::string& text : texts) files.push_back(runner::parse_named_file(text));
    return true;
  })->take_all();
}

void add_number(CLI::App& app, const SharedOption& shared, double& number, bool may_be_negative) {
  add(app, shared, [&number, shared, may_be_negative](const CLI::results_t& texts) {
    const std::optional<double> value = runner::parse_number(texts.front());
    const auto refuse = [&](const std::string& why) { throw CLI::ValidationError(std::string(shared.flag), why); };
    if (!value) refuse(fmt::format("`{}` is not a number or a fraction", texts.front()));
    if (!may_be_negative && !(*value >= 0)) refuse(fmt::format("`{}` is negative", texts.front()));
    number = *value;
    return true;
  });
}

CLI::Option* add_count(CLI::App& app, const SharedOption& shared, int& count, double most) {
  return app.add_option(std::string(shared.flag), count, std::string(shared.help))
      ->type_name(std::string(shared.value))
      ->check(CLI::Range(1, static_cast<int>(most)).description(""));
}

void add_text(CLI::App& app, const SharedOption& shared, std::string& text) {
  app.add_option(std::string(shared.flag), text, std::string(shared.help))->type_name(std::string(shared.value));
}

constexpr double kMostRequests = 1000;

/// What is wrong with the files that options name; empty: nothing.
std::string wrong_files(const RunOptions& options) {
  std::vector<FileUse> read, written;
  const auto add = [](std::vector<FileUse>* uses, const char* option, const std::string& path) {
    if (!path.empty()) uses->push_back({option, path});
  };
  for (const std::string& package : options.packages) add(&read, "the command", package);
  const auto add_named = [&add](std::vector<FileUse>* uses, const char* option,
                                const std::vector<runner::NamedFile>& files) {
    for (const runner::NamedFile& named : files) {
      for (const std::string& path : runner::files_meant(named)) add(uses, option, path);
    }
  };
  add_named(&read, "--input", options.run.inputs);
  add_named(&read, "--expect", options.run.expected);
  add(&read, "--labels", options.run.labels);
  add(&read, "--faults", options.faults);
  add_named(&written, "--save", options.run.results);
  add(&written, "--bench-json", options.bench_json);
  add(&written, "--trace", options.trace.file);
  return overwritten_file(read, written);
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& options) {
  // The formats of `collagec` but .pb, which takes protobuf to read.
  constexpr SharedOption kInput = {"--input", "NAME=FILE",
                                   "give a model input: NAME=FILE (.npy, .png, .jpg, .pgm) or NAME=random"};
  constexpr SharedOption kSave = {"--save", "NAME=FILE", "write a model output (.npy)"};
  app.add_option("packages", options.packages, "compiled models: NAME.collage, as `collagec -o` writes them")
      ->type_name("FILE…");
  app.option_defaults()->group("Running");
  add_files(app, kInput, options.run.inputs);
  add_number(app, kScaleOption, options.run.scale, true);
  app.get_option("--scale")->default_str(std::string(kScaleInitial));
  add_files(app, kSave, options.run.results);
  add_files(app, kExpectOption, options.run.expected);
  add_number(app, kToleranceOption, options.run.tolerance, false);
  app.get_option("--tolerance")->default_str(fmt::format("{}", runner::kExpectTolerance));
  add_text(app, kLabelsOption, options.run.labels);
  app.add_flag("--check", options.check, "compare with the run that `collagec check -o` stored in the package");
  add_count(app, kThreadsOption, options.threads, runtime::kMostThreads)
      ->default_str("as many as it was compiled for, one for a plan of little work");
  add_text(app, kFaultsOption, options.faults);
  app.option_defaults()->group("Timing");
  add_count(app, kBenchOption, options.bench, kMostBenchRuns);
  add_text(app, kBenchJsonOption, options.bench_json);
  constexpr SharedOption kRequests = {
      "--requests", "N",
      "with --bench: also keep this many requests in flight; where a memory has room for M "
      "of them only, they use its places in turn, and multiples of M keep all places at work"};
  constexpr SharedOption kInstances = {"--instances", "NAME=N,…",
                                       "with --requests: spread them over this many devices of a kind: npu=3"};
  add_count(app, kRequests, options.requests.in_flight, kMostRequests);
  add_text(app, kInstances, options.requests.instances);
  add_text(app, kTraceOption, options.trace.file);
  app.add_flag(std::string(kTimelineFlag), options.trace.prints, std::string(kTimelineHelp));
  app.option_defaults()->group("Under mpirun");
  add_seconds(app, "--timeout", options.timeout,
              "how long a value of another host, or loading there, may take; 0: no limit");
  add_seconds(app, "--start-timeout", options.start_timeout,
              "how long it may take until all ranks are there; 0: no limit");
  app.option_defaults()->group("Output");
  app.add_flag("--about", options.about,
               "print what is in the package: inputs, outputs, where it runs, what it needs; with --json as JSON");
  app.add_flag("--placed", options.placed, "print the placed model, and stop");
  app.add_flag("--json", options.json, "print the results as one JSON document");
  app.option_defaults()->group("Help");
  app.add_option("--explain", options.explain, "explain a diagnostic: CG0005")->type_name("CODE");
}

std::string wrong_combination(const RunOptions& options) {
  if (!options.bench_json.empty() && options.bench == 0) return "--bench-json needs --bench";
  if (options.requests.is_asked() && options.bench == 0) return "--requests needs --bench";
  if (!options.requests.instances.empty() && !options.requests.is_asked()) return "--instances needs --requests";
  if (const auto counts = runtime::parse_instances(options.requests.instances); !counts) return counts.message();
  if (options.json && options.trace.prints) return "--timeline excludes --json";
  const bool stops = options.about || options.placed;
  const bool runs = options.bench > 0 || (options.json && !options.about) || !options.run.inputs.empty() ||
                    !options.run.results.empty() || !options.run.expected.empty() || !options.run.labels.empty() ||
                    !options.faults.empty() || options.trace.is_asked() || options.check;
  if (options.about && options.placed) return "--about excludes --placed";
  if (stops && runs) return fmt::format("{} stops before the model runs", options.about ? "--about" : "--placed");
  if (std::string wrong = wrong_files(options); !wrong.empty()) return wrong;
  if (options.packages.size() < 2) return "";
  for (const auto& [flag, is_given] : {std::pair("--save", !options.run.results.empty()),
                                       {"--expect", !options.run.expected.empty()},
                                       {"--labels", !options.run.labels.empty()},
                                       {"--bench-json", !options.bench_json.empty()},
                                       {"--trace", !options.trace.file.empty()}}) {
    if (is_given) return fmt::format("{} is for one package", flag);
  }
  return "";
}

}  // namespace collage::tools
