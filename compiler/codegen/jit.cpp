// SPDX-License-Identifier: Apache-2.0
// A host partition => groups (fuse) => nests (lowerings) => machine code (object_code). Nests with equal text share a
// symbol: weights are operands, so repeated layers of a network are compiled once.
#include "compiler/codegen/jit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/codegen/layout/memory_order.h"
#include "compiler/codegen/llvm/cached_assembler.h"
#include "compiler/codegen/llvm/detect_isa.h"
#include "compiler/codegen/llvm/object_code.h"
#include "compiler/codegen/lower/fuse.h"
#include "compiler/codegen/lower/lower_group.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/checked_size.h"
#include "runtime/core/code_features.h"
#include "runtime/core/executable_memory.h"
#include "runtime/core/joined.h"

namespace collage::codegen {
namespace {

using runtime::ExecutableMemory;
using runtime::Result;
using runtime::Status;

bool uses_tiles(const std::vector<Stmt>& statements) {
  return std::any_of(statements.begin(), statements.end(), [](const Stmt& statement) {
    return statement.kind == Stmt::Kind::TileConfig || uses_tiles(statement.body);
  });
}

class JitImpl : public Jit {
 public:
  JitImpl(JitOptions options, std::unique_ptr<Assembler> assembler)
      : options_(std::move(options)), assembler_(std::move(assembler)) {}

  using Jit::lower;
  Result<LoweredPartition> lower(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                 const LowerOptions& options) override {
    if (listener_ && !listener_(nodes.size())) return Status::error("stopped");
    for (const auto& [node, generator] : options.generators) {
      const std::string refusal = generator_refusal(generator, options_.numerics, assembler_->isa().tile_obstacle);
      if (!refusal.empty()) return Status::error(fmt::format("generator `{}`: {}", generator, refusal));
    }
    const bool is_plain = std::all_of(options.layouts.begin(), options.layouts.end(),
                                      [](const auto& entry) { return entry.second == runtime::kPlainLayout; });
    if (is_plain) return lower_plain(graph, nodes, options.generators);
    Result<MemoryOrder> order = to_memory_order(graph, nodes, options.layouts);
    if (!order) return order.status();
    GeneratorNames generators;
    for (ir::NodeId node : order->graph.node_ids()) {
      const auto named = options.generators.find(order->nodes[node.slot()]);
      if (named != options.generators.end()) generators[node] = named->second;
    }
    Result<LoweredPartition> partition = lower_plain(order->graph, order->graph.node_ids(), generators);
    if (!partition) return partition;
    if (Status status = name_originals(*order, &*partition); !status) return status;
    return partition;
  }

  Result<LoweredPartition> lower_plain(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                       const GeneratorNames& generators) {
    LoweredPartition partition;
    LoweringContext context{
        graph, assembler_->isa(), options_.threads, partition.constants, partition.temporaries, options_.numerics};
    std::vector<Group> groups = form_groups(graph, nodes, generators, options_.numerics);
    std::vector<std::vector<KernelSketch>> sketches;
    for (const Group& group : groups) {
      sketches.push_back(lower_group(context, group));
      release_constants(graph, group);
      if (!sketches.back().empty() || !group.generator) continue;
      return Status::error(
          fmt::format("generator `{}` does not take {}", ir::name_of(*group.generator), describe(graph, group)));
    }
    const Result<std::vector<std::vector<const Kernel*>>> compiled = compile(sketches);
    if (!compiled) return compiled.status();
    for (size_t i = 0; i < groups.size(); ++i) {
      const std::vector<const Kernel*>& kernels = (*compiled)[i];
      const auto refused =
          std::find_if(kernels.begin(), kernels.end(), [](const Kernel* kernel) { return !kernel->refusal.empty(); });
      if (kernels.empty() || refused != kernels.end()) {
        for (ir::NodeId node : groups[i].nodes) {
          partition.calls.emplace_back(
              LoweredReference{node, kernels.empty() ? no_code_reason(graph, node) : (*refused)->refusal,
                               !kernels.empty(), whole_copy(graph, node)});
        }
        continue;
      }
      for (size_t k = 0; k < kernels.size(); ++k) {
        KernelSketch& sketch = sketches[i][k];
        auto& kernel = std::get<LoweredKernel>(partition.calls.emplace_back(std::in_place_type<LoweredKernel>));
        kernel.symbol = kernels[k]->symbol;
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
  /// Kernels do not distinguish instruction sets, except tiles, which few machines have.
  std::vector<std::string> features() const override {
    if (images_.empty()) return {};
    std::vector<std::string> features = features_of(options_.cpu);
    if (uses_tiles_) {
      for (const std::string& feature : runtime::tile_features()) features.push_back(feature);
    }
    return features;
  }

 private:
  /// Constants that were packed are seldom read again.
  static void release_constants(const ir::Graph& graph, const Group& group) {
    for (ir::NodeId node : group.nodes) {
      for (ir::ValueId value : graph.node(node).inputs) {
        if (value.is_valid() && graph.value(value).is_constant()) graph.value(value).constant->data.release_pages();
      }
    }
  }

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
    return "%" + graph.value(group.stored.front()).name + " " +
           runtime::joined(group.nodes, "+", [&](ir::NodeId node) { return graph.node(node).op->name; });
  }

  struct Kernel {
    std::string symbol;
    std::string refusal{};  ///< why its code cannot be used; empty: it can
  };

  /// Compiles those nests that no earlier one equals. Returns the kernels by group.
  Result<std::vector<std::vector<const Kernel*>>> compile(const std::vector<std::vector<KernelSketch>>& sketches) {
    std::vector<std::vector<const Kernel*>> kernels;
    CodeImage image;
    for (const std::vector<KernelSketch>& group : sketches) {
      kernels.emplace_back();
      for (const KernelSketch& sketch : group) kernels.back().push_back(compile(sketch.nest, &image));
    }
    stats_.compiled = assembler_->compiled();
    stats_.from_cache = assembler_->found();
    if (Status loaded = load(std::move(image)); !loaded) return loaded;
    return kernels;
  }

  /// Adds the nest's code to the image, if it is new.
  const Kernel* compile(const Nest& nest, CodeImage* image) {
    const auto [known, is_new] = by_text_.try_emplace(to_string(nest), fmt::format("kernel_{}", by_text_.size()));
    Kernel& kernel = known->second;
    if (!is_new) return &kernel;
    const std::string& symbol = kernel.symbol;
    const Result<ObjectCode> code = assembler_->assemble(nest, symbol, options_.keep_text);
    if (!code) {
      kernel.refusal = code.message();
      ++stats_.refused;
      return &kernel;
    }
    image->bytes.resize(runtime::align_up(image->bytes.size(), runtime::kCodeAlignment));
    image->symbols.emplace_back(symbol, image->bytes.size() + code->entry);
    image->bytes.insert(image->bytes.end(), code->bytes.begin(), code->bytes.end());
    uses_tiles_ = uses_tiles_ || uses_tiles(nest.body());
    ++stats_.kernels;
    stats_.code_bytes += code->bytes.size();
    llvm_text_ += code->llvm_text;
    asm_text_ += code->asm_text;
    if (options_.keep_text) nest_text_ += symbol + ": " + known->first;
    return &kernel;
  }

  Status load(CodeImage image) {
    if (image.symbols.empty()) return Status::ok();
    Result<std::unique_ptr<ExecutableMemory>> memory = ExecutableMemory::create(image.bytes);
    if (!memory) return memory.status();
    for (const auto& [symbol, offset] : image.symbols) {
      const std::byte* entry = (*memory)->at(offset);
      functions_[symbol] = reinterpret_cast<runtime::KernelFunction>(reinterpret_cast<uintptr_t>(entry));
    }
    memory_.push_back(std::move(*memory));
    images_.push_back(std::move(image));
    return Status::ok();
  }

  JitOptions options_;
  std::unique_ptr<Assembler> assembler_;
  std::map<std::string, Kernel> by_text_;
  std::map<std::string, runtime::KernelFunction, std::less<>> functions_;
  std::vector<std::unique_ptr<ExecutableMemory>> memory_;
  std::vector<CodeImage> images_;
  bool uses_tiles_ = false;
  std::string llvm_text_;
  std::string asm_text_;
  std::string nest_text_;
};

}  // namespace

Result<std::unique_ptr<Jit>> Jit::create(const JitOptions& options) {
  Result<std::unique_ptr<Assembler>> assembler = Assembler::create(options.cpu, options.runs_here);
  if (!assembler) return assembler.status();
  if (options.cache != nullptr) *assembler = cached(std::move(*assembler), *options.cache);
  return std::unique_ptr<Jit>(std::make_unique<JitImpl>(options, std::move(*assembler)));
}

}  // namespace collage::codegen
