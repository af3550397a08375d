// SPDX-License-Identifier: Apache-2.0
// Times every distinct convolution and matrix product of some models, alone, on each backend and in each layout that
// the rule files offer. Contenders take turns, round after round, each round begins with another of them, and the peak
// of the processor's multiply-adds is measured in every round. bench/kernels.py runs it and works out the table.
//
//   kernels_bench MODEL… -r RULES… [--threads N] [--rounds N] [--budget SECONDS] [--list]
//
// Prints a JSON object for each shape, on a line of its own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/kernels/contenders.h"
#include "bench/peaks.h"
#include "compiler/compilation/compilation.h"

namespace {

using namespace collage;

struct Options {
  std::vector<std::string> models;
  std::vector<std::string> rules;
  int threads = 1;
  int rounds = 5;
  double budget = 0.03;
  bool lists = false;
};

/// One contender's turn, or the peak's, is short, so that all of them meet the same clock rate.
constexpr int64_t kPeakSteps = 1'000'000;
/// Beyond the last cache of any processor so far.
constexpr size_t kMemoryWords = size_t{64} << 20;

/// Reads a model and runs the passes that these rules ask for. Returns false after an error.
bool add_model(const std::string& path, const std::shared_ptr<const request::RuleFiles>& rules, int threads,
               support::SourceManager& sources, support::Diagnostics& diags, std::vector<bench::Shape>* shapes) {
  std::optional<request::ModelFile> model = request::read_model_file({path}, sources, diags);
  if (!model) return false;
  request::Settings settings;
  settings.threads = threads;
  auto compilation = compilation::Compilation::open(std::move(*model), rules, std::move(settings), diags);
  if (compilation == nullptr || !compilation->run_passes({}, diags)) return false;
  bench::collect_shapes(compilation->graph(), std::filesystem::path(path).stem().string(), shapes);
  return true;
}

nlohmann::json time_shape(const bench::Shape& shape, std::vector<bench::Contender> contenders, const Options& options) {
  measure::TimingOptions timing;
  timing.threads = options.threads;
  timing.budget_seconds = options.budget;
  timing.least_runs = 3;
  std::vector<double> peaks;
  for (int round = 0; round < options.rounds; ++round) {
    peaks.push_back(bench::fma_gflops(options.threads, kPeakSteps));
    for (size_t i = 0; i < contenders.size(); ++i) {
      bench::Contender& contender = contenders[(i + static_cast<size_t>(round)) % contenders.size()];
      if (contender.loaded == nullptr) continue;
      auto timed = contender.loaded->time(timing);
      if (timed) {
        contender.seconds.push_back(timed->median);
      } else {
        contender.why = timed.message();
        contender.loaded.reset();
      }
    }
  }
  nlohmann::json list = nlohmann::json::array();
  for (const bench::Contender& contender : contenders) {
    nlohmann::json entry = {{"backend", contender.backend}, {"layout", contender.layout}, {"rules", contender.rules}};
    if (contender.why.empty()) {
      entry["rounds_s"] = contender.seconds;
    } else {
      entry["why"] = contender.why;
    }
    list.push_back(std::move(entry));
  }
  return {{"kind", shape.kind},         {"name", shape.name},    {"flops", shape.flops},
          {"bytes", shape.bytes},       {"count", shape.count},  {"networks", shape.networks},
          {"threads", options.threads}, {"peaks_gflops", peaks}, {"contenders", std::move(list)}};
}

int run(const Options& options) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::shared_ptr<const request::RuleFiles> rules = request::read_rule_files(options.rules, sources, diags);
  std::vector<bench::Shape> shapes;
  bool is_good = rules != nullptr;
  for (const std::string& model : options.models) {
    is_good = is_good && add_model(model, rules, options.threads, sources, diags, &shapes);
  }
  std::optional<std::vector<request::Activation>> activations;
  if (is_good) activations = request::activate(rules->rules, {}, diags);
  if (!activations) {
    fmt::print(stderr, "{}", diags.render());
    return 1;
  }
  if (options.lists) {
    for (const bench::Shape& shape : shapes) {
      fmt::print("{:20} {:44} {:3} {}\n", shape.kind, shape.name, shape.count, *shape.networks.begin());
    }
    return 0;
  }
  place::ActiveBackends active;
  for (const request::Activation& activation : *activations) {
    if (activation.absent.empty()) active.push_back(activation.active);
  }
  double memory = 0;
  {
    const std::vector<uint64_t> words(kMemoryWords, 1);
    for (int i = 0; i < 3; ++i) memory = std::max(memory, bench::memory_gbs(options.threads, words));
  }
  const plan::PlanTargets targets = request::plan_targets(rules->rules, *activations, options.threads);
  for (const bench::Shape& shape : shapes) {
    auto contenders = bench::find_contenders(shape, rules->rules, active, targets, options.threads);
    nlohmann::json line = time_shape(shape, std::move(contenders), options);
    line["memory_gbs"] = memory;
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"times the convolutions and matrix products of models, alone, on every backend", "kernels_bench"};
  app.add_option("models", options.models, "the models: .ir or .onnx")->required();
  app.add_option("-r,--rules", options.rules, "rule files, or folders of them")->required();
  app.add_option("--threads", options.threads, "threads of the host")->check(CLI::Range(1, 1024));
  app.add_option("--rounds", options.rounds, "how often every contender takes its turn")->check(CLI::Range(1, 10000));
  app.add_option("--budget", options.budget, "seconds for one turn");
  app.add_flag("--list", options.lists, "print the shapes and stop");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
