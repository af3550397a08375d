// SPDX-License-Identifier: Apache-2.0
// What the user asks for, in types. `read_request` converts the options of the command line, the only code that knows
// them; a program that embeds the compiler fills ModelRequest and Settings itself. Names of nodes, backends and devices
// stay text here: only a model and rules give them a meaning (Compilation resolves each of them once).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/target/code_target.h"
#include "compiler/ir/graph/open_shape.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/place/problem/search_options.h"
#include "compiler/quantize/range.h"
#include "compiler/quantize/scale.h"
#include "compiler/request/options.h"
#include "runtime/support/diagnostic.h"

namespace collage::driver {

/// As many states as a search may take where time alone is its limit; it multiplies and adds to the number.
inline constexpr uint64_t kUnlimitedStates = UINT64_MAX / 1024;

/// Words of `--cost-db-lost`; any other text names the database that is used from then on.
inline constexpr std::string_view kForgetLost = "forget", kEstimateLost = "estimate";

struct ModelRequest {
  std::string path;                          ///< .onnx, or a text in the model language
  std::vector<ir::ShapeBinding> bindings{};  ///< of dimensions that the model leaves open
  /// Specialisations that are asked for one after another, each by bindings beside those; empty: one without.
  std::vector<std::vector<ir::ShapeBinding>> buckets{};
  int kept_stages = kKeptStages;
  bool allows_outside = false;  ///< it may lead to any file
};

/// Where the costs of candidates come from.
struct CostRequest {
  CostMode mode = CostMode::Choose;
  bool measures_all = false;              ///< not only what the proof of the best placement needs
  std::optional<std::string> database{};  ///< empty: none; absent: the user's cache
  double timeout = kMeasureTimeout;       ///< seconds for one candidate
  bool repeats_disturbed = true;          ///< costs that were measured on a busy machine are measured again
  bool times_rivals = true;               ///< plans that are predicted to take hardly more are timed beside the best
  std::string measure_on{};               ///< machine of workers whose costs count: `arch=aarch64`; empty: this one
  /// What follows where the database server is lost: `forget` measures and keeps in memory, `estimate` measures no
  /// more, any other text names the database that is used from then on.
  std::string when_lost{kForgetLost};
};

/// How a model is placed and compiled.
struct Settings {
  std::vector<std::string> targets{};  ///< `npu`, `npu,lanes=16`; empty: all backends
  std::vector<std::string> allow{};    ///< `f16,i8`, `npu=bf16`: formats that round
  bool allows_code = false;            ///< plug-ins and cost programs of rule files may run
  bool allows_outside = false;         ///< rule files may lead to any file
  bool is_strict = false;              ///< an absent or failing backend is an error
  std::string strategy = "optimal";
  const place::Objective* objective = place::default_objective();
  std::vector<std::string> memory{};                       ///< `npu[0]=4MiB`: caps
  std::vector<std::string> place{}, forbid{}, together{};  ///< constraints on nodes
  place::SearchOptions search{};
  CostRequest costs{};
  std::optional<std::string> cache{};           ///< folder of code and solutions; empty: none; absent: the user's
  int threads = 1;                              ///< of the host
  codegen::CodeTarget code{};                   ///< of the host
  int evolve_evaluations = kEvolveEvaluations;  ///< placements that the strategy `evolve` measures
};

struct PassRequest {
  bool prints_schedule = false;  ///< print which passes run, and stop
  std::vector<std::string> print_after{};
  std::vector<std::string> disabled{};
};

/// Placements that are read, and what is written.
struct PlacementRequest {
  std::string follow{};             ///< a placement file to be followed
  std::string consider{};           ///< a placement file to be considered
  std::vector<std::string> diff{};  ///< two placement files to be compared, or none
  std::string save{};
  std::string certificate{};
  std::string json{};
};

struct CompareRequest {
  bool is_asked = false;
  std::string json{};
};

/// `--why` and `--why-not`.
struct QuestionRequest {
  std::string why{};                   ///< nodes
  std::vector<std::string> why_not{};  ///< nodes, backend

  bool is_asked() const { return !why.empty() || !why_not.empty(); }
};

/// `--calibrate` and what goes with it.
struct QuantizeRequest {
  std::vector<NamedFile> calibrate{};  ///< inputs on which ranges are observed
  std::string calibration{};           ///< a file of ranges, instead
  std::string save_calibration{};
  quantize::RangeChoice ranges{};
  quantize::WeightScales weight_scales = quantize::WeightScales::PerChannel;
  std::vector<std::string> backends{};  ///< that may compute in integers; empty: all
  std::optional<double> max_error{};    ///< of the outputs, relative to the largest
  std::optional<double> min_accuracy{};

  bool is_asked() const { return !calibrate.empty() || !calibration.empty(); }
};

/// `--simulate`
struct SimulateRequest {
  bool is_asked = false;
  int in_flight = 0;  ///< requests of a stream; 0: what the objective asks for
};

struct BenchRequest {
  int runs = 0;
  std::string json{};
};

struct Request {
  ModelRequest model;
  std::vector<std::string> rules;  ///< files and folders
  Settings settings;
  PassRequest passes;
  Emit emit = Emit::All;
  std::string output;
  PlacementRequest placement;
  CompareRequest compare;
  QuestionRequest questions;
  QuantizeRequest quantize;
  SimulateRequest simulate{};
  bool dumps_lowering = false;
  runner::RunRequest run;
  BenchRequest bench;
  bool checks = false;
  std::string bisect{};  ///< folder for what differs; empty: nothing is bisected
  std::string faults{};  ///< of devices: file or text; empty: none
  bool verifies = false;
  int profile = 0;  ///< rows
  runner::TraceRequest trace{};
  bool prints_device_log = false;
  bool prints_times = false;
  bool prints_json = false;  ///< in place of the lines for people
  std::string report{};      ///< page to write; empty: none

  /// The model is executed after it was compiled.
  bool executes() const {
    if (simulate.is_asked) return false;
    return run.is_asked || checks || !bisect.empty() || verifies || bench.runs > 0 || profile > 0 || trace.is_asked();
  }
  /// Shapes follow from the given inputs, and a model in stages runs so that its stages are known. Inputs beside
  /// `--calibrate` are for measuring errors.
  bool gives_inputs() const { return executes() || (!run.inputs.empty() && !quantize.is_asked()); }
};

/// Returns nullopt after an error: an objective that does not exist, a shape that is none.
std::optional<Request> read_request(const Options& options, support::Diagnostics& diags);

/// The budget of a search. One of time alone lifts the default limit of states. `max_states`: 0 where none is given.
place::SearchOptions search_options(uint64_t max_states, std::optional<double> max_seconds);

}  // namespace collage::driver
