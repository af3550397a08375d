// SPDX-License-Identifier: Apache-2.0
// Runs of a model on inputs of any shape that one of its specialisations takes (plan/shape_table.h).
#pragma once

#include <list>
#include <memory>
#include <span>
#include <vector>

#include "runtime/api/shaped_inputs.h"

namespace collage::runtime {

class ShapedSession {
 public:
  /// `shaped`: null for a model of one shape. `threads`: of the host; 0: as many as it was compiled for. The `kept`
  /// specialisations that were used last stay loaded, at least one.
  ShapedSession(std::shared_ptr<const CompiledModel> compiled, std::shared_ptr<const ShapedModel> shaped, int threads,
                size_t kept);

  /// After a failure there are no results.
  Status run(std::span<const collage_array> inputs);
  /// Results of the last run, with the rows of its inputs.
  const std::vector<Tensor>& results() const { return results_; }
  size_t taken() const { return taken_; }

 private:
  struct Loaded {
    size_t index = 0;
    std::shared_ptr<const CompiledModel> model;
    std::unique_ptr<RecoveringExecution> execution;
  };

  Result<Loaded*> loaded(size_t index);

  ShapedInputs inputs_;
  int threads_;
  size_t kept_;
  std::list<Loaded> loaded_;  ///< the last used first
  std::vector<Tensor> results_;
  size_t taken_ = 0;
};

}  // namespace collage::runtime
