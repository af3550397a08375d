// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/option_table.h"

#include <fmt/format.h>

#include "compiler/place/problem/search_options.h"

namespace collage::tools {
namespace {

using driver::CostMode;
using driver::Emit;
using driver::Options;

std::string word_of(const OptionRow& row, int value) {
  for (const Choice& choice : row.choices) {
    if (choice.value == value) return std::string(choice.word);
  }
  return "";
}

/// Texts of initial values; empty where the value says that nothing was given.
std::string text_of(const OptionRow& row, bool value) {
  return word_of(row, value ? 1 : 0);
}
std::string text_of(const OptionRow&, int value) {
  return value == 0 ? "" : std::to_string(value);
}
std::string text_of(const OptionRow&, uint64_t value) {
  return value == 0 ? "" : std::to_string(value);
}
std::string text_of(const OptionRow&, double value) {
  return fmt::format("{}", value);
}
std::string text_of(const OptionRow&, const std::string& value) {
  return value;
}
std::string text_of(const OptionRow& row, Emit value) {
  return word_of(row, static_cast<int>(value));
}
std::string text_of(const OptionRow& row, CostMode value) {
  return word_of(row, static_cast<int>(value));
}
template <typename List>
std::string text_of(const OptionRow&, const List&) {
  return "";
}

std::vector<OptionRow> make_table() {
  // The options that end a compilation early.
  const std::vector<std::string_view> tables = {"--compare", "--diff-placements"};
  const std::vector<std::string_view> stages = {"--emit", "--diff-placements"};
  const std::vector<std::string_view> all = {"--emit", "--compare", "--diff-placements"};
  return {
      {.flags = "MODEL",
       .field = &Options::model,
       .group = Group::Input,
       .is_common = true,
       .value = "FILE",
       .help = "the model: .ir or .onnx"},
      {.flags = "-r,--rules",
       .field = &Options::rules,
       .group = Group::Input,
       .is_common = true,
       .value = "PATH…",
       .help = "rule files, or folders of them",
       .values = kAllThatFollow},
      {.flags = "-t,--target",
       .field = &Options::targets,
       .group = Group::Input,
       .is_common = true,
       .value = "NAME",
       .help = "activate only these backends: NAME[,attribute=value]…; repeatable",
       .initial = "all that the rule files declare"},
      {.flags = "--shape",
       .field = &Options::input_shapes,
       .group = Group::Input,
       .value = "NAME=DIMS",
       .help = "fix the dimensions of an input that the model leaves open: x=1x3x224x224"},

      {.flags = "--strategy",
       .field = &Options::strategy,
       .group = Group::Placing,
       .is_common = true,
       .value = "NAME",
       .help = "how placements are found: optimal, greedy, eager, merge, tvm, evolve, priority:A,B or single:A",
       .suggestions = {"optimal", "greedy", "eager", "merge", "tvm", "evolve"},
       .stopped_by = {"--diff-placements"}},
      {.flags = "--objective",
       .field = &Options::objective,
       .group = Group::Placing,
       .is_common = true,
       .value = "NAME",
       .help = "what the placement minimises: latency, makespan (devices, queues and links work at the same time), "
               "throughput (time per input of a stream) or energy",
       .suggestions = {"latency", "makespan", "throughput", "energy"}},
      {.flags = "--place",
       .field = &Options::place,
       .group = Group::Placing,
       .is_common = true,
       .value = "NODES=BACKEND",
       .help = "run these nodes there: NAME, a pattern, op:NAME or model.ir:12-20, = BACKEND or DEVICE[0]"},
      {.flags = "--forbid",
       .field = &Options::forbid,
       .group = Group::Placing,
       .is_common = true,
       .value = "NODES=BACKEND",
       .help = "do not run these nodes there"},
      {.flags = "--together",
       .field = &Options::together,
       .group = Group::Placing,
       .value = "NODES",
       .help = "run these nodes in one partition: NODES,NODES…"},
      {.flags = "--allow",
       .field = &Options::allow,
       .group = Group::Placing,
       .value = "[BACKEND=]DTYPES",
       .help = "permit rounding to these dtypes where rules ask for it: f16,i8 or npu=f16",
       .initial = "no rounding"},
      {.flags = "--memory",
       .field = &Options::memory,
       .group = Group::Placing,
       .value = "DEVICE=SIZE",
       .help = "limit the memory of a device: npu[0]=4MiB, or npu=4MiB",
       .initial = "what the rule files declare"},
      {.flags = "--placement",
       .old_flags = "--plan",
       .field = &Options::placement,
       .group = Group::Placing,
       .is_common = true,
       .value = "FILE",
       .help = "follow a saved placement; search the nodes that it does not name",
       .stopped_by = {"--diff-placements"}},
      {.flags = "--candidate-placement",
       .old_flags = "--candidate-plan",
       .field = &Options::candidate_placement,
       .group = Group::Placing,
       .value = "FILE",
       .help = "consider a saved placement: the result is never predicted worse, and the summary says how it compares",
       .stopped_by = {"--diff-placements"},
       .excludes = {"--placement"}},
      {.flags = "--budget",
       .field = &Options::budget,
       .group = Group::Placing,
       .value = "SECONDS",
       .help = "limit the search in time; it then reports its gap",
       .initial = "no limit",
       .range = Range{0, 1e6}},
      {.flags = "--max-states",
       .field = &Options::max_states,
       .group = Group::Placing,
       .value = "N",
       .help = "limit the search in states, which gives the same placement on every machine",
       .initial = std::to_string(place::SearchOptions().max_states),
       .range = Range{1, 1e15}},
      {.flags = "--evolve-evaluations",
       .field = &Options::evolve_evaluations,
       .group = Group::Placing,
       .value = "N",
       .help = "placements that --strategy=evolve measures at most",
       .range = Range{0, 1e6}},
      {.flags = "--strict",
       .field = &Options::strict,
       .group = Group::Placing,
       .help = "treat a backend that is absent or fails as an error; without it other backends take over"},
      {.flags = "--disable-pass",
       .field = &Options::disabled_passes,
       .group = Group::Placing,
       .value = "PASS",
       .help = "leave out a pass over the model"},

      {.flags = "--why",
       .field = &Options::why,
       .group = Group::Asking,
       .is_common = true,
       .value = "NODES",
       .help = "where nodes run, at what cost, and what every other backend would cost",
       .stopped_by = tables,
       .needs = {"--objective=latency"}},
      {.flags = "--why-not",
       .field = &Options::why_not,
       .group = Group::Asking,
       .is_common = true,
       .value = "NODES BACKEND",
       .help =
           "why nodes are not on a backend: what stopped each rule, or what the placement would cost with them there",
       .values = 2,
       .stopped_by = tables,
       .needs = {"--objective=latency"}},
      {.flags = "--compare",
       .field = &Options::compare,
       .group = Group::Asking,
       .is_common = true,
       .help = "compare all strategies in a table; with --run or --bench N also measured",
       .stopped_by = {"--diff-placements"}},
      {.flags = "--compare-json",
       .field = &Options::compare_json,
       .group = Group::Asking,
       .value = "FILE",
       .help = "write that table as JSON",
       .implies = "--compare"},
      {.flags = "--diff-placements",
       .old_flags = "--diff-plans",
       .field = &Options::diff_placements,
       .group = Group::Asking,
       .value = "FILE FILE",
       .help = "compare two saved placements of this model",
       .values = 2,
       .needs = {"--objective=latency"}},

      {.flags = "--run",
       .field = &Options::run,
       .group = Group::Running,
       .is_common = true,
       .help = "run the compiled model",
       .stopped_by = stages},
      {.flags = "--input",
       .field = &Options::inputs,
       .group = Group::Running,
       .is_common = true,
       .value = "NAME=FILE",
       .help = "give a model input: NAME=FILE (.npy, .pb, .png, .jpg, .pgm) or NAME=random"},
      {.flags = "--scale",
       .field = &Options::scale,
       .group = Group::Running,
       .value = "X",
       .help = "multiply the levels of pictures by this number or fraction",
       .initial = "1/255"},
      {.flags = "--save",
       .field = &Options::results,
       .group = Group::Running,
       .value = "NAME=FILE",
       .help = "write a model output (.npy, .pb)",
       .stopped_by = tables,
       .needs = {"--run"}},
      {.flags = "--expect",
       .field = &Options::expected,
       .group = Group::Running,
       .value = "NAME=FILE",
       .help = "compare a model output with a file",
       .stopped_by = tables,
       .needs = {"--run"}},
      {.flags = "--tolerance",
       .field = &Options::tolerance,
       .group = Group::Running,
       .value = "X",
       .help = "difference that --expect accepts, relative to the largest value",
       .range = Range{0, kNoLimit}},
      {.flags = "--labels",
       .field = &Options::labels,
       .group = Group::Running,
       .value = "FILE",
       .help = "right classes of a batch given as --input; prints the accuracy",
       .stopped_by = tables,
       .needs = {"--run"}},
      {.flags = "--check",
       .field = &Options::check,
       .group = Group::Running,
       .is_common = true,
       .help = "compare the results of every partition with the reference kernels",
       .stopped_by = all},
      {.flags = "--threads",
       .field = &Options::threads,
       .group = Group::Running,
       .is_common = true,
       .value = "N",
       .help = "threads of the host",
       .initial = "one per core",
       .range = Range{1, 1024}},

      {.flags = "--bench",
       .field = &Options::bench,
       .group = Group::Measuring,
       .is_common = true,
       .value = "N",
       .help = "time this many runs",
       .range = Range{1, 1e6},
       .stopped_by = stages},
      {.flags = "--bench-json",
       .field = &Options::bench_json,
       .group = Group::Measuring,
       .value = "FILE",
       .help = "write the times of --bench as JSON",
       .stopped_by = tables,
       .needs = {"--bench"}},
      {.flags = "--profile",
       .field = &Options::profile,
       .group = Group::Measuring,
       .value = "N",
       .help = "print the N kernels that take longest",
       .range = Range{1, 1e6},
       .stopped_by = all},
      {.flags = "--verify-costs",
       .old_flags = "--verify-plan",
       .field = &Options::verify_costs,
       .group = Group::Measuring,
       .help = "measure every partition, alone and in the run, and compare with the predicted costs",
       .stopped_by = all},
      {.flags = "--costs",
       .field = &Options::costs,
       .group = Group::Measuring,
       .is_common = true,
       .value = "HOW",
       .help = "measured or estimate: where costs that rules call `measured` come from",
       .initial = "measured, if a rule file asks for it",
       .choices = {{"measured", static_cast<int>(CostMode::Measured)},
                   {"estimate", static_cast<int>(CostMode::Estimate)}},
       .environment = "COLLAGE_COSTS"},
      {.flags = "--measure",
       .field = &Options::measure_all,
       .group = Group::Measuring,
       .value = "WHICH",
       .help = "lazy: measure what the proof of the best placement needs; all: every candidate",
       .choices = {{"lazy", 0}, {"all", 1}}},
      {.flags = "--cost-db",
       .field = &Options::cost_db,
       .group = Group::Measuring,
       .value = "FILE",
       .help = "where measured costs are kept; empty: they are not kept",
       .initial = "~/.cache/collage/costs.sqlite"},
      {.flags = "--measure-timeout",
       .field = &Options::measure_timeout,
       .group = Group::Measuring,
       .value = "SECONDS",
       .help = "time limit for measuring one candidate",
       .range = Range{0, 1e6}},

      {.flags = "-o,--output",
       .field = &Options::output,
       .group = Group::Output,
       .is_common = true,
       .value = "FILE",
       .help = "where to write the placed model, or what --emit prints",
       .initial = "MODEL.collage where nothing is run",
       .stopped_by = {"--compare"}},
      {.flags = "--emit",
       .field = &Options::emit,
       .group = Group::Output,
       .is_common = true,
       .value = "STAGE",
       .help =
           "stop after a stage and print its result: ast, graph, ir, onnx, candidates, placement, plan, llvm, asm, c",
       .initial = "no stop",
       .choices = {{"ast", static_cast<int>(Emit::Ast)},
                   {"graph", static_cast<int>(Emit::Graph)},
                   {"ir", static_cast<int>(Emit::Ir)},
                   {"onnx", static_cast<int>(Emit::Onnx)},
                   {"candidates", static_cast<int>(Emit::Candidates)},
                   {"placement", static_cast<int>(Emit::Placement)},
                   {"plan", static_cast<int>(Emit::Plan)},
                   {"llvm", static_cast<int>(Emit::Llvm)},
                   {"asm", static_cast<int>(Emit::Asm)},
                   {"c", static_cast<int>(Emit::C)}},
       .excludes = tables},
      {.flags = "--json",
       .field = &Options::json,
       .group = Group::Output,
       .is_common = true,
       .help = "print the summary, --why, --why-not and --compare as one JSON document",
       .stopped_by = stages},
      {.flags = "--save-placement",
       .old_flags = "--save-plan",
       .field = &Options::save_placement,
       .group = Group::Output,
       .is_common = true,
       .value = "FILE",
       .help = "write the placement as a small text to keep or edit, without weights",
       .stopped_by = tables},
      {.flags = "--placement-json",
       .field = &Options::placement_json,
       .group = Group::Output,
       .value = "FILE",
       .help = "write the placement as JSON",
       .stopped_by = tables},
      {.flags = "--certificate",
       .field = &Options::certificate,
       .group = Group::Output,
       .value = "FILE",
       .help = "write what collage-check-certificate checks: problem, placement, cost, bound and proof",
       .stopped_by = tables,
       .needs = {"--objective=latency"}},
      {.flags = "--dump-lowering",
       .field = &Options::dump_lowering,
       .group = Group::Output,
       .help = "print what runs each partition, rule by rule, and stop"},
      {.flags = "--device-log",
       .field = &Options::device_log,
       .group = Group::Output,
       .help = "after the runs, print what devices were asked for"},
      {.flags = "--print-passes",
       .field = &Options::print_passes,
       .group = Group::Output,
       .help = "print which passes run, in order, and which backend asks for each, and stop"},
      {.flags = "--print-after",
       .field = &Options::print_after,
       .group = Group::Output,
       .value = "PASS",
       .help = "print the model after a pass, or after `all`"},
      {.flags = "--time-passes",
       .field = &Options::time_passes,
       .group = Group::Output,
       .help = "print the time of each stage"},

      {.flags = "-h,--help",
       .field = &Information::help,
       .group = Group::Help,
       .is_common = true,
       .help = "print the options that are used most"},
      {.flags = "--help-all",
       .field = &Information::help_all,
       .group = Group::Help,
       .is_common = true,
       .help = "print all options"},
      {.flags = "--explain",
       .field = &Information::explain,
       .group = Group::Help,
       .is_common = true,
       .value = "CODE",
       .help = "explain a diagnostic: CG0102"},
      {.flags = "--version", .field = &Information::version, .group = Group::Help, .help = "print the version"},
      {.flags = "--man", .field = &Information::man, .group = Group::Help, .help = "print the manual page"},
      {.flags = "--bash-completion",
       .field = &Information::bash_completion,
       .group = Group::Help,
       .help = "print a completion script for bash"},
  };
}

struct InitialText {
  const OptionRow& row;
  template <typename Value>
  std::string operator()(Value Options::*field) const {
    return text_of(row, Options().*field);
  }
  template <typename Value>
  std::string operator()(Value Information::*) const {
    return "";
  }
};

}  // namespace

std::string_view name_of(const OptionRow& row) {
  return row.flags.substr(row.flags.rfind(',') + 1);
}

std::string initial_text(const OptionRow& row) {
  return row.initial.empty() ? std::visit(InitialText{row}, row.field) : row.initial;
}

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = make_table();
  return table;
}

}  // namespace collage::tools
