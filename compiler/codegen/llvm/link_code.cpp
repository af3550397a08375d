// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/llvm/link_code.h"

#include <fmt/format.h>
#include <llvm/ADT/BitmaskEnum.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/exec/code.h"

namespace collage::codegen {
namespace {

using runtime::Result;
using runtime::Status;

LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

bool has(const llvm::orc::AllocGroup& group, llvm::orc::MemProt permission) {
  return (group.getMemProt() & permission) != llvm::orc::MemProt::None;
}

llvm::Error error(const std::string& text) {
  return llvm::make_error<llvm::StringError>(text, llvm::inconvertibleErrorCode());
}

/// Lays the sections of an object one after another, code first, for an address at which the block does not really lie.
class OneBlock : public llvm::jitlink::JITLinkMemoryManager {
 public:
  explicit OneBlock(uint64_t address) : address_(address) {}

  uint64_t address() const { return address_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

  void allocate(const llvm::jitlink::JITLinkDylib* /*library*/, llvm::jitlink::LinkGraph& graph,
                OnAllocatedFunction on_allocated) override {
    llvm::jitlink::BasicLayout layout(graph);
    uint64_t size = 0;
    const auto add = [&](llvm::jitlink::BasicLayout::Segment& segment) {
      segment.Addr = llvm::orc::ExecutorAddr(llvm::alignTo(address_ + size, segment.Alignment));
      size = segment.Addr.getValue() - address_ + segment.ContentSize + segment.ZeroFillSize;
    };
    for (const bool is_code : {true, false}) {
      for (auto& [group, segment] : layout.segments()) {
        if (has(group, llvm::orc::MemProt::Write)) {
          return on_allocated(error("compiled code has data that it writes"));
        }
        if (segment.Alignment > llvm::Align(runtime::kCodeAlignment)) {
          return on_allocated(error("compiled code is aligned to more than its block"));
        }
        if (has(group, llvm::orc::MemProt::Exec) == is_code) add(segment);
      }
    }
    bytes_.assign(size, std::byte{0});
    for (auto& [group, segment] : layout.segments()) {
      segment.WorkingMem = reinterpret_cast<char*>(bytes_.data()) + (segment.Addr.getValue() - address_);
    }
    if (llvm::Error failed = layout.apply()) return on_allocated(std::move(failed));
    on_allocated(std::make_unique<Finished>());
  }

  void deallocate(std::vector<FinalizedAlloc> blocks, OnDeallocatedFunction on_deallocated) override {
    for (FinalizedAlloc& block : blocks) block.release();
    on_deallocated(llvm::Error::success());
  }

 private:
  /// The bytes belong to the OneBlock: there is nothing to release.
  struct Finished : InFlightAlloc {
    void finalize(OnFinalizedFunction on_finalized) override {
      on_finalized(FinalizedAlloc(llvm::orc::ExecutorAddr()));
    }
    void abandon(OnAbandonedFunction on_abandoned) override { on_abandoned(llvm::Error::success()); }
  };

  uint64_t address_;
  std::vector<std::byte> bytes_;
};

struct Outcome {
  std::string failure;
  std::optional<size_t> entry;
  bool has_references = false;
};

/// JITLink owns its context, which therefore leaves what it learns in an Outcome.
class Context : public llvm::jitlink::JITLinkContext {
 public:
  Context(llvm::StringRef function, OneBlock& block, Outcome& outcome)
      : JITLinkContext(nullptr), function_(function), block_(block), outcome_(outcome) {}

  llvm::jitlink::JITLinkMemoryManager& getMemoryManager() override { return block_; }

  void notifyFailed(llvm::Error failed) override { outcome_.failure = llvm::toString(std::move(failed)); }

  void lookup(const LookupMap& symbols, std::unique_ptr<llvm::jitlink::JITLinkAsyncLookupContinuation> then) override {
    std::vector<std::string> names;
    for (const auto& [name, flags] : symbols) names.push_back("`" + name.str() + "`");
    std::sort(names.begin(), names.end());
    then->run(error(fmt::format("compiled code needs {} from outside", fmt::join(names, ", "))));
  }

  llvm::Error notifyResolved(llvm::jitlink::LinkGraph& graph) override {
    for (const llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
      if (!symbol->hasName() || symbol->getName() != function_) continue;
      outcome_.entry = symbol->getAddress().getValue() - block_.address();
    }
    for (const llvm::jitlink::Block* block : graph.blocks()) {
      outcome_.has_references = outcome_.has_references || block->edges_size() > 0;
    }
    return outcome_.entry ? llvm::Error::success() : error("compiled code has no entry");
  }

  void notifyFinalized(llvm::jitlink::JITLinkMemoryManager::FinalizedAlloc block) override { block.release(); }

 private:
  llvm::StringRef function_;
  OneBlock& block_;
  Outcome& outcome_;
};

struct Linked {
  ObjectCode code;
  bool has_references = false;
};

/// `link` calls back before it returns: nothing here is asynchronous.
Result<Linked> link_at(uint64_t address, llvm::MemoryBufferRef object, llvm::StringRef function) {
  auto graph = llvm::jitlink::createLinkGraphFromObject(object);
  if (!graph) return Status::error(llvm::toString(graph.takeError()));
  OneBlock block(address);
  Outcome outcome;
  llvm::jitlink::link(std::move(*graph), std::make_unique<Context>(function, block, outcome));
  if (!outcome.failure.empty()) return Status::error(outcome.failure);
  return Linked{{block.take(), *outcome.entry, {}, {}}, outcome.has_references};
}

}  // namespace

// Code that is the same at two addresses, one step of alignment apart, is the same at all.
Result<ObjectCode> link_code(llvm::MemoryBufferRef object, llvm::StringRef function) {
  constexpr uint64_t kAddress = uint64_t{1} << 20;
  Result<Linked> linked = link_at(kAddress, object, function);
  if (!linked) return linked.status();
  if (linked->has_references) {
    const Result<Linked> moved = link_at(kAddress + runtime::kCodeAlignment, object, function);
    if (!moved) return moved.status();
    if (moved->code.bytes != linked->code.bytes) return Status::error("compiled code depends on its address");
  }
  return std::move(linked->code);
}

}  // namespace collage::codegen
