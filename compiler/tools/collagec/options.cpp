// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/input/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <thread>

#include "compiler/support/explain.h"
#include "include/collage/version.h"

namespace collage::driver {
namespace {

const std::map<std::string, Emit>& emit_names() {
  static const std::map<std::string, Emit> names = {{"ast", Emit::Ast},
                                                    {"graph", Emit::Graph},
                                                    {"ir", Emit::Ir},
                                                    {"candidates", Emit::Candidates},
                                                    {"placement", Emit::Placement},
                                                    {"plan", Emit::Plan},
                                                    {"llvm", Emit::Llvm},
                                                    {"asm", Emit::Asm},
                                                    {"c", Emit::C},
                                                    {"onnx", Emit::Onnx}};
  return names;
}

/// `0.5`, `1/255`.
std::optional<double> parse_fraction(const std::string& text) {
  size_t slash = text.find('/');
  auto number = [](std::string_view part) -> std::optional<double> {
    double value = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
    return value;
  };
  auto above = number(std::string_view(text).substr(0, slash));
  if (slash == std::string::npos || !above) return above;
  auto below = number(std::string_view(text).substr(slash + 1));
  if (!below || *below == 0) return std::nullopt;
  return *above / *below;
}

std::vector<NamedFile> named_files(const std::vector<std::string>& texts) {
  std::vector<NamedFile> files;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos) {
      files.push_back({"", text});
    } else {
      files.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
  }
  return files;
}

/// `-r` takes every word behind it; a model among them is no rule file.
std::string take_model(std::vector<std::string>& rules) {
  auto is_model = [](const std::string& path) {
    const std::string extension = std::filesystem::path(path).extension().string();
    std::error_code error;
    return !extension.empty() && extension != ".rules" && !std::filesystem::is_directory(path, error);
  };
  auto it = std::find_if(rules.begin(), rules.end(), is_model);
  if (it == rules.end()) return "";
  std::string model = *it;
  rules.erase(it);
  return model;
}

/// `--compare` and `--diff-plans` print a table and stop: what else they were asked for and would leave out, or "".
std::string conflict(const Options& options, bool has_strategy) {
  struct Request {
    std::string_view name;
    bool is_given;
  };
  bool compares = options.compare, diffs = !options.diff_plans.empty();
  if (!compares && !diffs) return "";
  const Request requests[] = {
      {"--plan", diffs && !options.plan.empty()},
      {"--candidate-plan", diffs && !options.candidate_plan.empty()},
      {"--compare", diffs && compares},
      {"--strategy", diffs && has_strategy},
      {"--emit", diffs && options.emit != Emit::All},
      {"--run", diffs && options.run},
      {"--bench", diffs && options.bench > 0},
      {"-o", compares && !options.output.empty()},
      {"--check", options.check},
      {"--verify-plan", options.verify_plan},
      {"--profile", options.profile > 0},
      {"--save-plan", !options.save_plan.empty()},
      {"--certificate", !options.certificate.empty()},
      {"--save", !options.results.empty()},
      {"--expect", !options.expected.empty()},
      {"--labels", !options.labels.empty()},
      {"--placement-json", !options.placement_json.empty()},
      {"--bench-json", !options.bench_json.empty()},
      {"--why", !options.why.empty()},
      {"--why-not", !options.why_not.empty()},
  };
  for (const Request& request : requests) {
    if (!request.is_given) continue;
    return fmt::format("{} prints a table and stops before {}", diffs ? "--diff-plans" : "--compare", request.name);
  }
  return "";
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv) {
  Options options;
  CLI::App app{"collagec: find the fastest way to run a model over several backends together, compile it, run it"};
  app.name("collagec");
  std::vector<std::string> inputs, expected, results, shapes;
  std::string emit, scale, code;
  options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  app.add_option("model", options.model, "the model: .ir or .onnx");
  // One value each, so that a model behind an option is not taken for another value of it.
  auto add_list = [&](const char* name, std::vector<std::string>& values, const char* help, const char* type) {
    app.add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  app.add_option("-r,--rules", options.rules, "rule files, or folders of them")->type_name("PATH…");
  add_list("-t,--target", options.targets, "activate only these backends: NAME[,attribute=value]…", "NAME");
  add_list("--allow", options.allow, "values may be rounded to these dtypes where rules want it: f16,i8 or npu=f16",
           "[BACKEND=]DTYPES");
  app.add_option("--strategy", options.strategy,
                 "optimal | greedy | eager | merge | tvm | evolve | priority:a,b | single:X")
      ->capture_default_str();
  app.add_option("--objective", options.objective,
                 "latency | makespan (devices, queues and links side by side) | throughput | energy")
      ->capture_default_str();
  add_list("--memory", options.memory, "a device has no more memory than this: npu[0]=4MiB, or npu=4MiB",
           "DEVICE=SIZE");
  app.add_flag("--compare", options.compare, "a table of all strategies; with --run or --bench N also measured");
  app.add_option("--compare-json", options.compare_json, "write that table as JSON")->type_name("FILE");
  add_list("--place", options.place,
           "these nodes only there: NAME, a pattern, op:NAME or model.ir:12-20 = BACKEND or DEVICE[0]",
           "NODES=BACKEND");
  add_list("--forbid", options.forbid, "these nodes not there", "NODES=BACKEND");
  add_list("--together", options.together, "these nodes in one partition: NODES,NODES…", "NODES");
  app.add_option("--save-plan", options.save_plan, "write the placement as a plan, a text without weights")
      ->type_name("FILE");
  app.add_option("--certificate", options.certificate, "write what `collage-check-plan` checks: plan, cost and bound")
      ->type_name("FILE");
  app.add_option("--plan", options.plan, "follow a plan; search what it does not name")->type_name("FILE");
  app.add_option("--candidate-plan", options.candidate_plan,
                 "consider a plan: the result is never predicted worse, and says what became of it")
      ->type_name("FILE");
  app.add_option("--diff-plans", options.diff_plans, "compare two plans for this model and stop")
      ->expected(2)
      ->type_name("FILE FILE");
  app.add_option("-o,--output", options.output, "where to write the placed model")->type_name("FILE");
  app.add_option("--emit", emit, "stop there and print: ast graph ir onnx candidates placement plan llvm asm c")
      ->type_name("STAGE");
  add_list("--shape", shapes, "fix an input whose dimensions the model leaves open: NAME=1x3x224x224", "NAME=DIMS");

  app.add_flag("--run", options.run, "run the compiled model");
  add_list("--input", inputs, "a model input: NAME=FILE (.npy, .pb, .png, .jpg, .pgm) or NAME=random", "NAME=FILE");
  app.add_option("--scale", scale, "what picture levels are multiplied by (default 1/255)")->type_name("X");
  add_list("--save", results, "write a model output: NAME=FILE (.npy, .pb)", "NAME=FILE");
  add_list("--expect", expected, "compare a model output with a file", "NAME=FILE");
  app.add_option("--tolerance", options.tolerance, "of --expect, relative to the largest value")
      ->capture_default_str()
      ->check([](const std::string& text) { return text.starts_with('-') ? "is negative" : ""; });
  app.add_option("--labels", options.labels, "right classes of a batch given as --input; prints the accuracy")
      ->type_name("FILE");
  app.add_flag("--check", options.check, "compare every partition with the reference kernels");
  app.add_flag("--verify-plan", options.verify_plan, "measure every partition and hold the prediction against it");
  app.add_option("--bench", options.bench, "time this many runs")->type_name("N")->check(CLI::Range(1, 1000000));
  app.add_option("--bench-json", options.bench_json, "write the times of --bench as JSON")->type_name("FILE");
  app.add_option("--profile", options.profile, "print the N kernels that take longest")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--threads", options.threads, "threads of the host (default: one per core)")
      ->check(CLI::Range(1, 1024));

  std::string costs;
  app.add_option("--costs", costs, "measured | estimate: where rules say `cost measured` (default: measured)")
      ->type_name("HOW")
      ->envname("COLLAGE_COSTS")
      ->check(CLI::IsMember({"measured", "estimate"}));
  std::string measure = "lazy";
  app.add_option("--measure", measure, "lazy: no more than proves the best plan | all: every candidate")
      ->type_name("WHICH")
      ->capture_default_str()
      ->check(CLI::IsMember({"lazy", "all"}));
  app.add_option("--cost-db", options.cost_db,
                 "where measured costs are kept (default: in the user's cache); empty: measured anew each time")
      ->type_name("FILE")
      ->expected(0, 1);
  app.add_option("--measure-timeout", options.measure_timeout, "for one candidate")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));

  app.add_option("--placement-json", options.placement_json, "write the placement as JSON")->type_name("FILE");
  app.add_option("--max-states", options.max_states, "budget of the search; it then reports its gap")
      ->type_name("N")
      ->check(CLI::Range(1.0, 1e15));
  app.add_option("--budget", options.budget,
                 "seconds of the search; it then reports its gap (--max-states: the same plan everywhere)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--evolve-evaluations", options.evolve_evaluations, "plans that --strategy=evolve measures at most")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000));
  app.add_flag("--strict", options.strict, "a backend that fails is an error, not a fallback");
  app.add_option("--why", options.why, "where nodes run, at what cost, and what every other backend would cost")
      ->type_name("NODES");
  app.add_option("--why-not", options.why_not,
                 "why nodes are not on a backend: what stopped each rule, or what the plan would cost with them there")
      ->expected(2)
      ->type_name("NODES BACKEND");
  app.add_flag("--dump-lowering", options.dump_lowering, "print what runs each partition, rule by rule, and stop");
  app.add_flag("--device-log", options.device_log, "after the runs, print what devices were asked for");
  app.add_flag("--time-passes", options.time_passes, "print what each stage took");
  app.add_flag("--print-passes", options.print_passes, "print which passes run, in order, and who asks for them; stop");
  add_list("--print-after", options.print_after, "print the graph after a pass, or `all`", "PASS");
  add_list("--disable-pass", options.disabled_passes, "leave a pass out", "PASS");
  app.add_option("--explain", code, "explain a diagnostic: CG0102")->type_name("CODE");
  app.set_version_flag("--version", "collagec " COLLAGE_VERSION);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, app.exit(error) == 0 ? 0 : 2};
  }
  if (!code.empty()) return {std::nullopt, support::explain(code) ? 0 : 2};
  auto usage = [](std::string_view message) {
    fmt::print(stderr, "error: {}\nRun with --help for more information.\n", message);
    return ParsedOptions{std::nullopt, 2};
  };
  if (options.model.empty()) options.model = take_model(options.rules);
  if (!options.compare_json.empty()) options.compare = true;
  if (options.model.empty()) return usage("a model is needed: `collagec MODEL -r RULES`");
  if (!emit.empty()) {
    auto it = emit_names().find(emit);
    if (it == emit_names().end()) return usage(fmt::format("--emit: no stage `{}`; see --help", emit));
    options.emit = it->second;
    if (options.run || options.check || options.bench > 0 || options.verify_plan || options.profile > 0)
      return usage("--emit stops before --run, --check, --bench, --profile and --verify-plan");
    if (options.compare) return usage("--emit and --compare exclude each other");
    if (options.emit == Emit::Onnx && options.output.empty())
      return usage("--emit=onnx writes a binary file: name it by `-o FILE.onnx`");
  }
  options.inputs = named_files(inputs);
  options.expected = named_files(expected);
  options.results = named_files(results);
  bool has_strategy = app.get_option("--strategy")->count() > 0;
  if (std::string message = conflict(options, has_strategy); !message.empty()) return usage(message);
  bool asks_why = !options.why.empty() || !options.why_not.empty() || !options.diff_plans.empty();
  if (asks_why && options.objective != "latency") return usage("--why, --why-not and --diff-plans answer for latency");
  if (!options.certificate.empty() && options.objective != "latency")
    return usage("--certificate proves latency alone");
  if (!options.run && !(expected.empty() && results.empty() && options.labels.empty())) {
    return usage("--expect, --save and --labels need --run");
  }
  if (!options.candidate_plan.empty() && !options.plan.empty()) {
    return usage("--plan is followed, --candidate-plan considered: give one of them");
  }
  if (!options.bench_json.empty() && options.bench == 0) return usage("--bench-json needs --bench");
  options.measure_all = measure == "all";
  if (!costs.empty()) options.costs = costs == "measured" ? CostMode::Measured : CostMode::Estimate;
  if (!scale.empty()) {
    std::optional<double> value = parse_fraction(scale);
    if (!value) return usage(fmt::format("--scale: `{}` is not a number or a fraction", scale));
    options.scale = *value;
  }
  for (const NamedFile& shape : named_files(shapes)) {
    if (shape.name.empty()) return usage("--shape: want NAME=1x3x224x224");
    options.input_shapes[shape.name] = shape.file;
  }
  return {options, 0};
}

}  // namespace collage::driver
