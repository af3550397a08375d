// SPDX-License-Identifier: Apache-2.0
// From the text of a candidate or a placed model to a plan with its code: what the measuring process runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/targets.h"
#include "runtime/core/tensor.h"

namespace collage::measure {

struct BuiltText {
  std::unique_ptr<codegen::Jit> jit;
  ir::Placement placement;
  plan::BuiltPlan plan;
  std::vector<runtime::Tensor> inputs;  ///< random floats, zeros otherwise
};

/// Expects a placed model. What cannot be read or planned is an error with its reason.
runtime::Result<BuiltText> build_text(const std::string& text, const plan::PlanTargets& targets,
                                      const codegen::JitOptions& options);

codegen::JitOptions jit_options(const plan::PlanTargets& targets, int threads, support::FileCache* cache);

}  // namespace collage::measure
