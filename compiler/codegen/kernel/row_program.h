// SPDX-License-Identifier: Apache-2.0
// Nodes that work along the last dimension: pointwise ones, reductions, softmax and layer normalisation, together for
// one row at a time. What a later pass over the row needs waits in scratch memory; single numbers stay in registers.
//
//   %m = ReduceMean(%x)  %d = Sub(%x, %m)  %q = Mul(%d, %d)  %s = ReduceMean(%q)  %y = Div(%d, %s)
//     => pass 0: fold x => m    pass 1: d = x - m, keep it, fold d d => s    pass 2: y = d / s
//
// Softmax and layer normalisation of other rows than `row_shape` takes are in lower/lower_rows.cpp, which says why.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// What a node is in a group over rows of shape [.., n]: wide results have that shape, narrow ones [.., 1].
enum class RowRole { None, Wide, Narrow, Fold, Softmax, LayerNorm };
RowRole row_role(const ir::Graph& graph, ir::NodeId node, const ir::Shape& rows);

/// Returns the shape of the rows along which a reduction over the last dimension, a softmax or a layer normalisation
/// works; nullopt for other nodes, and where rows are too short to fill vectors, too long to wait in the cache, or long
/// but too few for all threads: those have lowerings of their own (lower/lower_rows.cpp, lower/lower_reduce.cpp).
std::optional<ir::Shape> row_shape(const ir::Graph& graph, ir::NodeId node);

/// Where a value of the rows lies that is not in a buffer of its own.
struct RowPlace {
  ir::ValueId value;
  int buffer = -1;
  Expr base;  ///< of the row; whole vectors may be read and written there
};

class RowProgram {
 public:
  /// `nodes` ascend; `stored` are results with readers outside. Values in `placed` have no buffer.
  RowProgram(KernelBuilder& builder, const std::vector<ir::NodeId>& nodes, const std::vector<ir::ValueId>& stored,
             ir::Shape rows, std::vector<ir::ValueId> placed = {});
  RowProgram(const RowProgram&) = delete;

  const IterationSpace& space() const { return space_; }
  /// Elements of scratch memory for what waits.
  int64_t scratch_elements() const { return slots_ * padded_length(); }
  int64_t padded_length() const;
  /// Number of steps: what a vector of the row costs, roughly, for the grain of a loop over rows.
  int64_t work() const { return static_cast<int64_t>(steps_.size()); }
  /// Emits one row. `scratch` begins at element `scratch_base` of the scratch buffer.
  void emit(const std::vector<Expr>& outer, int scratch, const Expr& scratch_base,
            const std::vector<RowPlace>& places = {});

 private:
  struct Operand {
    bool present = true;
    int step = -1;    ///< that computes it
    int placed = -1;  ///< index of a placed value
    int buffer = -1;
    OperandAccess access;
    bool is_mask = false;
  };
  struct Step {
    enum class Kind { Wide, Narrow, Fold };
    Kind kind = Kind::Wide;
    std::vector<Operand> operands;
    /// Wide and Narrow: the result. Fold: what is folded, from the sum so far (the last operand).
    std::function<Expr(const std::vector<Expr>&)> value;
    bool is_heavy = false;
    float start = 0;
    Op combine = Op::FAdd;
    std::function<Expr(const Expr&)> finish;  ///< Fold: of the one number
    int pass = 0;                             ///< Wide, Fold: where it is computed; Narrow: before which
    int slot = -1;                            ///< Wide: where it waits; -1: nowhere
    int buffer = -1;                          ///< where it is stored
    int placed = -1;
  };
  class Emission;

  void add_node(ir::NodeId node);
  void add_softmax(const ir::Node& node, const Operand& x);
  void add_layer_norm(ir::NodeId node);
  int add_step(Step step);
  void add_result(ir::ValueId value, Step step);
  Operand of_step(int step) const;
  Operand operand(ir::NodeId node, size_t i);
  int ready_pass(const Operand& operand) const;
  void delay_steps();
  void assign_slots();

  KernelBuilder& builder_;
  IterationSpace space_;
  std::vector<ir::ValueId> placed_;
  std::vector<ir::ValueId> stored_;
  std::vector<Step> steps_;
  std::vector<std::pair<ir::ValueId, int>> by_value_;
  int64_t slots_ = 0;
  LanePlaces places_;  ///< of the vector at hand
};

}  // namespace collage::codegen
