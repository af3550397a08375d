// SPDX-License-Identifier: Apache-2.0
// Computation on a result before it is stored: a group's pointwise nodes, evaluated wherever a lowering has lanes of
// the anchor's result. A group without an anchor is only an epilogue.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "compiler/codegen/kernel/lowering.h"
#include "compiler/codegen/kernel/pointwise.h"

namespace collage::codegen {

/// Positions of a result: one index per outer dimension, and one for the last `inner` dimensions together, along which
/// the lanes of a vector lie.
struct IterationSpace {
  ir::Shape shape;
  size_t inner = 1;

  size_t outer_rank() const { return shape.size() - inner; }
  int64_t outer_count() const;
  int64_t inner_count() const;
};

/// How an operand that broadcasts to a space is read.
struct OperandAccess {
  std::vector<int64_t> outer_strides;
  bool along_inner = false;  ///< contiguous along the lanes; false: equal for all of them
};

/// Returns nullopt if the operand is broadcast along some of the inner dimensions only.
std::optional<OperandAccess> operand_access(const ir::Shape& operand, const IterationSpace& space);

/// Index of a dense result's element at a position.
Expr result_index(const IterationSpace& space, const std::vector<Expr>& outer, const Expr& inner);

/// Returns false if dimension `d` lies along the lanes together with others.
bool has_lane_place(const IterationSpace& space, size_t d);
/// Where the lanes at a position stand along a dimension that has such places.
LanePlace lane_place(const IterationSpace& space, const std::vector<Expr>& outer, const Expr& inner, size_t d);

/// `index` into the outer dimensions together => one index per dimension.
std::vector<Expr> split_outer(Nest& nest, const IterationSpace& space, const Expr& index);

class Epilogue {
 public:
  Epilogue(KernelBuilder& builder, const Group& group, IterationSpace space);

  const IterationSpace& space() const { return space_; }
  /// Returns whether some node needs many registers.
  bool is_heavy() const { return heavy_; }
  /// Computes the group's nodes and stores results with readers outside, for `lanes` neighbours at a position. `anchor`
  /// is the anchor's result there (null: no anchor); `mask` excludes lanes. With `offsets` the lanes are not
  /// neighbours: they lie at these distances, as 32-bit patterns, from `inner`. Returns the lanes of all values that
  /// the group makes.
  std::map<ir::ValueId, Expr> at(const std::vector<Expr>& outer, const Expr& inner, int lanes, const Expr& anchor,
                                 const Expr& mask = nullptr, const Expr& offsets = nullptr);

 private:
  struct Operand {
    ir::ValueId value;  ///< of the group, if `buffer` is -1
    int buffer = -1;
    OperandAccess access;
    ir::DType dtype = ir::DType::F32;
  };
  struct Step {
    ir::NodeId node;
    std::vector<Operand> operands;
    std::vector<bool> present;
  };

  void add_batch_norm(Step& step);
  Operand outside_operand(int buffer, const ir::Shape& shape) const;
  Expr load_operand(const Operand& operand, const Expr& index, int lanes, const Expr& mask, const Expr& offsets) const;

  KernelBuilder& builder_;
  IterationSpace space_;
  ir::NodeId anchor_;
  std::vector<Step> steps_;
  std::map<ir::ValueId, int> stored_;
  bool heavy_ = false;
};

/// Passes each sum of a register block, result[row][vector], to `finish(row, vector, sum)`. Before a heavy epilogue the
/// block is stored to scratch memory (from byte `scratch_offset` on) and its rows become a loop: one basic block with
/// all rows would need too many registers.
void finish_block(KernelBuilder& builder, const Epilogue& epilogue, size_t scratch_offset,
                  const std::vector<std::vector<Expr>>& sums,
                  const std::function<void(const Expr& row, int vector, const Expr& sum)>& finish);

}  // namespace collage::codegen
