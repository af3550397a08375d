// SPDX-License-Identifier: Apache-2.0
// The only interface to LLVM: host partitions in, calls of compiled kernels out, without LLVM types.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/codegen/layout/value_layouts.h"
#include "compiler/codegen/target/generator_refusal.h"
#include "compiler/codegen/target/numerics.h"
#include "compiler/ir/graph/graph.h"
#include "runtime/core/layout.h"
#include "runtime/core/status.h"
#include "runtime/exec/code.h"
#include "runtime/support/file_cache.h"

namespace collage::codegen {

using runtime::CodeImage;

struct JitOptions {
  int threads = 1;                      ///< number of threads that share a kernel
  std::string cpu;                      ///< LLVM's name; empty: this machine
  bool runs_here = true;                ///< false: the code may use what `cpu` has, whatever this machine permits
  bool keep_text = false;               ///< keep LLVM IR and assembly for `llvm_text`, `asm_text`
  support::FileCache* cache = nullptr;  ///< of compiled code; outlives the Jit; null: none
  Numerics numerics = Numerics::F32;    ///< which algorithms the code may use
};

/// What a Jit has done so far. Kernels of equal loop nests are one.
struct JitStats {
  size_t kernels = 0;     ///< that there is code for
  size_t compiled = 0;    ///< by LLVM, with or without success
  size_t refused = 0;     ///< whose code cannot be used: a fault of a generator, or of the emitter
  size_t from_cache = 0;  ///< found there instead
  size_t code_bytes = 0;  ///< of all kernels
};

/// A buffer that a lowered partition reads or writes.
struct LoweredOperand {
  enum class Kind { Value, Constant, Temporary };
  Kind kind = Kind::Value;
  ir::ValueId value;  ///< Value: a value of the graph (boundary or inside the partition)
  int index = -1;     ///< Constant: into LoweredPartition::constants; Temporary: into its temporaries
  std::string layout = std::string(runtime::kPlainLayout);  ///< Value: how it lies
};

/// A call only copies `part` into `whole`, or out of it, in one piece: unnecessary if they share memory.
struct SharedMemory {
  ir::ValueId part;
  ir::ValueId whole;
  size_t offset = 0;  ///< of the part in the whole, in bytes
};

struct LoweredKernel {
  std::string symbol;
  std::vector<LoweredOperand> operands;
  int64_t extent = 1;  ///< as runtime::KernelCall
  int64_t grain = 1;
  size_t scratch_bytes = 0;
  std::optional<SharedMemory> in_place = std::nullopt;
  std::string name = {};  ///< its first result and its operators, for reports
};

/// A node that runs on its reference kernel, and why.
struct LoweredReference {
  ir::NodeId node;
  std::string reason{};   ///< `no generator has this operator`
  bool is_fault = false;  ///< a generator took it, and its code was refused (JitStats::refused)
  std::optional<SharedMemory> in_place = std::nullopt;
};

/// A kernel cannot fail. What it finds wrong it leaves in a temporary, an i64 index: the partition fails, with the
/// message of the reference kernels, unless -extent <= index < extent, or of a length 0 <= length <= extent. With
/// several wrong ones the message names any one, where the reference kernels name the first: threads find them in no
/// particular order.
struct LoweredCheck {
  enum class Kind { Index, Length };
  std::string op;  ///< whose index it is
  int temporary = -1;
  int64_t extent = 1;
  Kind kind = Kind::Index;
};

/// Host code of one partition. Values inside the partition that no call names need no memory: they are fused.
struct LoweredPartition {
  std::vector<std::variant<LoweredKernel, LoweredReference, LoweredCheck>> calls;
  std::vector<runtime::Tensor> constants;  ///< packed weights and the like; graph constants are operands of kind Value
  std::vector<size_t> temporaries;         ///< bytes of memory that one kernel writes for the next ones
};

/// Names of generators, by the nodes for which rules name them.
using GeneratorNames = std::map<ir::NodeId, std::string>;

/// How a partition is to be lowered.
struct LowerOptions {
  ValueLayouts layouts{};       ///< of values at its boundary that are not plain
  GeneratorNames generators{};  ///< names that no generator has say nothing
};

class Jit : public runtime::Code {
 public:
  /// Returns an error if LLVM has no target for this machine.
  static runtime::Result<std::unique_ptr<Jit>> create(const JitOptions& options);

  using LowerListener = std::function<bool(size_t nodes)>;
  /// Is called before each part of a partition is compiled, with its number of nodes, until another takes its place;
  /// the part fails where it returns false. Empty: none.
  void listen(LowerListener listener) { listener_ = std::move(listener); }

  /// Lowers and compiles the nodes (ascending ids, a convex set) of a host partition. The failure says why the code
  /// cannot read or write the layouts, or which generator does not take its node, or is refused.
  virtual runtime::Result<LoweredPartition> lower(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                                  const LowerOptions& options) = 0;
  runtime::Result<LoweredPartition> lower(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
    return lower(graph, nodes, {});
  }

  /// LLVM IR of all compiled kernels, with `keep_text`.
  virtual std::string llvm_text() const = 0;
  virtual std::string asm_text() const = 0;
  /// The loop nests of all compiled kernels.
  virtual std::string nest_text() const = 0;

  const JitStats& stats() const { return stats_; }

 protected:
  JitStats stats_;
  LowerListener listener_;
};

}  // namespace collage::codegen
