// SPDX-License-Identifier: Apache-2.0
// What a user asks of one compilation, as plain data. `collagec` fills it from its command line
// (tools/collagec/options.def); nothing here reads or prints anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/target/numerics.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/quantize/range.h"
#include "runtime/runner/run_request.h"

namespace collage::driver {

/// The stage after which the compilation stops, and what it prints there. `All`: it does not stop.
enum class Emit { All, Ast, Graph, Ir, Candidates, Placement, Plan, Llvm, Asm, C, Onnx };

/// Where costs that rules call `measured` come from. Choose: measured, if an active rule file says so.
enum class CostMode { Choose, Measured, Estimate };

/// Defaults and ends of ranges. The command line, the C interface and the requests of a library share them.
inline constexpr double kMostSeconds = 1e6;
inline constexpr uint64_t kMostStates = 1'000'000'000'000'000;
inline constexpr int kEvolveEvaluations = 24;
inline constexpr double kMeasureTimeout = 10;  ///< seconds
inline constexpr int kKeptStages = 64;

using runner::NamedFile;

struct Options {
  std::string model;
  std::vector<std::string> rules;    ///< files and folders
  std::vector<std::string> targets;  ///< `npu`, `npu,lanes=16`
  std::vector<std::string> allow;    ///< `f16,i8`, `npu=bf16`: formats that round
  bool allow_code = false;           ///< plug-ins and cost programs of rule files may run
  bool allow_outside = false;        ///< models and rules may lead to any file
  std::string max_memory;            ///< `2GiB`: of the process; empty: no limit
  std::optional<double> timeout;     ///< seconds of the process
  std::vector<std::string> shapes;   ///< `x=1x3`, `batch=8,seq=1..512`: of open dimensions
  int kept_stages = kKeptStages;     ///< of a model that runs in stages
  std::vector<std::string> buckets;  ///< `batch=1,8,32`: sizes of a dimension, each compiled; one package has all

  std::string strategy = "optimal";
  std::string objective{place::default_objective()->name};
  std::vector<std::string> memory;  ///< `npu[0]=4MiB`: caps
  std::vector<std::string> place, forbid, together;
  std::string placement;                        ///< file to follow
  std::string candidate_placement;              ///< file to consider
  uint64_t max_states = 0;                      ///< of the search; 0: its default
  std::optional<double> budget;                 ///< seconds of the search
  int evolve_evaluations = kEvolveEvaluations;  ///< placements that `evolve` measures
  bool strict = false;                          ///< a backend that fails is an error
  std::vector<std::string> disabled_passes;

  std::vector<NamedFile> calibrate;  ///< inputs; `NAME=FILE` or a folder
  std::string calibration;           ///< file of ranges to read
  std::string save_calibration;
  quantize::RangeMethod ranges = quantize::RangeMethod::MinMax;
  double percentile = quantize::kUsualPercentile;  ///< of RangeMethod::Percentile
  bool per_tensor_weights = false;
  std::vector<std::string> quantize;  ///< backends; `npu,host`
  std::optional<double> max_error;
  std::optional<double> min_accuracy;

  std::string why;                   ///< nodes
  std::vector<std::string> why_not;  ///< nodes, backend
  bool compare = false;
  std::string compare_json;                  ///< file to write; implies `compare`
  std::vector<std::string> diff_placements;  ///< two files, or none
  bool simulate = false;
  int requests = 0;  ///< of `simulate`, in flight; 0: what the objective asks for

  bool run = false;
  std::vector<NamedFile> inputs;
  double scale = runner::kPictureScale;  ///< of pictures
  std::vector<NamedFile> results;
  std::vector<NamedFile> expected;
  double tolerance = runner::kExpectTolerance;  ///< of `expected`, relative to max|y|
  std::string labels;
  bool check = false;
  std::string bisect;                                   ///< folder; empty: nothing is bisected
  std::string faults;                                   ///< of devices: file or text
  int threads = 1;                                      ///< of the host
  codegen::Numerics numerics = codegen::Numerics::F32;  ///< of the host's code
  std::string cpu;                                      ///< that it is for; empty: this one

  bool verify_costs = false;
  int bench = 0;  ///< timed runs; 0: none
  std::string bench_json;
  int profile = 0;    ///< rows of the profile; 0: no profile
  std::string trace;  ///< file; empty: none
  bool timeline = false;
  CostMode costs = CostMode::Choose;
  bool measure_all = false;                  ///< also costs that the proof does not need
  bool ignore_rivals = false;                ///< build the best plan as predicted
  bool keep_disturbed = false;               ///< use costs that were measured on a busy machine
  std::optional<std::string> cost_db;        ///< empty: costs are not kept; absent: the user's cache
  std::string cost_db_lost = "forget";       ///< what follows where its server is lost: `forget`, `estimate`, or a file
  std::string measure_on;                    ///< machine of workers whose costs count; empty: this one
  std::optional<std::string> cache;          ///< folder; empty: nothing is kept; absent: the user's
  double measure_timeout = kMeasureTimeout;  ///< seconds for one candidate

  std::string output;
  Emit emit = Emit::All;
  bool json = false;
  std::string save_placement;
  std::string placement_json;
  std::string certificate;
  std::string report;          ///< page to write; empty: none
  bool dump_lowering = false;  ///< print what runs each partition, and stop
  bool device_log = false;     ///< after the runs: what devices were asked for
  bool print_passes = false;   ///< print the passes, and stop
  std::vector<std::string> print_after;
  bool time_passes = false;
};

}  // namespace collage::driver
