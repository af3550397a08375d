// SPDX-License-Identifier: Apache-2.0
// A model that runs in stages, from its inputs to its outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/stages/graph_runner.h"
#include "runtime/runner/model_ports.h"

namespace collage::stages {

class StagedModel {
 public:
  /// `first`: the model's first stage, which knows the types of its inputs. `bound`: inputs that are not given at each
  /// run.
  StagedModel(std::shared_ptr<const import::OnnxFile> file, const import::ImportedStage& first,
              std::map<std::string, ir::Tensor> bound, StageSettings settings, size_t kept,
              support::Diagnostics& diags);

  /// The ports. Only the names of outputs are known before a run.
  const runner::ModelPorts& ports() const { return ports_; }
  /// In the order of the ports. An output that is no tensor is a failure.
  runtime::Result<std::vector<ir::Tensor>> run(const std::vector<ir::Tensor>& inputs);
  std::vector<StageReport> reports() const { return runner_.reports(); }
  std::vector<KeptStage> kept_stages() const { return runner_.kept_stages(); }

 private:
  GraphRunner runner_;
  std::map<std::string, StageValue> bound_;  ///< their digests are made once
  runner::ModelPorts ports_;
};

/// A line for each stage: what it was made for, how it runs, what is run on the host after it.
std::string print(const std::vector<StageReport>& reports);

}  // namespace collage::stages
