// SPDX-License-Identifier: Apache-2.0
#include "runtime/package/stored_code.h"

namespace collage::runtime {

Result<std::shared_ptr<const StoredCode>> StoredCode::create(CodeImage image, std::vector<std::string> features) {
  auto code = std::make_shared<StoredCode>();
  Result<std::unique_ptr<ExecutableMemory>> memory = ExecutableMemory::create(image.bytes);
  if (!memory) return memory.status();
  for (const auto& [symbol, offset] : image.symbols) {
    if (offset >= image.bytes.size()) return Status::error("kernel `" + symbol + "` lies outside the code");
    const auto entry = reinterpret_cast<uintptr_t>((*memory)->at(offset));
    if (!code->functions_.emplace(symbol, reinterpret_cast<KernelFunction>(entry)).second)
      return Status::error("kernel `" + symbol + "` is there twice");
  }
  code->memory_ = std::move(*memory);
  code->image_ = std::move(image);
  code->features_ = std::move(features);
  return std::shared_ptr<const StoredCode>(std::move(code));
}

KernelFunction StoredCode::find(std::string_view symbol) const {
  const auto found = functions_.find(symbol);
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace collage::runtime
