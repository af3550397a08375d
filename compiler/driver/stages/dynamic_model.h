// SPDX-License-Identifier: Apache-2.0
// A model that is specialised while it runs: to the shapes of its inputs, when it first meets them.
//
//     f32[2, 17]  =>  no specialisation for it yet: the model is specialised, placed and compiled, as a whole
//                     or, where values decide shapes, in stages
//     f32[2, 17]  =>  runs at once
//
// What is computed does not depend on which specialisations are kept.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/input/model_source.h"
#include "compiler/driver/stages/staged_model.h"

namespace collage::driver {

class DynamicModel {
 public:
  struct Output {
    std::string name;
    ir::Tensor tensor;
  };

  /// Keeps the `kept` specialisations that were used last, at least one. `diags`: of what is compiled; outlives this.
  DynamicModel(std::unique_ptr<const ModelSource> source, StageSettings settings, size_t kept,
               support::Diagnostics& diags);
  ~DynamicModel();

  /// The inputs that a run takes, with the dimensions that the model leaves open.
  const std::vector<ir::OpenInput>& inputs() const { return source_->inputs(); }
  /// In the order of the inputs. Returns nullopt after errors: shapes that contradict the model or each other, another
  /// dtype, a run that fails.
  std::optional<std::vector<Output>> run(const std::vector<ir::Tensor>& inputs);
  /// Specialisations made so far, those that were dropped too.
  size_t made() const { return made_; }

 private:
  struct Version;

  Version* version_for(const std::vector<ir::Tensor>& inputs);
  std::unique_ptr<Version> make_version(const std::vector<ir::Tensor>& inputs);

  std::unique_ptr<const ModelSource> source_;
  StageSettings settings_;
  size_t kept_;
  support::Diagnostics& diags_;
  std::list<std::unique_ptr<Version>> versions_;  ///< the last used first
  size_t made_ = 0;
};

}  // namespace collage::driver
