// SPDX-License-Identifier: Apache-2.0
// A host compiler that compiles nothing: every node runs on its reference kernel. For tests of placement and of other
// backends, where machine code for the host would only take time.
#pragma once

#include "compiler/codegen/jit.h"

namespace collage::testing {

class ReferenceJit : public codegen::Jit {
 public:
  runtime::Result<codegen::LoweredPartition> lower(const ir::Graph&, const std::vector<ir::NodeId>& nodes,
                                                   const codegen::LowerOptions& options) override {
    if (!options.layouts.empty()) return runtime::Status::error("reference kernels know plain tensors only");
    codegen::LoweredPartition lowered;
    for (ir::NodeId node : nodes) lowered.calls.push_back(codegen::LoweredReference{node});
    return lowered;
  }
  runtime::KernelFunction find(std::string_view) const override { return nullptr; }
  std::string llvm_text() const override { return ""; }
  std::string asm_text() const override { return ""; }
  std::string nest_text() const override { return ""; }
  std::vector<codegen::CodeImage> images() const override { return {}; }
};

}  // namespace collage::testing
