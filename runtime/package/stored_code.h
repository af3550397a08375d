// SPDX-License-Identifier: Apache-2.0
// Machine code that was stored: compiled once, here or on another machine of the same kind.
#pragma once

#include <map>
#include <memory>

#include "runtime/core/executable_memory.h"
#include "runtime/core/status.h"
#include "runtime/exec/code.h"

namespace collage::runtime {

class StoredCode : public Code {
 public:
  /// Copies the code to pages that may be executed. Fails where a symbol lies outside of it.
  static Result<std::shared_ptr<const StoredCode>> create(CodeImage image, std::vector<std::string> features);

  KernelFunction find(std::string_view symbol) const override;
  std::vector<CodeImage> images() const override { return {image_}; }
  std::vector<std::string> features() const override { return features_; }

 private:
  CodeImage image_;
  std::vector<std::string> features_;
  std::unique_ptr<ExecutableMemory> memory_;
  std::map<std::string, KernelFunction, std::less<>> functions_;
};

}  // namespace collage::runtime
