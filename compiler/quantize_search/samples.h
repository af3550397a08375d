// SPDX-License-Identifier: Apache-2.0
// The inputs of many runs of a model, from files: batches, folders of files, several files one after another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/runner/bind_inputs.h"
#include "runtime/runner/model_ports.h"
#include "runtime/runner/run_request.h"
#include "runtime/support/diagnostic.h"

namespace collage::quantize_search {

class Samples {
 public:
  int64_t count() const { return count_; }
  /// The inputs of run `index`, in the order of the model's inputs.
  std::vector<runtime::Tensor> inputs(int64_t index) const;

 private:
  friend std::optional<Samples> read_samples(const std::vector<runner::NamedFile>& files,
                                             const runner::RunRequest& request, const runner::ModelPorts& model,
                                             const std::string& option, support::Diagnostics& diags);
  runner::ModelPorts model_;
  std::vector<std::vector<runner::BoundInput>> files_;  ///< by input
  int64_t count_ = 0;
};

/// Every input needs as many samples; a folder stands for the files in it, by name. Scale and formats of files come
/// from `request`. Returns nullopt after an error, reported at `option`: an element that is NaN or infinite is one.
std::optional<Samples> read_samples(const std::vector<runner::NamedFile>& files, const runner::RunRequest& request,
                                    const runner::ModelPorts& model, const std::string& option,
                                    support::Diagnostics& diags);

}  // namespace collage::quantize_search
