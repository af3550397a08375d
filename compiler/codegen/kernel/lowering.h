// SPDX-License-Identifier: Apache-2.0
// The interface for lowerings of operators: the context of a partition, and the kernel under construction.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/codegen/kernel/row_moves.h"
#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/codegen/target/isa.h"
#include "compiler/codegen/target/machine.h"
#include "compiler/ir/graph/graph.h"
#include "compiler/ir/rules/generators.h"

namespace collage::codegen {

/// Nodes that become one kernel: an anchor with the pointwise nodes of its epilogue and perhaps a node that it takes
/// in, with pointwise nodes between them; only pointwise nodes; nodes that work along rows; or nodes that move rows.
struct Group {
  ir::NodeId anchor;                ///< invalid: none
  std::vector<ir::NodeId> nodes;    ///< all nodes, ascending
  ir::NodeId prologue;              ///< makes the anchor's operand, which is not stored; invalid: none
  std::vector<ir::NodeId> between;  ///< pointwise nodes from the prologue's result to that operand, ascending
  std::vector<ir::ValueId> stored;  ///< results with readers outside the group
  std::optional<ir::Generator> generator = {};  ///< that a rule names for the anchor; none: the first that takes it
  /// The shape of the rows, for a group over rows; else empty. With an anchor, the rows lie between two products, and
  /// the anchor is the second.
  ir::Shape rows;
  /// Set for a group that cuts rows, computes with them and joins them; it stores the last result.
  std::optional<RowMoves> moves = std::nullopt;
};

struct LoweringContext {
  const ir::Graph& graph;
  const Isa& isa;
  int threads = 1;
  std::vector<runtime::Tensor>& constants;  ///< of the partition
  std::vector<size_t>& temporaries;         ///< of the partition
  Numerics numerics = Numerics::F32;

  /// What the schedules of kernels follow from that compute in `number`.
  Machine machine(Element number = Element::F32) const {
    const auto width = static_cast<int>(runtime::size_of(number) / sizeof(float));
    return {isa.lanes / width, isa.registers, threads, isa.level2_cache / width};
  }
};

/// A kernel before it has machine code. Operands are the nest's buffers in order, without the scratch.
struct KernelSketch {
  Nest nest;
  std::vector<LoweredOperand> operands;
  int64_t extent = 1;
  int64_t grain = 1;
  size_t scratch_bytes = 0;
  std::optional<SharedMemory> in_place = std::nullopt;  ///< as LoweredKernel
  std::vector<LoweredCheck> checks = {};                ///< after the kernel
};

/// Allocates buffers: one per value, so that no two buffers of a kernel overlap.
class KernelBuilder {
 public:
  /// `number` is what the kernel computes in; vectors of wider numbers have fewer lanes.
  /// Kernels of f16 and bf16 compute in f32.
  explicit KernelBuilder(const LoweringContext& context, Element number = Element::F32)
      : context_(context),
        sketch_{Nest(lanes_of(context.isa, computed_in(number)), computed_in(number)), {}, 1, 1, 0} {}

  const LoweringContext& context() const { return context_; }
  Nest& nest() { return sketch_.nest; }
  /// A buffer of numbers, or of f16 or bf16, which every access converts; elements of other types are read and written
  /// by `load_as` and the like.
  int value_buffer(ir::ValueId value, bool written);
  /// A buffer of `element`s, which every access converts.
  int value_buffer_of(Element element, ir::ValueId value, bool written);
  int constant_buffer(runtime::Tensor data, std::string name);
  /// A constant that several kernels read: number `index` of LoweringContext::constants.
  int shared_constant_buffer(int index, std::string name);
  /// Memory that outlives the kernel: number `index` of LoweringContext::temporaries.
  int temporary_buffer(int index, std::string name, bool written);
  /// Adds memory that is private to the thread: the last buffer.
  int scratch_buffer(size_t bytes);
  /// Sets the parallel range and returns the kernel; `grain` is the smallest part for a separate thread.
  KernelSketch finish(int64_t extent, int64_t grain);

 private:
  static int lanes_of(const Isa& isa, Element number) {
    return isa.lanes * static_cast<int>(sizeof(float)) / static_cast<int>(runtime::size_of(number));
  }
  int add_operand(int buffer, LoweredOperand operand);
  int add_operand(std::string name, bool written, LoweredOperand operand);

  const LoweringContext& context_;
  KernelSketch sketch_;
  std::map<ir::ValueId, int> by_value_;
  int scratch_ = -1;
};

}  // namespace collage::codegen
