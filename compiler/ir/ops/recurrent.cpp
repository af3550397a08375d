// SPDX-License-Identifier: Apache-2.0
// Recurrent layers over whole sequences: LSTM, GRU, RNN. Operands and results are listed in
// runtime/kernels/recurrent.h.
#include "runtime/kernels/recurrent.h"

#include <fmt/format.h>

#include "compiler/ir/ops/checks.h"
#include "compiler/ir/ops/define.h"

namespace collage::ir::ops {
namespace {

using runtime::CellKind;

/// Absent operands are fine; the lengths (operand 4) are i32, all others have X's dtype.
bool check_operand(InferContext& ctx, size_t i, const Shape& shape) {
  if (!ctx.has_input(i)) return true;
  DType wanted = i == 4 ? DType::I32 : ctx.input(0).dtype;
  if (ctx.input(i).dtype != wanted) {
    return ctx.type_error(i,
                          fmt::format("operand has dtype {}, needs {}", name_of(ctx.input(i).dtype), name_of(wanted)));
  }
  return require_shape(ctx, i, shape);
}

template <CellKind kind>
bool infer_recurrent(InferContext& ctx) {
  runtime::RecurrentSpec spec;
  if (auto problem = runtime::resolve_recurrent(kind, ctx.attrs().written(), &spec)) {
    return ctx.attr_error(problem->attr, problem->message);
  }
  if (!require_type(ctx, 0, TypeClass::Float) || !require_rank(ctx, 0, 3, 3) || !require_rank(ctx, 2, 3, 3)) {
    return false;
  }
  const TensorType& x = ctx.input(0);
  int64_t hidden = ctx.input(2).shape[2];
  int64_t stated = ctx.attrs().written().get_int("hidden_size", hidden);
  if (stated != hidden) {
    return ctx.attr_error("hidden_size", fmt::format("`hidden_size` is {}, but R has {}", stated, hidden));
  }
  int64_t rows;
  if (__builtin_mul_overflow(2 * runtime::gates_of(kind), hidden, &rows)) {
    return ctx.shape_error(2, "the hidden size is too large");
  }
  rows /= 2;
  int64_t dirs = spec.directions;
  int64_t steps = x.shape[spec.batch_first ? 1 : 0];
  int64_t batch = x.shape[spec.batch_first ? 0 : 1];
  Shape state = spec.batch_first ? Shape{batch, dirs, hidden} : Shape{dirs, batch, hidden};
  bool fits = check_operand(ctx, 1, {dirs, rows, x.shape[2]}) && check_operand(ctx, 2, {dirs, rows, hidden}) &&
              check_operand(ctx, 3, {dirs, 2 * rows}) && check_operand(ctx, 4, {batch}) && check_operand(ctx, 5, state);
  if (kind == CellKind::Lstm) fits = fits && check_operand(ctx, 6, state) && check_operand(ctx, 7, {dirs, 3 * hidden});
  if (!fits) return false;
  ctx.set_output(0,
                 {x.dtype, spec.batch_first ? Shape{batch, steps, dirs, hidden} : Shape{steps, dirs, batch, hidden}});
  ctx.set_output(1, {x.dtype, state});
  ctx.set_output(2, {x.dtype, state});
  return true;
}

/// Every step of every sequence and direction multiplies gates * hidden rows with the input and with the state, then
/// computes activations: about 6 operations each.
template <CellKind kind>
Work recurrent_work(const WorkArgs& args) {
  const Shape& x = args.inputs[0].shape;
  const Shape& r = args.inputs[2].shape;
  double cells = static_cast<double>(x[0]) * static_cast<double>(x[1]) * static_cast<double>(r[0]);
  double macs = cells * static_cast<double>(r[1]) * static_cast<double>(x[2] + r[2]);
  return {macs, 2 * macs + cells * static_cast<double>(r[1]) * 8};
}

template <CellKind kind>
OpDef recurrent(std::vector<AttrDef> more, std::string_view doc) {
  std::vector<AttrDef> attrs = {{"activation_alpha", AttrKind::Floats, Absent},
                                {"activation_beta", AttrKind::Floats, Absent},
                                {"activations", AttrKind::Strings, Absent},
                                {"clip", AttrKind::Float, 0.0},
                                {"direction", AttrKind::String, "forward"},
                                {"hidden_size", AttrKind::Int, Absent},
                                {"layout", AttrKind::Int, 0}};
  attrs.insert(attrs.end(), more.begin(), more.end());
  return {.min_inputs = 3,
          .max_inputs = kind == CellKind::Lstm ? 8 : 6,
          .min_outputs = 1,
          .max_outputs = kind == CellKind::Lstm ? 3 : 2,
          .attrs = std::move(attrs),
          .kind = FusionKind::Opaque,
          .rows = {RowRule::Recurrent, "goes along it step by step"},
          .infer = infer_recurrent<kind>,
          .work = recurrent_work<kind>,
          .doc = doc};
}

}  // namespace

OpDef define_LSTM() {
  return recurrent<CellKind::Lstm>(
      {{"input_forget", AttrKind::Int, 0}},
      "long short-term memory, gates i o f c: %y, %h, %c = LSTM(%x, %w, %r, %b, %lengths, %h0, %c0, %p)");
}
OpDef define_GRU() {
  return recurrent<CellKind::Gru>({{"linear_before_reset", AttrKind::Int, 0}},
                                  "gated recurrent unit, gates z r h: %y, %h = GRU(%x, %w, %r, %b, %lengths, %h0)");
}
OpDef define_RNN() {
  return recurrent<CellKind::Rnn>({}, "plain recurrence: %y, %h = RNN(%x, %w, %r, %b) {activations = [\"Relu\"]}");
}

}  // namespace collage::ir::ops
