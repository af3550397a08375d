// SPDX-License-Identifier: Apache-2.0
// A host partition => groups (fuse) => nests (lowerings) => machine code (object_code). Nests with equal text share a
// symbol: weights are operands, so repeated layers of a network are compiled once.
#include "compiler/codegen/jit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/codegen/layout/memory_order.h"
#include "compiler/codegen/llvm/executable_memory.h"
#include "compiler/codegen/llvm/object_code.h"
#include "compiler/codegen/lower/fuse.h"
#include "compiler/codegen/lower/lower_group.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/ir/op_def.h"

namespace collage::codegen {
namespace {

using runtime::Result;
using runtime::Status;

class JitImpl : public Jit {
 public:
  JitImpl(JitOptions options, std::unique_ptr<Assembler> assembler)
      : options_(std::move(options)), assembler_(std::move(assembler)) {}

  using Jit::lower;
  Result<LoweredPartition> lower(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                 const ValueLayouts& layouts) override {
    if (listener_) listener_(nodes.size());
    const bool is_plain = std::all_of(layouts.begin(), layouts.end(),
                                      [](const auto& entry) { return entry.second == runtime::kPlainLayout; });
    if (is_plain) return lower_plain(graph, nodes);
    Result<MemoryOrder> order = to_memory_order(graph, nodes, layouts);
    if (!order) return order.status();
    Result<LoweredPartition> partition = lower_plain(order->graph, order->graph.node_ids());
    if (!partition) return partition;
    if (Status status = name_originals(*order, &*partition); !status) return status;
    return partition;
  }

  Result<LoweredPartition> lower_plain(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
    LoweredPartition partition;
    LoweringContext context{graph, assembler_->isa(), options_.threads, partition.constants, partition.temporaries};
    std::vector<Group> groups = form_groups(graph, nodes);
    std::vector<std::vector<KernelSketch>> sketches;
    for (const Group& group : groups) sketches.push_back(lower_group(context, group));
    Status compiled = compile_new(sketches);
    if (!compiled) return compiled;
    for (size_t i = 0; i < groups.size(); ++i) {
      bool runs_by_reference = sketches[i].empty();
      for (const KernelSketch& sketch : sketches[i]) runs_by_reference = runs_by_reference || symbol_of(sketch).empty();
      if (runs_by_reference) {
        for (ir::NodeId node : groups[i].nodes)
          partition.calls.emplace_back(LoweredReference{node, whole_copy(graph, node)});
        continue;
      }
      for (KernelSketch& sketch : sketches[i]) {
        auto& kernel = std::get<LoweredKernel>(partition.calls.emplace_back(std::in_place_type<LoweredKernel>));
        kernel.symbol = symbol_of(sketch);
        kernel.name = describe(graph, groups[i]);
        kernel.operands = std::move(sketch.operands);
        kernel.extent = sketch.extent;
        kernel.grain = sketch.grain;
        kernel.scratch_bytes = sketch.scratch_bytes;
        kernel.in_place = sketch.in_place;
        for (const LoweredCheck& check : sketch.checks) partition.calls.emplace_back(check);
      }
    }
    return partition;
  }

  runtime::KernelFunction find(std::string_view symbol) const override {
    auto found = functions_.find(symbol);
    return found == functions_.end() ? nullptr : found->second;
  }

  std::string llvm_text() const override { return llvm_text_; }
  std::string asm_text() const override { return asm_text_; }
  std::string nest_text() const override { return nest_text_; }
  std::vector<CodeImage> images() const override { return images_; }

 private:
  /// Operands and results are values of the original graph again, each in its layout. Reference kernels, and results
  /// that share memory, know plain tensors only.
  static Status name_originals(const MemoryOrder& order, LoweredPartition* partition) {
    const auto layout_of = [&](ir::ValueId original) {
      const auto found = order.layouts.find(original);
      return found == order.layouts.end() ? std::string(runtime::kPlainLayout) : found->second;
    };
    std::map<ir::ValueId, int> own;  // constants
    for (auto& any : partition->calls) {
      if (std::holds_alternative<LoweredCheck>(any)) continue;
      auto* kernel = std::get_if<LoweredKernel>(&any);
      if (kernel == nullptr) {
        const ir::NodeId node = order.nodes[std::get<LoweredReference>(any).node.slot()];
        return Status::error(fmt::format("no code for node {} in this layout", node.index));
      }
      kernel->in_place.reset();
      for (LoweredOperand& operand : kernel->operands) {
        if (operand.kind != LoweredOperand::Kind::Value || !operand.value.is_valid()) continue;
        const ir::ValueId original = order.values[operand.value.slot()];
        if (original.is_valid()) {
          operand.value = original;
          operand.layout = layout_of(original);
          continue;
        }
        const auto [found, is_new] = own.emplace(operand.value, static_cast<int>(partition->constants.size()));
        if (is_new) partition->constants.push_back(order.graph.value(operand.value).constant->data);
        operand = {LoweredOperand::Kind::Constant, {}, found->second};
      }
    }
    return Status::ok();
  }

  // `%y Conv+Relu`
  static std::string describe(const ir::Graph& graph, const Group& group) {
    std::string text;
    for (ir::NodeId node : group.nodes) text += (text.empty() ? "" : "+") + std::string(graph.node(node).op->name);
    return "%" + graph.value(group.stored.front()).name + " " + text;
  }

  // Returns an empty name if the kernel cannot be compiled here.
  const std::string& symbol_of(const KernelSketch& sketch) const {
    return by_text_.find(to_string(sketch.nest))->second;
  }

  Status compile_new(const std::vector<std::vector<KernelSketch>>& sketches) {
    std::vector<const Nest*> nests;
    std::vector<std::string> symbols;
    std::vector<std::string> texts;
    for (const auto& kernels : sketches) {
      for (const KernelSketch& sketch : kernels) {
        std::string text = to_string(sketch.nest);
        std::string symbol = fmt::format("kernel_{}", by_text_.size());
        if (!by_text_.emplace(text, symbol).second) continue;
        nests.push_back(&sketch.nest);
        symbols.push_back(symbol);
        texts.push_back(std::move(text));
      }
    }
    if (nests.empty()) return Status::ok();
    Result<ObjectCode> code = assembler_->assemble(nests, symbols, options_.keep_text);
    if (code) return load(std::move(*code), symbols, texts);
    // One of them fails: find it and leave it to the reference kernels.
    for (size_t i = 0; i < nests.size(); ++i) {
      Result<ObjectCode> single = assembler_->assemble({nests[i]}, {symbols[i]}, options_.keep_text);
      if (!single) {
        by_text_[texts[i]].clear();
        continue;
      }
      Status loaded = load(std::move(*single), {symbols[i]}, {texts[i]});
      if (!loaded) return loaded;
    }
    return Status::ok();
  }

  Status load(ObjectCode code, const std::vector<std::string>& symbols, const std::vector<std::string>& texts) {
    Result<std::unique_ptr<ExecutableMemory>> memory = ExecutableMemory::create(code.text);
    if (!memory) return memory.status();
    for (const auto& [symbol, offset] : code.symbols) {
      const std::byte* entry = (*memory)->at(offset);
      functions_[symbol] = reinterpret_cast<runtime::KernelFunction>(reinterpret_cast<uintptr_t>(entry));
    }
    memory_.push_back(std::move(*memory));
    llvm_text_ += code.llvm_text;
    asm_text_ += code.asm_text;
    if (options_.keep_text) {
      for (size_t i = 0; i < texts.size(); ++i) nest_text_ += symbols[i] + ": " + texts[i];
    }
    images_.push_back({std::move(code.text), std::move(code.symbols)});
    return Status::ok();
  }

  JitOptions options_;
  std::unique_ptr<Assembler> assembler_;
  std::map<std::string, std::string> by_text_;
  std::map<std::string, runtime::KernelFunction, std::less<>> functions_;
  std::vector<std::unique_ptr<ExecutableMemory>> memory_;
  std::vector<CodeImage> images_;
  std::string llvm_text_;
  std::string asm_text_;
  std::string nest_text_;
};

}  // namespace

Result<std::unique_ptr<Jit>> Jit::create(const JitOptions& options) {
  Result<std::unique_ptr<Assembler>> assembler = Assembler::create(options.cpu);
  if (!assembler) return assembler.status();
  return std::unique_ptr<Jit>(std::make_unique<JitImpl>(options, std::move(*assembler)));
}

}  // namespace collage::codegen
