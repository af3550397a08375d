// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/row_program.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/codegen/kernel/reductions.h"
#include "compiler/codegen/nest/vector_math.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

/// Shorter rows leave most lanes empty; what waits of longer ones leaves the first-level cache.
constexpr int64_t kShortestRow = 16;
constexpr int64_t kLongestRow = 1 << 14;
/// Fewer rows leave threads idle, unless there is little to do.
constexpr int64_t kFewRows = 16;
constexpr int64_t kFewElements = 1 << 14;
/// Sums side by side in a pass, because one addition waits for the other.
constexpr int kSums = 4;

ir::Shape narrow(ir::Shape rows) {
  rows.back() = 1;
  return rows;
}

const ir::TensorType& type_of(const ir::Graph& graph, ir::ValueId value) {
  return graph.value(value).type;
}

bool has_one_float_result(const ir::Graph& graph, const ir::Node& node) {
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].is_valid()) return false;
  }
  const ir::DType dtype = type_of(graph, node.inputs[0]).dtype;
  return runtime::is_float(dtype) && type_of(graph, node.outputs[0]).dtype == dtype;
}

bool is_last_axis(const ir::Node& node, size_t rank) {
  const int64_t axis = ir::attrs_of(node).int_of("axis");
  return axis == -1 || axis + 1 == static_cast<int64_t>(rank);
}

RowRole role_of_operator(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  if (node.inputs.empty() || !node.inputs[0].is_valid() || !node.outputs[0].is_valid()) return RowRole::None;
  const ir::Shape& x = type_of(graph, node.inputs[0]).shape;
  if (x.empty() || !has_one_float_result(graph, node)) return RowRole::None;
  const std::string_view op = node.op->name;
  if (op == "Softmax" || op == "LogSoftmax") {
    return is_last_axis(node, x.size()) ? RowRole::Softmax : RowRole::None;
  }
  if (op == "LayerNormalization") {
    if (!is_last_axis(node, x.size())) return RowRole::None;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].is_valid()) continue;
      const ir::TensorType& type = type_of(graph, node.inputs[i]);
      if (type.dtype != type_of(graph, node.inputs[0]).dtype || !operand_access(type.shape, {x, 1}))
        return RowRole::None;
    }
    return RowRole::LayerNorm;
  }
  if (find_reduction(op) == nullptr || op.starts_with("Global")) return RowRole::None;
  const std::optional<std::vector<bool>> reduced = reduced_dims(graph, id);
  if (!reduced || !reduced->back() || std::count(reduced->begin(), reduced->end(), true) != 1) return RowRole::None;
  return type_of(graph, node.outputs[0]).shape == narrow(x) ? RowRole::Fold : RowRole::None;
}

}  // namespace

RowRole row_role(const ir::Graph& graph, ir::NodeId id, const ir::Shape& rows) {
  const ir::Node& node = graph.node(id);
  if (!is_pointwise(graph, id)) {
    const RowRole role = role_of_operator(graph, id);
    return role != RowRole::None && type_of(graph, node.inputs[0]).shape == rows ? role : RowRole::None;
  }
  const ir::TensorType& result = type_of(graph, node.outputs[0]);
  const bool is_wide = result.shape == rows;
  if (!runtime::is_float(result.dtype) || (!is_wide && result.shape != narrow(rows))) return RowRole::None;
  if (node.op->name == "BatchNormalization" || (depends_on_place(node) && !is_wide)) return RowRole::None;
  const IterationSpace space{is_wide ? rows : narrow(rows), 1};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].is_valid() || !reads_operand(node, i)) continue;
    const ir::DType dtype = type_of(graph, node.inputs[i]).dtype;
    if (dtype != result.dtype && dtype != ir::DType::Bool) return RowRole::None;
    if (!operand_access(broadcast_operand_shape(graph, id, i), space)) return RowRole::None;
  }
  return is_wide ? RowRole::Wide : RowRole::Narrow;
}

std::optional<ir::Shape> row_shape(const ir::Graph& graph, ir::NodeId id) {
  if (is_pointwise(graph, id) || role_of_operator(graph, id) == RowRole::None) return std::nullopt;
  const ir::Shape& rows = type_of(graph, graph.node(id).inputs[0]).shape;
  const int64_t elements = runtime::element_count(rows);
  if (rows.back() < kShortestRow || rows.back() > kLongestRow) return std::nullopt;
  if (elements / rows.back() < kFewRows && elements > kFewElements) return std::nullopt;
  return rows;
}

RowProgram::RowProgram(KernelBuilder& builder, const std::vector<ir::NodeId>& nodes,
                       const std::vector<ir::ValueId>& stored, ir::Shape rows, std::vector<ir::ValueId> placed)
    : builder_(builder), space_{std::move(rows), 1}, placed_(std::move(placed)), stored_(stored) {
  for (ir::NodeId node : nodes) add_node(node);
  for (auto& [value, step] : by_value_) {
    if (std::find(stored_.begin(), stored_.end(), value) != stored_.end()) {
      steps_[static_cast<size_t>(step)].buffer = builder_.value_buffer(value, true);
    }
    const auto at = std::find(placed_.begin(), placed_.end(), value);
    if (at != placed_.end()) steps_[static_cast<size_t>(step)].placed = static_cast<int>(at - placed_.begin());
  }
  delay_steps();
  assign_slots();
}

int64_t RowProgram::padded_length() const {
  const int64_t lanes = builder_.nest().lanes();
  return (space_.shape.back() + lanes - 1) / lanes * lanes;
}

RowProgram::Operand RowProgram::of_step(int step) const {
  Operand operand;
  operand.step = step;
  return operand;
}

RowProgram::Operand RowProgram::operand(ir::NodeId id, size_t i) {
  const ir::Graph& graph = builder_.context().graph;
  const ir::ValueId value = graph.node(id).inputs[i];
  Operand operand;
  operand.present = value.is_valid();
  if (!operand.present) return operand;
  for (const auto& [known, step] : by_value_) {
    if (known == value) return of_step(step);
  }
  const auto at = std::find(placed_.begin(), placed_.end(), value);
  if (at != placed_.end()) {
    operand.placed = static_cast<int>(at - placed_.begin());
    return operand;
  }
  operand.buffer = builder_.value_buffer(value, false);
  operand.access = *operand_access(broadcast_operand_shape(graph, id, i), space_);
  operand.is_mask = graph.value(value).type.dtype == ir::DType::Bool;
  return operand;
}

/// The first pass in which an operand can be read.
int RowProgram::ready_pass(const Operand& operand) const {
  if (operand.step < 0) return 0;
  const Step& step = steps_[static_cast<size_t>(operand.step)];
  return step.kind == Step::Kind::Fold ? step.pass + 1 : step.pass;
}

int RowProgram::add_step(Step step) {
  for (const Operand& operand : step.operands) step.pass = std::max(step.pass, ready_pass(operand));
  steps_.push_back(std::move(step));
  return static_cast<int>(steps_.size()) - 1;
}

/// The last step of a node, whose result is rounded to the dtype of `value`.
void RowProgram::add_result(ir::ValueId value, Step step) {
  Nest& nest = builder_.nest();
  const ir::DType dtype = builder_.context().graph.value(value).type.dtype;
  if (step.kind == Step::Kind::Fold) {
    step.finish = [finish = std::move(step.finish), dtype, &nest](const Expr& fold) {
      return nest.rounded(dtype, finish ? finish(fold) : fold);
    };
  } else {
    step.value = [compute = std::move(step.value), dtype, &nest](const std::vector<Expr>& operands) {
      return nest.rounded(dtype, compute(operands));
    };
  }
  by_value_.emplace_back(value, add_step(std::move(step)));
}

void RowProgram::add_node(ir::NodeId id) {
  const ir::Graph& graph = builder_.context().graph;
  const ir::Node& node = graph.node(id);
  Nest& nest = builder_.nest();
  const RowRole role = row_role(graph, id, space_.shape);
  if (role == RowRole::Softmax) return add_softmax(node, operand(id, 0));
  if (role == RowRole::LayerNorm) return add_layer_norm(id);
  Step step;
  if (role == RowRole::Fold) {
    const Reduction* how = find_reduction(node.op->name);
    step.kind = Step::Kind::Fold;
    step.operands = {operand(id, 0)};
    step.start = how->start;
    step.combine = how->combine;
    step.value = [how, &nest](const std::vector<Expr>& o) { return how->step(nest, o[1], o[0]); };
    step.finish = [how, &nest, count = space_.shape.back()](const Expr& fold) {
      return how->finish == nullptr ? fold : how->finish(nest, fold, count);
    };
  } else {
    step.kind = role == RowRole::Wide ? Step::Kind::Wide : Step::Kind::Narrow;
    step.is_heavy = is_heavy(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!reads_operand(node, i)) break;
      step.operands.push_back(operand(id, i));
    }
    step.value = [this, &graph, &nest, id](const std::vector<Expr>& o) {
      return pointwise_value(nest, graph, id, o, places_);
    };
  }
  add_result(node.outputs[0], std::move(step));
}

// exp(x - max) / sum of them; its logarithm is x - max - log(sum).
void RowProgram::add_softmax(const ir::Node& node, const Operand& x) {
  Nest& nest = builder_.nest();
  Step most;
  most.kind = Step::Kind::Fold;
  most.operands = {x};
  most.start = -std::numeric_limits<float>::infinity();
  most.combine = Op::FMax;
  most.value = [](const std::vector<Expr>& o) { return binary(Op::FMax, o[1], o[0]); };
  const int the_most = add_step(std::move(most));
  const bool is_logarithm = node.op->name == "LogSoftmax";
  Step power;
  power.operands = {x, of_step(the_most)};
  power.is_heavy = true;
  power.value = [&nest](const std::vector<Expr>& o) { return vector_exp(nest, binary(Op::FSub, o[0], o[1])); };
  const int the_power = add_step(std::move(power));
  Step sum;
  sum.kind = Step::Kind::Fold;
  sum.operands = {of_step(the_power)};
  sum.value = [](const std::vector<Expr>& o) { return binary(Op::FAdd, o[1], o[0]); };
  if (!is_logarithm) {
    sum.finish = [&nest](const Expr& fold) { return binary(Op::FDiv, nest.constant(1, fold->lanes), fold); };
  }
  const int the_sum = add_step(std::move(sum));
  Step last;
  if (is_logarithm) {
    Step logarithm;
    logarithm.kind = Step::Kind::Narrow;
    logarithm.operands = {of_step(the_sum)};
    logarithm.value = [&nest](const std::vector<Expr>& o) { return vector_log(nest, o[0]); };
    const int the_logarithm = add_step(std::move(logarithm));
    last.operands = {x, of_step(the_most), of_step(the_logarithm)};
    last.value = [](const std::vector<Expr>& o) { return binary(Op::FSub, binary(Op::FSub, o[0], o[1]), o[2]); };
  } else {
    last.operands = {of_step(the_power), of_step(the_sum)};
    last.value = [&nest](const std::vector<Expr>& o) { return nest.let("v", binary(Op::FMul, o[0], o[1])); };
  }
  add_result(node.outputs[0], std::move(last));
}

// (x - mean) / sqrt(mean of squares of that + epsilon) * scale + bias
void RowProgram::add_layer_norm(ir::NodeId id) {
  const ir::Node& node = builder_.context().graph.node(id);
  Nest& nest = builder_.nest();
  Step step;
  for (size_t i = 0; i < node.inputs.size(); ++i) step.operands.push_back(operand(id, i));
  const Operand x = step.operands[0];
  const int64_t count = space_.shape.back();
  Step mean;
  mean.kind = Step::Kind::Fold;
  mean.operands = {x};
  mean.value = [](const std::vector<Expr>& o) { return binary(Op::FAdd, o[1], o[0]); };
  const auto divided = [&nest, count](const Expr& sum) {
    return binary(Op::FDiv, sum, nest.constant(static_cast<double>(count), sum->lanes));
  };
  mean.finish = divided;
  const int the_mean = add_step(std::move(mean));
  Step distance;
  distance.operands = {x, of_step(the_mean)};
  distance.value = [&nest](const std::vector<Expr>& o) { return nest.let("d", binary(Op::FSub, o[0], o[1])); };
  const int the_distance = add_step(std::move(distance));
  Step variance;
  variance.kind = Step::Kind::Fold;
  variance.operands = {of_step(the_distance)};
  variance.value = [](const std::vector<Expr>& o) { return fma(o[0], o[0], o[1]); };
  const double epsilon = ir::attrs_of(node).float_of("epsilon");
  variance.finish = [&nest, divided, epsilon](const Expr& sum) {
    const Expr deviation = unary(Op::FSqrt, binary(Op::FAdd, divided(sum), nest.constant(epsilon, sum->lanes)));
    return binary(Op::FDiv, nest.constant(1, sum->lanes), deviation);
  };
  const int the_factor = add_step(std::move(variance));
  step.operands[0] = of_step(the_distance);
  step.operands.insert(step.operands.begin() + 1, of_step(the_factor));
  step.value = [](const std::vector<Expr>& o) {
    Expr v = binary(Op::FMul, binary(Op::FMul, o[0], o[1]), o[2]);
    return o.size() > 3 && o[3] ? binary(Op::FAdd, v, o[3]) : v;
  };
  add_result(node.outputs[0], std::move(step));
}

// A step that only a later pass reads moves there, if no more has to wait for that.
void RowProgram::delay_steps() {
  std::vector<int> first_reader(steps_.size(), -1);
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& step = steps_[i];
    if (step.kind == Step::Kind::Wide && first_reader[i] > step.pass) {
      const auto waits = std::count_if(step.operands.begin(), step.operands.end(), [&](const Operand& o) {
        return o.step >= 0 && steps_[static_cast<size_t>(o.step)].kind == Step::Kind::Wide;
      });
      if (waits <= 1) step.pass = first_reader[i];
    }
    for (const Operand& o : step.operands) {
      if (o.step < 0) continue;
      int& reader = first_reader[static_cast<size_t>(o.step)];
      reader = reader < 0 ? step.pass : std::min(reader, step.pass);
    }
  }
}

void RowProgram::assign_slots() {
  for (const Step& step : steps_) {
    for (const Operand& o : step.operands) {
      if (o.step < 0) continue;
      Step& from = steps_[static_cast<size_t>(o.step)];
      const bool waits = from.kind == Step::Kind::Wide && from.pass < step.pass;
      if (waits && from.slot < 0 && from.placed < 0) from.slot = static_cast<int>(slots_++);
    }
  }
}

// One row's passes.
class RowProgram::Emission {
 public:
  Emission(RowProgram& program, const std::vector<Expr>& outer, int scratch, const Expr& scratch_base,
           const std::vector<RowPlace>& places)
      : p_(program),
        nest_(program.builder_.nest()),
        lanes_(nest_.lanes()),
        outer_(outer),
        scratch_(scratch),
        scratch_base_(scratch_base),
        places_(places),
        narrow_(program.steps_.size()) {}

  void run() {
    int last = 0;
    for (const Step& step : p_.steps_) last = std::max(last, step.pass);
    for (int pass = 0; pass <= last; ++pass) {
      for (size_t i = 0; i < p_.steps_.size(); ++i) {
        if (p_.steps_[i].kind == Step::Kind::Narrow && p_.steps_[i].pass == pass) emit_narrow(i);
      }
      emit_pass(pass);
    }
  }

 private:
  void emit_narrow(size_t i) {
    const Step& step = p_.steps_[i];
    std::vector<Expr> operands;
    for (const Operand& o : step.operands) operands.push_back(o.present ? narrow_operand(o) : nullptr);
    set_narrow(i, nest_.let("n", step.value(operands)));
  }

  // The same number in every lane.
  void set_narrow(size_t i, const Expr& value) {
    narrow_[i] = value;
    const Step& step = p_.steps_[i];
    if (step.buffer < 0) return;
    Expr index = int_const(0);
    int64_t stride = 1;
    for (size_t d = p_.space_.outer_rank(); d-- > 0; stride *= p_.space_.shape[d]) {
      index = add(mul(outer_[d], stride), index);
    }
    nest_.store(step.buffer, index, value, nest_.lanes_below(int_const(1)));
  }

  Expr outside_index(const Operand& o) const {
    Expr index = int_const(0);
    for (size_t d = 0; d < outer_.size(); ++d) index = add(mul(outer_[d], o.access.outer_strides[d]), index);
    return index;
  }

  Expr narrow_operand(const Operand& o) {
    if (o.step >= 0) return narrow_[static_cast<size_t>(o.step)];
    const Expr index = outside_index(o);
    return nest_.let("o", splat(o.is_mask ? load_mask(o.buffer, index, 1) : load(o.buffer, index, 1), lanes_));
  }

  void emit_pass(int pass) {
    std::vector<size_t> members;
    for (size_t i = 0; i < p_.steps_.size(); ++i) {
      if (p_.steps_[i].kind != Step::Kind::Narrow && p_.steps_[i].pass == pass) members.push_back(i);
    }
    if (members.empty()) return;
    const bool heavy = std::any_of(members.begin(), members.end(), [&](size_t i) { return p_.steps_[i].is_heavy; });
    const int64_t length = p_.space_.shape.back();
    const int64_t vectors = length / lanes_;
    const auto sums = static_cast<int>(std::clamp<int64_t>(vectors, 1, heavy ? 2 : kSums));
    sums_.assign(p_.steps_.size(), {});
    for (size_t i : members) {
      const Step& step = p_.steps_[i];
      if (step.kind != Step::Kind::Fold) continue;
      for (int s = 0; s < sums; ++s) sums_[i].push_back(nest_.variable("sum", nest_.constant(step.start, lanes_)));
    }
    // Operands that are equal along the row are read once.
    once_.clear();
    for (size_t i : members) {
      for (const Operand& o : p_.steps_[i].operands) {
        if (o.present && o.buffer >= 0 && !o.access.along_inner) once_.emplace_back(&o, narrow_operand(o));
      }
    }
    const int64_t whole = vectors / sums * sums;
    if (whole > 0) {
      const int64_t stride = static_cast<int64_t>(sums) * lanes_;
      const Expr at = nest_.begin_for("i", int_const(0), int_const(whole * lanes_), stride);
      for (int s = 0; s < sums; ++s) emit_vector(members, add(at, int64_t{s} * lanes_), s, nullptr);
      nest_.end_for();
    }
    for (int64_t v = whole; v < vectors; ++v) {
      emit_vector(members, int_const(v * lanes_), static_cast<int>(v - whole), nullptr);
    }
    if (length % lanes_ != 0) {
      const Expr mask = nest_.let("mask", nest_.lanes_below(int_const(length % lanes_)));
      emit_vector(members, int_const(vectors * lanes_), 0, mask);
    }
    for (size_t i : members) {
      const Step& step = p_.steps_[i];
      if (step.kind != Step::Kind::Fold) continue;
      Expr sum = sums_[i][0];
      for (size_t s = 1; s < sums_[i].size(); ++s) sum = binary(step.combine, sum, sums_[i][s]);
      const Expr fold = nest_.let("fold", fold_lanes(nest_, step.combine, nest_.let("sum", sum)));
      set_narrow(i, nest_.let("all", splat(step.finish ? step.finish(fold) : fold, lanes_)));
    }
  }

  void emit_vector(const std::vector<size_t>& members, const Expr& at, int sum, const Expr& mask) {
    wide_.assign(p_.steps_.size(), nullptr);
    loaded_.clear();
    p_.places_ = [this, at](size_t d) { return lane_place(p_.space_, outer_, at, d); };
    for (size_t i : members) {
      const Step& step = p_.steps_[i];
      std::vector<Expr> operands;
      for (const Operand& o : step.operands) operands.push_back(o.present ? wide_operand(o, at, mask) : nullptr);
      if (step.kind == Step::Kind::Fold) {
        const Expr& so_far = sums_[i][static_cast<size_t>(sum)];
        operands.push_back(so_far);
        const Expr next = step.value(operands);
        nest_.set(so_far, mask ? select(mask, next, so_far) : next);
        continue;
      }
      wide_[i] = step.value(operands);
      if (step.placed >= 0) {
        const RowPlace& place = places_[static_cast<size_t>(step.placed)];
        nest_.store(place.buffer, add(place.base, at), wide_[i]);
      }
      if (step.slot >= 0) nest_.store(scratch_, waiting(step, at), wide_[i]);
      if (step.buffer >= 0) nest_.store(step.buffer, result_index(p_.space_, outer_, at), wide_[i], mask);
    }
  }

  Expr waiting(const Step& step, const Expr& at) const {
    return add(add(scratch_base_, step.slot * p_.padded_length()), at);
  }

  Expr wide_operand(const Operand& o, const Expr& at, const Expr& mask) {
    if (o.step >= 0) {
      const auto i = static_cast<size_t>(o.step);
      const Step& step = p_.steps_[i];
      if (step.kind != Step::Kind::Wide) return narrow_[i];
      if (wide_[i]) return wide_[i];
      const bool is_placed = step.placed >= 0;
      const RowPlace* place = is_placed ? &places_[static_cast<size_t>(step.placed)] : nullptr;
      wide_[i] = nest_.let("w", is_placed ? load(place->buffer, add(place->base, at), lanes_)
                                          : load(scratch_, waiting(step, at), lanes_));
      return wide_[i];
    }
    if (o.placed < 0 && !o.access.along_inner) {
      for (const auto& [operand, value] : once_) {
        if (operand == &o) return value;
      }
    }
    const int buffer = o.placed >= 0 ? -1 - o.placed : o.buffer;
    for (const auto& [known, value] : loaded_) {
      if (known == buffer) return value;
    }
    Expr value;
    if (o.placed >= 0) {
      const RowPlace& place = places_[static_cast<size_t>(o.placed)];
      value = load(place.buffer, add(place.base, at), lanes_);
    } else {
      const Expr index = add(outside_index(o), at);
      value = o.is_mask ? load_mask(o.buffer, index, lanes_, mask) : load(o.buffer, index, lanes_, mask);
    }
    loaded_.emplace_back(buffer, nest_.let("o", value));
    return loaded_.back().second;
  }

  RowProgram& p_;
  Nest& nest_;
  int lanes_;
  const std::vector<Expr>& outer_;
  int scratch_;
  Expr scratch_base_;
  const std::vector<RowPlace>& places_;
  std::vector<Expr> narrow_;
  std::vector<Expr> wide_;                             ///< of the vector at hand
  std::vector<std::pair<int, Expr>> loaded_;           ///< likewise, by buffer
  std::vector<std::pair<const Operand*, Expr>> once_;  ///< of the pass
  std::vector<std::vector<Expr>> sums_;
};

void RowProgram::emit(const std::vector<Expr>& outer, int scratch, const Expr& scratch_base,
                      const std::vector<RowPlace>& places) {
  Emission(*this, outer, scratch, scratch_base, places).run();
}

}  // namespace collage::codegen
