// SPDX-License-Identifier: Apache-2.0
// One stage made ready to run: its graph on the reference kernels where there is little to do, else compiled and placed
// as any model.
//
// Which of the two, and how much a search may cost:
//
//     little work                            reference kernels: compiling would take longer than many runs; more work
//                                            is little where values of the run decide shapes
//     shapes that values of the run decide   compiled, with estimated costs: the next run may have other shapes
//     else                                   compiled, with the user's settings
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compilation/compilation.h"
#include "compiler/program/program.h"

namespace collage::stages {

/// What stages are compiled with.
struct StageSettings {
  std::filesystem::path model;
  std::shared_ptr<const request::RuleFiles> rules;
  request::Settings settings;
  passes::PassOptions passes{};
  bool compiles_little = false;  ///< what is compiled is a whole model: with little work, too, and with all constraints
  bool checks = false;           ///< each run of compiled code is compared with the reference kernels
  int integer_steps = 0;         ///< by which integers may be apart there
  bool keeps_stages = false;     ///< for commands about single stages (KeptStage)
  runner::WorkListener listener{};
};

/// The settings for one stage: constraints on nodes that it does not have are about other stages.
request::Settings settings_of_stage(const request::Settings& settings, const ir::Graph& graph, bool has_run_time_shapes,
                                    const support::Diagnostics& diags);

/// Whether a stage with these settings is compiled: it has work, or constraints. Else the reference kernels run it.
bool needs_compiling(const ir::Graph& graph, bool has_run_time_shapes, const request::Settings& of_stage);

class StageProgram {
 public:
  /// Returns null after errors.
  static std::unique_ptr<StageProgram> make(ir::Graph graph, bool has_run_time_shapes, const StageSettings& settings,
                                            support::Diagnostics& diags);

  runtime::Result<std::vector<ir::Tensor>> run(const std::vector<ir::Tensor>& inputs);

  const ir::Graph& graph() const { return graph_; }
  bool is_compiled() const { return executor_ != nullptr; }
  size_t operators() const { return operators_; }
  /// `host 3 partitions, onednn 2`; of compiled code.
  const std::string& backends() const { return backends_; }

 private:
  StageProgram() = default;
  bool compile(request::Settings settings, const StageSettings& from, support::Diagnostics& diags);

  ir::Graph graph_;  ///< as imported
  size_t operators_ = 0;
  bool checks_ = false;
  int integer_steps_ = 0;
  std::string backends_;
  std::unique_ptr<compilation::Compilation> compilation_;
  std::optional<program::Program> program_;
  std::unique_ptr<runtime::Executor> executor_;  ///< of `program_`, destroyed before it
};

}  // namespace collage::stages
