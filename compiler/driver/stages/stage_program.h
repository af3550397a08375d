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

#include "compiler/driver/compilation/compilation.h"
#include "compiler/driver/run/program.h"

namespace collage::driver {

/// What stages are compiled with.
struct StageSettings {
  std::filesystem::path model;
  std::shared_ptr<const RuleFiles> rules;
  Settings settings;
  passes::PassOptions passes{};
  bool compiles_little = false;  ///< also stages with little work
  bool checks = false;           ///< each run of compiled code is compared with the reference kernels
  WorkListener listener{};
};

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
  bool compile(bool has_run_time_shapes, const StageSettings& settings, support::Diagnostics& diags);

  ir::Graph graph_;  ///< as imported
  size_t operators_ = 0;
  bool checks_ = false;
  std::string backends_;
  std::unique_ptr<Compilation> compilation_;
  std::optional<Program> program_;
  std::unique_ptr<runtime::Executor> executor_;  ///< of `program_`, destroyed before it
};

}  // namespace collage::driver
