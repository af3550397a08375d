// SPDX-License-Identifier: Apache-2.0
// Runs a graph of an ONNX file, stage by stage (import/stage.h): the model, the branch of an If, the body of a loop.
//
//     values known so far  =>  a stage for their types and constants, made on first use and kept
//                          =>  its results, then the nodes between this stage and the next on the host, and so on
//
// Expects values of the declared dtypes. What a graph computes does not depend on which stages are kept.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/stages/stage_program.h"
#include "compiler/stages/stage_value.h"

namespace collage::stages {

using StageResult = runtime::Result<std::vector<StageValue>>;
/// By result; nullopt where it is not known, or is no tensor.
using ResultTypes = std::vector<std::optional<ir::TensorType>>;

/// What is said of a stage: how large it is, how it runs, how often it did.
struct StageReport {
  std::string where;   ///< `main`, `body of loop`
  std::string inputs;  ///< what it was made for
  size_t operators = 0;
  std::string backends{};            ///< empty: reference kernels
  bool has_run_time_shapes = false;  ///< its costs are estimated
  double seconds_to_make = 0;
  std::vector<std::string> then{};  ///< nodes that are run on the host after it
  size_t runs = 0;
  double seconds = 0;  ///< of all runs
  size_t stages = 1;   ///< how many times and runs count; all else is of the first
};

/// A stage by itself, as a model whose inputs have these values.
struct KeptStage {
  size_t number = 1;  ///< of its report, from 1 on
  StageReport report;
  ir::Graph graph;                   ///< as imported
  std::vector<ir::Tensor> inputs{};  ///< of its last run
};

class GraphRunner {
 public:
  /// Keeps the `kept` stages that were used last. `diags`: of what is compiled.
  GraphRunner(std::shared_ptr<const import::OnnxFile> file, StageSettings settings, size_t kept,
              support::Diagnostics& diags);
  ~GraphRunner();

  /// The results of the file's graph.
  StageResult run(const std::map<std::string, StageValue>& inputs);
  /// The results of a body. `inputs` in the order of its inputs; `outer`: the graph around it; `name`: for reports.
  StageResult run(import::GraphRef body, const std::vector<StageValue>& inputs, const Scope* outer,
                  const std::string& name);
  /// What the results of a body would be for inputs of such types (nullopt: no tensor), without a run: what follows
  /// from them, else what is declared, with open dimensions as 0. As many answers as stages are kept; this one holds
  /// until the next call.
  const ResultTypes& result_types(import::GraphRef body, const ResultTypes& inputs, const Scope* outer);

  const import::OnnxFile& file() const { return *file_; }
  /// Stages made so far, those that were dropped too, in the order in which they were made. After many the last report
  /// is about all others.
  std::vector<StageReport> reports() const;
  /// Where the settings ask for it: the stages of reports about one stage, but for those that compute nothing.
  std::vector<KeptStage> kept_stages() const;

 private:
  struct Stage;
  /// A place in a graph at which a stage begins: the nodes that are still to be run.
  struct Point;

  using FindValue = std::function<std::optional<import::KnownValue>(const std::string&)>;
  /// Types of a body's results, and what they follow from.
  struct KnownTypes {
    import::GraphRef body;
    std::string key;
    ResultTypes types;
  };

  StageResult run(import::GraphRef graph, Scope& scope, const std::string& name);
  runtime::Result<Point*> start(import::GraphRef graph, const std::string& name);
  Point* point_of(import::GraphRef graph, std::vector<int> nodes, const std::string& name);
  std::vector<std::string> reads_of(import::GraphRef graph, const std::vector<int>& nodes) const;
  const std::vector<std::string>& reads_of_body(import::GraphRef body);
  ResultTypes make_types(import::GraphRef body, const FindValue& find) const;
  runtime::Result<std::shared_ptr<Stage>> stage_for(Point& point, const Scope& scope);
  runtime::Result<std::shared_ptr<Stage>> make_stage(Point& point, const Scope& scope, const std::string& key);
  runtime::Status run_stage(const Stage& stage, Scope& scope);
  StageResult run_node(const import::NodeView& node, int index, const Point& point, const Scope& scope);
  StageResult run_operator(int index, import::GraphRef graph, const import::NodeView& node, const Scope& scope);
  runtime::Status failure(const std::string& where);
  void drop_oldest();
  StageReport* new_report(StageReport report);

  std::shared_ptr<const import::OnnxFile> file_;
  StageSettings settings_;
  size_t kept_;
  support::Diagnostics& diags_;
  std::map<std::pair<import::GraphRef, std::vector<int>>, std::unique_ptr<Point>> points_;
  std::map<import::GraphRef, Point*> starts_;
  std::list<std::pair<Point*, std::string>> used_;  ///< kept stages, the last used first
  std::map<import::GraphRef, std::vector<std::string>> reads_of_bodies_;
  std::list<KnownTypes> known_types_;  ///< the last used first
  std::vector<std::unique_ptr<StageReport>> reports_;
  std::map<const StageReport*, KeptStage> kept_stages_;
};

}  // namespace collage::stages
