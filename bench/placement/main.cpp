// SPDX-License-Identifier: Apache-2.0
// Times the placement search on the graphs of real models and on synthetic families, with synthetic backends
// (backends.h), and holds it against its goals: gap and time.
//
//   placement_bench [--settings ABC] [--budget SECONDS] [--max-partitions N] [--memory-share PART] [--compare]
//   [--trace] [--certify] [--family NAME --nodes N[,N…]] [MODEL…]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>

#include "bench/placement/backends.h"
#include "bench/placement/skeleton.h"
#include "compiler/certificate/check_certificate.h"
#include "compiler/import/onnx.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/bound/prove.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/memory_limits.h"
#include "compiler/place/solve.h"
#include "compiler/sema/model/build_graph.h"

namespace {

using namespace collage;
using place::Cost;

std::optional<bench::Skeleton> read_model(const std::string& path) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::optional<ir::Graph> graph;
  const std::filesystem::path file(path);
  if (file.extension() == ".onnx") {
    graph = import::import_onnx(path, diags, {});
  } else if (const auto id = sources.load(path)) {
    std::optional<sema::Model> model = sema::load_model_text(sources, *id, file.parent_path().string(), diags);
    if (model) graph = std::move(model->graph);
  }
  fmt::print(stderr, "{}", diags.render());
  if (!graph) return std::nullopt;
  return bench::skeleton_of(*graph, file.stem().string());
}

double percent(Cost cost, Cost bound) {
  return cost.count() == 0 ? 0
                           : 100.0 * static_cast<double>((cost - bound).count()) / static_cast<double>(cost.count());
}

/// What the search must keep beside covering all nodes.
struct Limits {
  int max_partitions = 0;   ///< of npu and dsp, each; 0: any number
  double memory_share = 0;  ///< of what the plan without limits takes in each device; 0: any amount
};

void add_limits(const Limits& limits, double budget, place::Problem& problem) {
  const auto on_device = [](const place::Owner& owner) { return owner.instance != "host"; };
  std::optional<place::Solution> free;
  if (limits.memory_share > 0) {
    place::SearchOptions options;
    options.max_seconds = budget;
    free = place::search_optimal(problem, options);
  }
  for (place::Owner& owner : problem.owners) {
    if (on_device(owner) && limits.max_partitions > 0) owner.max_partitions = limits.max_partitions;
    if (on_device(owner) && free) owner.memory = INT64_MAX / 4;
  }
  if (!free) return;
  const place::MemoryLimits memory(problem);
  for (const auto i : memory.instances().ids()) {
    const auto taken = static_cast<double>(memory.peak(i, free->chosen));
    for (place::Owner& owner : problem.owners) {
      if (owner.instance == memory.instances()[i].name) {
        owner.memory = static_cast<int64_t>(taken * limits.memory_share);
      }
    }
  }
}

void measure(const bench::Skeleton& skeleton, char setting, double budget, const Limits& limits, bool trace,
             bool certifies) {
  place::Problem problem = bench::make_problem(skeleton, static_cast<bench::Setting>(setting - 'A'));
  add_limits(limits, budget, problem);
  place::SearchOptions options;
  options.max_seconds = budget;
  options.max_states = UINT64_MAX / 8;
  options.keeps_multipliers = certifies;
  if (trace) {
    options.on_progress = [](const place::SearchProgress& now) {
      fmt::print("    {:8.3f} s {:>8} states {:>8} candidates {:>10} gap {:.4f} %\n", now.seconds, now.states,
                 now.candidates, human(now.cost), percent(now.cost, now.bound));
    };
  }
  const auto start = std::chrono::steady_clock::now();
  const std::optional<place::Solution> found = place::search_optimal(problem, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!found) {
    fmt::print("{:<22}{:>2}  nothing found\n", skeleton.name, setting);
    return;
  }
  const place::Verdict verdict = place::evaluate(problem, *found);
  const bool right = std::holds_alternative<Cost>(verdict) && std::get<Cost>(verdict) == found->cost;
  fmt::print("{:<22}{:>2}{:>7}{:>8}{:>9.2f} s{:>9.3f} %{:>10} states  {:>10}{}\n", skeleton.name, setting,
             problem.node_count, problem.candidates.size(), took.count(), percent(found->cost, found->bound),
             found->states, human(found->cost), right ? "" : "  WRONG");
  if (certifies) {
    certificate::CertificateFile file;
    file.problem = problem;
    file.solution = *found;
    const auto began = std::chrono::steady_clock::now();
    place::ProofOptions proving;
    proving.multipliers = found->multipliers.get();
    proving.judge = [&](const place::Proof& proof) {
      file.proof = proof;
      return certificate::shown_by_proof(file);
    };
    file.proof = place::prove_bound(problem, found->cost, proving);
    const std::chrono::duration<double> proof_took = std::chrono::steady_clock::now() - began;
    const auto judged = certificate::check_certificate(file);
    if (!judged) {
      fmt::print("    REFUSED: {}\n", judged.message());
    } else if (judged->bound) {
      const auto bound = problem.cost_of(static_cast<int64_t>(*judged->bound));
      fmt::print("    certificate of {} cases made in {:.2f} s and checked: gap {:.4f} % proven\n",
                 file.proof.cases.size(), proof_took.count(), percent(found->cost, bound));
    }
  }
  std::fflush(stdout);
}

/// What simpler strategies cost next to the optimum, and what they take.
void compare(const bench::Skeleton& skeleton, char setting, double budget) {
  const place::Problem problem = bench::make_problem(skeleton, static_cast<bench::Setting>(setting - 'A'));
  Cost best;
  std::string line = fmt::format("{:<22}{:>2}", skeleton.name, setting);
  for (const place::Strategy& strategy : place::compared_strategies(place::backend_names(problem))) {
    place::SearchOptions options;
    options.max_seconds = budget;
    if (place::is_exact(strategy)) options.max_states = UINT64_MAX / 1024;
    const auto start = std::chrono::steady_clock::now();
    const runtime::Result<place::Solution> found = place::solve(problem, strategy, options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (!found) {
      line += fmt::format("  {} -", place::to_string(strategy).substr(0, 15));
      continue;
    }
    if (place::is_exact(strategy)) best = found->cost;
    line += fmt::format("  {} {:.3f} ({:.2f} s)", place::to_string(strategy).substr(0, 15),
                        found->cost.value() / best.value(), took.count());
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"placement_bench: time and gap of the placement search"};
  std::string settings = "ABC", family;
  double budget = 30;
  std::vector<size_t> nodes;
  std::vector<std::string> models;
  app.add_option("--settings", settings, "cost settings: letters of ABC")->capture_default_str();
  app.add_option("--budget", budget, "seconds for each search")->capture_default_str();
  app.add_option("--family", family, "chain | resnet | nasnet | densenet | transformer");
  app.add_option("--nodes", nodes, "sizes of the family")->delimiter(',');
  Limits limits;
  app.add_option("--max-partitions", limits.max_partitions, "at most so many on npu, and on dsp");
  app.add_option("--memory-share", limits.memory_share, "each device has this part of what the free plan takes there");
  bool trace = false;
  app.add_flag("--trace", trace, "a line for each round of the search");
  bool certifies = false;
  app.add_flag("--certify", certifies, "check every certificate by the independent checker");
  bool compares = false;
  app.add_flag("--compare", compares, "every strategy's cost over the optimum's, and its time");
  app.add_option("models", models, "model files");
  CLI11_PARSE(app, argc, argv);
  std::vector<bench::Skeleton> skeletons;
  for (const std::string& path : models) {
    if (std::optional<bench::Skeleton> skeleton = read_model(path)) skeletons.push_back(std::move(*skeleton));
  }
  for (size_t count : nodes) skeletons.push_back(bench::synthetic(family, count));
  for (const bench::Skeleton& skeleton : skeletons) {
    for (char setting : settings) {
      if (compares) {
        compare(skeleton, setting, budget);
      } else {
        measure(skeleton, setting, budget, limits, trace, certifies);
      }
    }
  }
  return 0;
}
