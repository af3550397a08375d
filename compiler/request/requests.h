// SPDX-License-Identifier: Apache-2.0
// What the user asks for: the one place that the command line and the C interface write to, by the rows of options.def.
// A program that embeds the compiler fills it itself. Names of nodes, backends and devices stay text here: only a model
// and rules give them a meaning (Compilation resolves each of them once).
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
#include "compiler/request/command_table.h"
#include "runtime/runner/run_request.h"

namespace collage::request {

/// The stage after which the compilation stops, and what it prints there. `All`: it does not stop.
enum class Emit { All, Ast, Passes, Nodes, Graph, Ir, Candidates, Placement, Lowering, Plan, Llvm, Asm, C, Onnx };

/// Where costs that rules call `measured` come from. Choose: measured, if an active rule file says so.
enum class CostMode { Choose, Measured, Estimate };

using runner::NamedFile;

/// Defaults and ends of ranges, which the requests of a library share.
inline constexpr double kMostSeconds = 1e6;
inline constexpr uint64_t kMostStates = 1'000'000'000'000'000;
inline constexpr int kEvolveEvaluations = 24;
inline constexpr double kMeasureTimeout = 10;  ///< seconds
inline constexpr int kKeptStages = 64;
inline constexpr int kProfileRows = 10;
inline constexpr int kTimedRuns = 20;
inline constexpr double kProgressSeconds = 10;

/// As many states as a search may take where time alone is its limit; it multiplies and adds to the number.
inline constexpr uint64_t kUnlimitedStates = UINT64_MAX / 1024;

/// Words of `--cost-db-lost`; any other text names the database that is used from then on.
inline constexpr std::string_view kForgetLost = "forget", kEstimateLost = "estimate";

struct ModelRequest {
  std::string path{};                        ///< .onnx, or a text in the model language
  std::vector<ir::ShapeBinding> bindings{};  ///< of dimensions that the model leaves open
  std::vector<NamedFile> defaults{};         ///< elements in place of those that the file has for an input
  /// Specialisations that are asked for one after another, each by bindings beside those; empty: one without.
  std::vector<std::vector<ir::ShapeBinding>> buckets{};
  int kept_stages = kKeptStages;  ///< of a model that runs in stages
  bool allows_outside = false;    ///< it may lead to any file
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
  std::vector<std::string> targets{};  ///< `npu`, `npu,lanes=16`; empty: all backends that run on this machine
  bool allows_simulated = false;       ///< and all models of chips
  std::vector<std::string> allow{};    ///< `f16,i8`, `npu=bf16`: formats that round
  bool allows_code = false;            ///< plug-ins and cost programs of rule files may run
  bool allows_outside = false;         ///< rule files may lead to any file
  bool is_strict = false;              ///< an absent or failing backend is an error
  std::string strategy = "optimal";
  const place::Objective* objective = place::default_objective();
  std::vector<std::string> memory{};                       ///< `npu[0]=4MiB`: caps
  std::vector<std::string> place{}, forbid{}, together{};  ///< constraints on nodes
  uint64_t max_states = 0;                                 ///< of the search; 0: the usual number
  std::optional<double> budget{};                          ///< seconds of the search
  bool keeps_multipliers = false;                          ///< of the search, for a certificate
  CostRequest costs{};
  std::optional<std::string> cache{};           ///< folder of code and solutions; empty: none; absent: the user's
  int threads = 1;                              ///< of the host
  bool has_own_threads = false;                 ///< they were asked for: runs of small plans have as many
  codegen::CodeTarget code{};                   ///< of the host
  int evolve_evaluations = kEvolveEvaluations;  ///< placements that the strategy `evolve` measures
  std::vector<std::string> named{};             ///< backends and devices that the request names elsewhere

  /// A budget of time alone lifts the usual limit of states.
  place::SearchOptions search() const;
  /// Returns `named`, and the words where options name backends: of `--place`, `--memory`, `--allow`, `--strategy`.
  std::vector<std::string> named_backends() const;
};

struct PassRequest {
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
};

/// What `why` and `why-not` are about.
struct QuestionRequest {
  std::string why{};                   ///< nodes
  std::vector<std::string> why_not{};  ///< nodes, backend
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

/// The answer as one JSON document.
struct JsonRequest {
  bool is_asked = false;
  std::string file{};  ///< empty: it is printed in place of the lines for people

  bool is_printed() const { return is_asked && file.empty(); }
};

/// Limits of the process.
struct LimitRequest {
  std::string memory{};             ///< `2GiB`; empty: no limit
  std::optional<double> seconds{};  ///< absent: no limit
};

struct Request {
  CommandName command = CommandName::Compile;
  ModelRequest model{};
  std::vector<std::string> rules{};  ///< files and folders; empty: those of the installation
  Settings settings{};
  PassRequest passes{};
  Emit emit = Emit::All;
  std::string output{};  ///< a file; of `bisect` a folder
  PlacementRequest placement{};
  QuestionRequest questions{};
  QuantizeRequest quantize{};
  runner::RunRequest run{};
  bool checks = false;             ///< before a run
  int integer_steps = 0;           ///< by which quantised results may differ from the reference kernels
  int runs = 0;                    ///< that are timed; 0: the usual number, of `compare` none
  bool compares_policies = false;  ///< `compare`: those of other systems, too
  int in_flight = 0;               ///< of `simulate`, requests of a stream; 0: what the objective asks for
  std::string faults{};            ///< of devices: file or text; empty: none
  int profile_rows = kProfileRows;
  runner::TraceRequest trace{};
  bool prints_device_log = false;
  bool prints_times = false;
  double progress_seconds = kProgressSeconds;  ///< between lines about long work in a log; 0: none
  JsonRequest json{};
  std::string report{};  ///< page to write; empty: none
  LimitRequest limits{};

  /// The model is executed after it was compiled.
  bool executes() const;
  /// Returns how often `bench` and `verify-costs` run the model.
  int timed_runs() const { return runs > 0 ? runs : kTimedRuns; }
  /// Shapes follow from the inputs that are given, and a model in stages runs so that its stages are known. Inputs
  /// beside `--calibrate` are for measuring errors.
  bool gives_inputs() const { return executes() || (!run.inputs.empty() && !quantize.is_asked()); }
};

/// Kinds of tensor files beside those that the runtime reads.
const runner::TensorFormats& tensor_formats();

/// Adds what follows from the command and its options: that `simulate` estimates costs, which rules there are, …
void complete(Request& request);

}  // namespace collage::request
