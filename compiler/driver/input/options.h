// SPDX-License-Identifier: Apache-2.0
// The command line of `collagec`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace collage::driver {

/// Where the pipeline stops, and what is printed there. `All`: to the end.
enum class Emit { All, Ast, Graph, Ir, Candidates, Placement, Plan, Llvm, Asm, C, Onnx };

/// Where costs that rules call `measured` come from. Choose: measured, if an active rule file says so.
enum class CostMode { Choose, Measured, Estimate };

/// `NAME=FILE`; an empty name is the only one there is.
struct NamedFile {
  std::string name;
  std::string file;
};

struct Options {
  std::string model;
  std::vector<std::string> rules;    ///< -r: files and folders
  std::vector<std::string> targets;  ///< -t: `npu`, `npu,lanes=16`
  std::vector<std::string> allow;    ///< `f16,i8`, `npu=bf16`: formats that round
  std::string strategy = "optimal";
  std::string objective = "latency";
  std::vector<std::string> memory;  ///< `npu[0]=4MiB`: caps
  bool compare = false;
  std::string compare_json;  ///< implies `compare`
  std::vector<std::string> place, forbid, together;
  std::string plan;                     ///< to be followed
  std::string candidate_plan;           ///< to be considered
  std::string save_plan;                ///< to be written
  std::string certificate;              ///< to be written
  std::vector<std::string> diff_plans;  ///< two, or none
  bool verify_plan = false;
  std::string output;  ///< -o
  Emit emit = Emit::All;
  std::map<std::string, std::string> input_shapes;

  bool run = false;
  bool check = false;
  bool strict = false;
  int bench = 0;    ///< timed runs; 0: none
  int profile = 0;  ///< rows of the profile; 0: none
  int threads = 1;  ///< of the host; one per core unless given
  std::vector<NamedFile> inputs;
  std::vector<NamedFile> expected;
  std::vector<NamedFile> results;  ///< --save
  std::string labels;
  double scale = 1.0 / 255.0;    ///< of pictures
  double tolerance = 2e-5;       ///< of --expect, relative to max|y|
  uint64_t max_states = 0;       ///< of the search; 0: its default
  std::optional<double> budget;  ///< seconds of the search
  int evolve_evaluations = 24;   ///< plans that `evolve` measures

  CostMode costs = CostMode::Choose;
  bool measure_all = false;            ///< not only what the best plan needs
  std::optional<std::string> cost_db;  ///< empty: none; absent: the user's cache
  double measure_timeout = 10;         ///< seconds for one candidate

  std::string placement_json;
  std::string bench_json;
  bool dump_lowering = false;  ///< print what runs each partition, and stop
  bool device_log = false;     ///< after the runs: what devices were asked for
  bool time_passes = false;
  bool print_passes = false;
  std::vector<std::string> print_after;
  std::vector<std::string> disabled_passes;
  std::string why;                   ///< nodes
  std::vector<std::string> why_not;  ///< nodes, backend
};

/// Either options, or an exit code (help was printed: 0; wrong usage: 2).
struct ParsedOptions {
  std::optional<Options> options;
  int exit_code = 0;
};

ParsedOptions parse_options(int argc, char** argv);

}  // namespace collage::driver
