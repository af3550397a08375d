// SPDX-License-Identifier: Apache-2.0
// The host's compiler, with a count of what it made: which kinds of kernels, in which layouts, or how often it left a
// node to its reference kernel.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/codegen/jit.h"

namespace collage::testing {

/// `Conv depthwise, channels last` -> kernels.
using KernelCounts = std::map<std::string, int>;

class CountingJit : public codegen::Jit {
 public:
  CountingJit(std::unique_ptr<codegen::Jit> jit, KernelCounts* counts) : jit_(std::move(jit)), counts_(counts) {}

  using Jit::lower;
  runtime::Result<codegen::LoweredPartition> lower(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                                   const codegen::LowerOptions& options) override;
  runtime::KernelFunction find(std::string_view symbol) const override { return jit_->find(symbol); }
  std::string llvm_text() const override { return jit_->llvm_text(); }
  std::string asm_text() const override { return jit_->asm_text(); }
  std::string nest_text() const override { return jit_->nest_text(); }
  std::vector<codegen::CodeImage> images() const override { return jit_->images(); }

 private:
  std::unique_ptr<codegen::Jit> jit_;
  KernelCounts* counts_;
};

}  // namespace collage::testing
