// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN. One product of W with the inputs of all steps, by the lowering of MatMul; then the recurrence:
//
//     for step  for block of hidden units:  sums = h Rt + (x Wt + bias)   for the block's gates, k innermost
//                                           h, c = cell(sums)             in vectors
//
// h has two copies, one to read and one to write. A task of the recurrence runs all steps of a part of the batch in one
// direction. Where that gives fewer tasks than threads and a step is long enough to share, each step is a call of its
// own, whose tasks are blocks of hidden units: each thread then keeps its part of R in its cache.
//
// A computed length that is not within 0 to the number of steps is moved there and noted: a check fails after the
// kernel that makes the states ready (LoweredCheck in jit.h).
#include <algorithm>
#include <array>
#include <utility>

#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/generators/recurrent_cell.h"
#include "compiler/codegen/lower/checks.h"
#include "compiler/codegen/lower/fuse.h"
#include "compiler/codegen/lower/lower_group.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/lower/recurrence.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/schedule/step_block.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

/// Least number of multiply-accumulates of a task for a separate thread.
constexpr int64_t kRecurrentGrain = 1 << 16;
/// Least number of multiply-accumulates of a step that threads share: it takes several times as long as their start.
constexpr int64_t kSharedStepWork = 1 << 17;
/// Most steps that are calls of their own.
constexpr int64_t kMostStepCalls = 2048;

/// What the kernels of one node share.
struct RecurrentPlan {
  Recurrence r;
  std::vector<GateRange> products;
  HiddenBlocks blocks;
  RowSplit rows;
  int64_t part_blocks = 1;  ///< blocks of rows of a task that runs all steps
  int64_t parts = 1;
  ir::ValueId y, y_h, y_c;           ///< invalid: not stored
  std::vector<LoweredCheck> checks;  ///< of computed lengths: one, else none
  // Temporaries.
  int from_x = -1;  ///< x Wt + bias: [row of X][direction][block][gate][width]
  int h = -1;       ///< [2][direction][batch][padded]: read by even steps, by odd steps
  int c = -1;       ///< [direction][batch][padded]; -1: no LSTM
  int reset = -1;   ///< r * h, as c; -1: one product per step
  int update = -1;  ///< z, as reset
  // Constants, as indices.
  std::vector<int> weights;  ///< by product
  int peepholes = -1;        ///< [direction][block][3][width]
  int late_bias = -1;        ///< [direction][block][1][width]: GRU, of the product that the reset gate multiplies

  int64_t state_floats() const { return r.directions() * r.batch * blocks.padded(); }
  int64_t columns() const { return r.directions() * r.gates * blocks.padded(); }
};

/// Writes the code of steps into one kernel.
class StepWriter {
 public:
  StepWriter(const LoweringContext& context, const RecurrentPlan& plan)
      : plan_(plan), r_(plan.r), builder_(context), nest_(builder_.nest()), lanes_(nest_.lanes()) {
    from_x_ = builder_.temporary_buffer(plan.from_x, "from_x", false);
    h_ = builder_.temporary_buffer(plan.h, "h", true);
    if (plan.c >= 0) c_ = builder_.temporary_buffer(plan.c, "c", true);
    if (plan.reset >= 0) reset_ = builder_.temporary_buffer(plan.reset, "reset", true);
    if (plan.update >= 0) update_ = builder_.temporary_buffer(plan.update, "update", true);
    for (int index : plan.weights) weights_.push_back(shared_constant(index, "r"));
    if (plan.peepholes >= 0) peepholes_ = shared_constant(plan.peepholes, "p");
    if (plan.late_bias >= 0) late_bias_ = shared_constant(plan.late_bias, "bias");
    if (r_.lengths.is_valid()) lengths_ = builder_.value_buffer(r_.lengths, false);
    if (plan.y.is_valid()) y_ = builder_.value_buffer(plan.y, true);
    if (plan.y_h.is_valid()) y_h_ = builder_.value_buffer(plan.y_h, true);
    if (plan.y_c.is_valid()) y_c_ = builder_.value_buffer(plan.y_c, true);
  }

  /// All steps; tasks are (direction, part of the batch), directions from `first` on.
  KernelSketch all_steps(int64_t first, int64_t directions) {
    functions_ = &r_.spec.functions[static_cast<size_t>(first)];
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    direction_ = nest_.let("direction", add(div(task, plan_.parts), first));
    const Expr part = nest_.let("part", rem(task, plan_.parts));
    first_block_ = nest_.let("first", mul(part, plan_.part_blocks));
    last_block_ = nest_.let("last", min(add(first_block_, plan_.part_blocks), int_const(plan_.rows.blocks())));
    step_ = nest_.begin_for("step", int_const(0), int_const(r_.steps));
    for (size_t product = 0; product < plan_.products.size(); ++product) {
      block_ = nest_.begin_for("block", int_const(0), int_const(plan_.blocks.count));
      emit_product(product);
      nest_.end_for();
    }
    nest_.end_for();
    nest_.end_for();
    const int64_t work = r_.steps * r_.gates * r_.hidden * r_.hidden * plan_.part_blocks * plan_.rows.rows;
    return builder_.finish(directions * plan_.parts, kRecurrentGrain / std::max<int64_t>(1, work));
  }

  /// One product of the step whose number is the constant operand `step`; tasks are (direction, block of hidden units).
  KernelSketch one_step(int64_t first, int64_t directions, size_t product, int step) {
    functions_ = &r_.spec.functions[static_cast<size_t>(first)];
    step_ = nest_.let("step", load_int(shared_constant(step, "step"), int_const(0), 8));
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    direction_ = nest_.let("direction", add(div(task, plan_.blocks.count), first));
    block_ = nest_.let("block", rem(task, plan_.blocks.count));
    first_block_ = int_const(0);
    last_block_ = int_const(plan_.rows.blocks());
    emit_product(product);
    nest_.end_for();
    const int64_t work = plan_.products[product].count * plan_.blocks.width * r_.hidden * r_.batch;
    return builder_.finish(directions * plan_.blocks.count, kRecurrentGrain / std::max<int64_t>(1, work));
  }

 private:
  int shared_constant(int index, const char* name) { return builder_.shared_constant_buffer(index, name); }

  void emit_product(size_t product) {
    const Expr tall = min(last_block_, int_const(plan_.rows.tall));
    emit_rows(product, first_block_, tall, plan_.rows.rows);
    if (plan_.rows.low == 0) return;
    emit_rows(product, max(first_block_, int_const(plan_.rows.tall)), last_block_, plan_.rows.rows - 1);
  }

  void emit_rows(size_t product, const Expr& begin, const Expr& end, int64_t height) {
    if (height == 0) return;
    const GateRange gates = plan_.products[product];
    const int64_t step_floats = gates.count * plan_.blocks.width;
    const Expr at = nest_.begin_for("rows", begin, end);
    const bool is_tall = height == plan_.rows.rows;
    row_ = nest_.let("row", is_tall ? mul(at, height) : add(mul(at, height), plan_.rows.tall));
    BroadcastOperand a;
    a.buffer = product == 0 ? h_ : reset_;
    const Expr state = mul(add(mul(direction_, r_.batch), row_), plan_.blocks.padded());
    a.base = nest_.let("a0", product == 0 ? add(old_h(), state) : state);
    a.row_stride = plan_.blocks.padded();
    a.k_stride = 1;
    VectorOperand b;
    b.buffer = weights_[product];
    const Expr panel = add(mul(direction_, plan_.blocks.count), block_);
    b.base = nest_.let("b0", mul(panel, r_.hidden * step_floats));
    b.k_stride = step_floats;
    const auto vectors = static_cast<int>(step_floats / lanes_);
    const int unroll = unroll_of(height, vectors);
    const auto sums = emit_block(nest_, {static_cast<int>(height), vectors, unroll}, r_.hidden, a, b);
    // A cell needs many registers: one vector of units at a time.
    scratch_ = builder_.scratch_buffer(static_cast<size_t>(height * step_floats) * sizeof(float));
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t v = 0; v < vectors; ++v) {
        nest_.store(scratch_, int_const(i * step_floats + v * lanes_),
                    sums[static_cast<size_t>(i)][static_cast<size_t>(v)]);
      }
    }
    const Expr i = nest_.begin_for("i", int_const(0), int_const(height));
    batch_row_ = nest_.let("b", add(row_, i));
    sums_at_ = nest_.let("sums", mul(i, step_floats));
    state_row_ = nest_.let("state", mul(add(mul(direction_, r_.batch), batch_row_), plan_.blocks.padded()));
    length_ = lengths_ < 0 ? int_const(r_.steps) : nest_.let("length", length_of(batch_row_));
    lane_ = nest_.begin_for("lane", int_const(0), int_const(plan_.blocks.width), lanes_);
    unit_ = nest_.let("unit", add(mul(block_, plan_.blocks.width), lane_));
    unit_mask_ = r_.hidden == plan_.blocks.padded()
                     ? nullptr
                     : nest_.let("mask", nest_.lanes_below(sub(int_const(r_.hidden), unit_)));
    emit_cell(product);
    nest_.end_for();
    nest_.end_for();
    nest_.end_for();
  }

  /// Behind the end of a shorter sequence the state stays and the result is 0.
  void emit_cell(size_t product) {
    if (lengths_ < 0) {
      emit_live(product);
      return;
    }
    nest_.begin_if(less(step_, length_));
    emit_live(product);
    nest_.end_if();
    if (product + 1 < plan_.products.size()) return;
    nest_.begin_if(less(length_, add(step_, 1)));
    finish_unit(step_, nest_.zero(lanes_), nest_.let("h", load(h_, add(old_h(), state_unit()), lanes_)),
                c_ < 0 ? nullptr : nest_.let("c", load(c_, state_unit(), lanes_)));
    nest_.end_if();
  }

  void emit_live(size_t product) {
    // Backward directions start at the end.
    const Expr back = sub(add(length_, -1), step_);
    Expr time = r_.spec.starts_backward ? back : step_;
    if (r_.directions() == 2) time = add(step_, mul(direction_, sub(back, step_)));
    time = nest_.let("t", time);
    const Expr x_row =
        r_.spec.batch_first ? add(mul(batch_row_, r_.steps), time) : add(mul(time, r_.batch), batch_row_);
    const Expr block = add(mul(direction_, plan_.blocks.count), block_);
    const Expr gates = add(mul(x_row, plan_.columns()), mul(block, r_.gates * plan_.blocks.width));
    x_at_ = nest_.let("x_at", add(gates, lane_));
    per_block_ = nest_.let("per_block", add(mul(block, plan_.blocks.width), lane_));
    const Expr h = nest_.let("h", load(h_, add(old_h(), state_unit()), lanes_));
    switch (r_.kind) {
      case runtime::CellKind::Lstm: return emit_lstm(time);
      case runtime::CellKind::Gru: return emit_gru(product, time, h);
      case runtime::CellKind::Rnn: {
        const Expr next = function(0, add_floats(from_x(0), from_h(0)));
        return finish_unit(time, next, next, nullptr);
      }
    }
  }

  void emit_lstm(const Expr& time) {
    LstmVectors in;
    for (int64_t gate = 0; gate < 4; ++gate) in.gates.push_back(add_floats(from_x(gate), from_h(gate)));
    const Expr block = add(mul(direction_, plan_.blocks.count), block_);
    for (int64_t gate = 0; peepholes_ >= 0 && gate < 3; ++gate) {
      const Expr index = add(mul(add(mul(block, 3), gate), plan_.blocks.width), lane_);
      in.peepholes.push_back(nest_.let("p", load(peepholes_, index, lanes_)));
    }
    in.c = nest_.let("c", load(c_, state_unit(), lanes_));
    const LstmResult result = lstm_cell(nest_, *functions_, r_.spec.clip, r_.coupled, in);
    finish_unit(time, result.h, result.h, result.c);
  }

  void emit_gru(size_t product, const Expr& time, const Expr& h) {
    if (!r_.has_two_products()) {
      const Expr z = function(0, add_floats(from_x(0), from_h(0)));
      const Expr reset = function(0, add_floats(from_x(1), from_h(1)));
      Expr inner = from_h(2);
      if (late_bias_ >= 0) inner = add_floats(inner, load(late_bias_, per_block_, lanes_));
      const Expr next = gru_mix(nest_, z, function(1, fma(reset, inner, from_x(2))), h);
      return finish_unit(time, next, next, nullptr);
    }
    if (product == 0) {
      nest_.store(update_, state_unit(), function(0, add_floats(from_x(0), from_h(0))));
      const Expr reset = function(0, add_floats(from_x(1), from_h(1)));
      nest_.store(reset_, state_unit(), binary(Op::FMul, reset, h));
      return;
    }
    const Expr fresh = function(1, add_floats(from_x(2), from_h(0)));
    const Expr z = nest_.let("z", load(update_, state_unit(), lanes_));
    const Expr next = gru_mix(nest_, z, fresh, h);
    finish_unit(time, next, next, nullptr);
  }

  /// Stores the result `y` of time `time`, and the states after the step.
  void finish_unit(const Expr& time, const Expr& y, const Expr& h, const Expr& c) {
    nest_.store(h_, add(new_h(), state_unit()), h);
    if (c) nest_.store(c_, state_unit(), c);
    if (y_ >= 0) {
      const Expr row = r_.spec.batch_first
                           ? add(mul(add(mul(batch_row_, r_.steps), time), r_.directions()), direction_)
                           : add(mul(add(mul(time, r_.directions()), direction_), r_.batch), batch_row_);
      nest_.store(y_, add(mul(row, r_.hidden), unit_), y, unit_mask_);
    }
    if (y_h_ < 0 && y_c_ < 0) return;
    nest_.begin_if(less(int_const(r_.steps - 2), step_));
    const Expr row = r_.spec.batch_first ? add(mul(batch_row_, r_.directions()), direction_)
                                         : add(mul(direction_, r_.batch), batch_row_);
    const Expr at = add(mul(row, r_.hidden), unit_);
    if (y_h_ >= 0) nest_.store(y_h_, at, h, unit_mask_);
    if (y_c_ >= 0) nest_.store(y_c_, at, c, unit_mask_);
    nest_.end_if();
  }

  Expr length_of(const Expr& batch_row) const {
    const Expr length = load_int(lengths_, batch_row, 4);
    return r_.checks_lengths ? min(max(length, int_const(0)), int_const(r_.steps)) : length;
  }
  Expr state_unit() const { return add(state_row_, unit_); }
  Expr old_h() const { return mul(rem(step_, 2), plan_.state_floats()); }
  Expr new_h() const { return mul(rem(add(step_, 1), 2), plan_.state_floats()); }
  Expr from_x(int64_t gate) { return load(from_x_, add(x_at_, gate * plan_.blocks.width), lanes_); }
  Expr from_h(int64_t gate) { return load(scratch_, add(add(sums_at_, lane_), gate * plan_.blocks.width), lanes_); }
  Expr add_floats(const Expr& a, const Expr& b) { return nest_.let("sum", binary(Op::FAdd, a, b)); }
  Expr function(size_t which, const Expr& x) { return cell_function(nest_, (*functions_)[which], r_.spec.clip, x); }

  const RecurrentPlan& plan_;
  const Recurrence& r_;
  KernelBuilder builder_;
  Nest& nest_;
  int lanes_;
  const std::vector<runtime::CellFunction>* functions_ = nullptr;
  int from_x_ = -1, h_ = -1, c_ = -1, reset_ = -1, update_ = -1, peepholes_ = -1, late_bias_ = -1, lengths_ = -1;
  int y_ = -1, y_h_ = -1, y_c_ = -1, scratch_ = -1;
  std::vector<int> weights_;
  Expr direction_, step_, block_, first_block_, last_block_, row_;
  Expr batch_row_, length_, state_row_, sums_at_, x_at_, per_block_, lane_, unit_, unit_mask_;
};

class RecurrentLowering {
 public:
  RecurrentLowering(const LoweringContext& context, const Group& group) : context_(context) {
    const ir::Node& node = context.graph.node(group.anchor);
    plan_.r = *describe_recurrence(context.graph, group.anchor);
    if (plan_.r.is_narrow) widen_constants();
    if (plan_.r.checks_lengths) {
      plan_.checks = {make_check(context, node.op->name, plan_.r.steps, LoweredCheck::Kind::Length)};
    }
    auto stored = [&](size_t i) {
      if (i >= node.outputs.size()) return ir::ValueId();
      const bool is_stored = std::count(group.stored.begin(), group.stored.end(), node.outputs[i]) > 0;
      return is_stored ? node.outputs[i] : ir::ValueId();
    };
    plan_.y = stored(0);
    plan_.y_h = stored(1);
    plan_.y_c = stored(2);
  }

  std::vector<KernelSketch> run() {
    choose_sizes();
    make_operands();
    std::vector<KernelSketch> kernels;
    if (!project_inputs(&kernels)) return {};
    if (!plan_.checks.empty()) kernels.push_back(clear_checks(context_, plan_.checks));
    kernels.push_back(initial_states());
    const Recurrence& r = plan_.r;
    const bool is_alike = r.directions() == 1 || same_functions(r.spec.functions[0], r.spec.functions[1]);
    const int64_t together = is_alike ? r.directions() : 1;
    for (int64_t d = 0; d < r.directions(); d += together) {
      if (steps_are_shared(together)) {
        add_steps(d, together, &kernels);
      } else {
        kernels.push_back(StepWriter(context_, plan_).all_steps(d, together));
      }
    }
    return kernels;
  }

 private:
  static bool same_functions(const std::vector<runtime::CellFunction>& a, const std::vector<runtime::CellFunction>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      return x.name == y.name && x.alpha == y.alpha && x.beta == y.beta;
    });
  }

  void widen_constants() {
    const runtime::Tensor** given[] = {&plan_.r.w, &plan_.r.r, &plan_.r.bias, &plan_.r.peepholes};
    for (size_t i = 0; i < wide_.size(); ++i) {
      if (*given[i] == nullptr) continue;
      wide_[i] = widen_weights(**given[i]);
      *given[i] = &wide_[i];
    }
  }

  void choose_sizes() {
    const Recurrence& r = plan_.r;
    plan_.products = {{0, r.gates}};
    if (r.has_two_products()) plan_.products = {{0, 2}, {2, 1}};
    const int64_t wanted = ceil_div(context_.threads, r.directions());
    const int64_t parts = std::clamp<int64_t>(wanted, 1, r.batch);
    StepShape shape{r.batch, ceil_div(r.batch, parts), r.hidden, {}};
    for (const GateRange& gates : plan_.products) shape.gates.push_back(gates.count);
    const StepBlock block = choose_step_block(shape, context_.machine());
    plan_.blocks.width = block.vectors * context_.isa.lanes;
    plan_.blocks.count = ceil_div(r.hidden, plan_.blocks.width);
    plan_.rows = split_rows(r.batch, block.rows);
    plan_.part_blocks = ceil_div(plan_.rows.blocks(), parts);
    plan_.parts = ceil_div(plan_.rows.blocks(), plan_.part_blocks);
  }

  int temporary(int64_t floats) {
    context_.temporaries.push_back(static_cast<size_t>(floats) * sizeof(float));
    return static_cast<int>(context_.temporaries.size()) - 1;
  }

  int constant(runtime::Tensor data) {
    context_.constants.push_back(std::move(data));
    return static_cast<int>(context_.constants.size()) - 1;
  }

  void make_operands() {
    const Recurrence& r = plan_.r;
    plan_.from_x = temporary(r.steps * r.batch * plan_.columns());
    plan_.h = temporary(2 * plan_.state_floats());
    if (r.has_cell()) plan_.c = temporary(plan_.state_floats());
    if (r.has_two_products()) {
      plan_.reset = temporary(plan_.state_floats());
      plan_.update = temporary(plan_.state_floats());
    }
    for (const GateRange& gates : plan_.products) {
      plan_.weights.push_back(constant(pack_state_weights(r, plan_.blocks, gates)));
    }
    if (r.peepholes != nullptr) {
      const float* p = r.peepholes->as<float>().data();
      plan_.peepholes = constant(pack_units(r, plan_.blocks, 3, [&](int64_t d, int64_t gate, int64_t unit) {
        return p[(d * 3 + gate) * r.hidden + unit];
      }));
    }
    if (r.bias != nullptr && r.kind == runtime::CellKind::Gru && r.reset_after_matmul) {
      const float* bias = r.bias->as<float>().data();
      plan_.late_bias = constant(pack_units(
          r, plan_.blocks, 1, [&](int64_t d, int64_t, int64_t unit) { return bias[(d * 6 + 5) * r.hidden + unit]; }));
    }
  }

  /// from_x = MatMul(x, w) + bias, as the MatMul's lowering computes it; of f16 and bf16 MatMul(Cast(x), w) + bias, all
  /// in f32.
  bool project_inputs(std::vector<KernelSketch>* kernels) {
    const Recurrence& r = plan_.r;
    ir::Graph graph;
    const ir::TensorType& x = context_.graph.value(r.x).type;
    const ir::TensorType y{ir::DType::F32, {x.shape[0], x.shape[1], plan_.columns()}};
    const ir::ValueId given = graph.add_input("x", x);
    ir::ValueId operand = given;
    int wide = -1;
    if (r.is_narrow) {
      ir::AttrMap to;
      to.set("to", int64_t{runtime::onnx_of(ir::DType::F32)});
      const ir::NodeId cast =
          graph.add_node(*ir::find_op("Cast"), {given}, to, {"wide"}, {ir::TensorType{ir::DType::F32, x.shape}});
      operand = graph.first_output(cast);
      wide = temporary(runtime::element_count(x.shape));
    }
    const ir::ValueId w = graph.add_constant("w", ir::make_constant(pack_input_weights(r, plan_.blocks)));
    ir::NodeId last = graph.add_node(*ir::find_op("MatMul"), {operand, w}, {}, {"product"}, {y});
    if (r.bias != nullptr) {
      runtime::Tensor packed = pack_bias(r, plan_.blocks);
      runtime::Tensor row(runtime::DType::F32, {plan_.columns()});
      std::copy_n(packed.as<float>().data(), plan_.columns(), row.as<float>().data());
      const ir::ValueId bias = graph.add_constant("b", ir::make_constant(std::move(row)));
      last = graph.add_node(*ir::find_op("Add"), {graph.first_output(last), bias}, {}, {"sum"}, {y});
    }
    graph.mark_output(graph.first_output(last));
    const LoweringContext own{graph, context_.isa, context_.threads, context_.constants, context_.temporaries};
    for (const Group& group : form_groups(graph, graph.node_ids())) {
      std::vector<KernelSketch> sketches = lower_group(own, group);
      if (sketches.empty()) return false;
      for (KernelSketch& sketch : sketches) {
        for (LoweredOperand& each : sketch.operands) {
          if (each.kind != LoweredOperand::Kind::Value || !each.value.is_valid()) continue;
          if (each.value == given) {
            each = {LoweredOperand::Kind::Value, r.x};
          } else if (each.value == operand) {
            each = {LoweredOperand::Kind::Temporary, {}, wide};
          } else if (graph.value(each.value).is_constant()) {
            each = {LoweredOperand::Kind::Constant, {}, constant(graph.value(each.value).constant->data)};
          } else {
            each = {LoweredOperand::Kind::Temporary, {}, plan_.from_x};
          }
        }
        kernels->push_back(std::move(sketch));
      }
    }
    return true;
  }

  /// Leaves a wrong length where the check finds it.
  void note_wrong_length(KernelBuilder& builder, const Expr& batch_row) {
    Nest& nest = builder.nest();
    const int lengths = builder.value_buffer(plan_.r.lengths, false);
    const int wrong = builder.temporary_buffer(plan_.checks[0].temporary, "wrong", true);
    const Expr length = nest.let("length", load_int(lengths, batch_row, 4));
    for (const Expr& is_wrong : {less(int_const(plan_.r.steps), length), less(length, int_const(0))}) {
      nest.begin_if(is_wrong);
      nest.store_int(wrong, int_const(0), length);
      nest.end_if();
    }
  }

  /// A task is a row of the states.
  KernelSketch initial_states() {
    const Recurrence& r = plan_.r;
    KernelBuilder builder(context_);
    Nest& nest = builder.nest();
    const int lanes = nest.lanes();
    const int h = builder.temporary_buffer(plan_.h, "h", true);
    const int c = plan_.c < 0 ? -1 : builder.temporary_buffer(plan_.c, "c", true);
    const int h0 = r.h0.is_valid() ? builder.value_buffer(r.h0, false) : -1;
    const int c0 = r.c0.is_valid() ? builder.value_buffer(r.c0, false) : -1;
    const Expr row = nest.begin_for("row", nest.task_begin(), nest.task_end());
    if (r.checks_lengths) note_wrong_length(builder, rem(row, r.batch));
    // Row direction * batch + b of the state is row b * directions + direction where batch comes first.
    const Expr given = !r.spec.batch_first ? row : add(mul(rem(row, r.batch), r.directions()), div(row, r.batch));
    const Expr from = nest.let("from", mul(given, r.hidden));
    const Expr to = nest.let("to", mul(row, plan_.blocks.padded()));
    const Expr unit = nest.begin_for("unit", int_const(0), int_const(plan_.blocks.padded()), lanes);
    const Expr mask = nest.let("mask", nest.lanes_below(sub(int_const(r.hidden), unit)));
    auto copy = [&](int target, int source) {
      const Expr value = source < 0 ? nest.zero(lanes) : load(source, add(from, unit), lanes, mask);
      nest.store(target, add(to, unit), value);
    };
    copy(h, h0);
    if (c >= 0) copy(c, c0);
    nest.end_for();
    nest.end_for();
    const int64_t grain = (1 << 14) / std::max<int64_t>(1, plan_.blocks.padded());
    KernelSketch kernel = builder.finish(r.directions() * r.batch, grain);
    kernel.checks = plan_.checks;
    return kernel;
  }

  bool steps_are_shared(int64_t directions) const {
    const Recurrence& r = plan_.r;
    return directions * plan_.parts < context_.threads && r.steps <= kMostStepCalls &&
           directions * plan_.blocks.count > 1 && r.gates * r.hidden * r.hidden * r.batch >= kSharedStepWork;
  }

  void add_steps(int64_t first, int64_t directions, std::vector<KernelSketch>* kernels) {
    std::vector<KernelSketch> products;
    std::vector<size_t> step_operands;
    const int first_step = constant(step_number(0));
    for (size_t product = 0; product < plan_.products.size(); ++product) {
      products.push_back(StepWriter(context_, plan_).one_step(first, directions, product, first_step));
      const std::vector<LoweredOperand>& operands = products.back().operands;
      const auto at = std::find_if(operands.begin(), operands.end(), [&](const LoweredOperand& operand) {
        return operand.kind == LoweredOperand::Kind::Constant && operand.index == first_step;
      });
      step_operands.push_back(static_cast<size_t>(at - operands.begin()));
    }
    for (int64_t step = 0; step < plan_.r.steps; ++step) {
      const int number = step == 0 ? first_step : constant(step_number(step));
      for (size_t product = 0; product < products.size(); ++product) {
        kernels->push_back(products[product]);
        kernels->back().operands[step_operands[product]].index = number;
      }
    }
  }

  static runtime::Tensor step_number(int64_t step) {
    runtime::Tensor number(runtime::DType::I64, {1});
    number.as<int64_t>()[0] = step;
    return number;
  }

  const LoweringContext& context_;
  RecurrentPlan plan_;
  std::array<runtime::Tensor, 4> wide_;  ///< the constants of f16 or bf16 that `plan_.r` leads to
};

bool accepts_recurrence(const ir::Graph& graph, ir::NodeId id) {
  return describe_recurrence(graph, id).has_value();
}

size_t no_epilogue(const ir::Graph&, ir::NodeId) {
  return 0;
}

std::vector<KernelSketch> lower_recurrence(const LoweringContext& context, const Group& group) {
  return RecurrentLowering(context, group).run();
}

}  // namespace

const Lowering& recurrent_lowering() {
  static constexpr Lowering row{accepts_recurrence, no_epilogue, lower_recurrence};
  return row;
}

}  // namespace collage::codegen
