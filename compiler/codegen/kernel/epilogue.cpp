// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/epilogue.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/element.h"
#include "runtime/support/check.h"

namespace collage::codegen {
namespace {

int64_t product(const ir::Shape& shape, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t d = begin; d < end; ++d) n *= shape[d];
  return n;
}

}  // namespace

int64_t IterationSpace::outer_count() const {
  return product(shape, 0, outer_rank());
}
int64_t IterationSpace::inner_count() const {
  return product(shape, outer_rank(), shape.size());
}

std::optional<OperandAccess> operand_access(const ir::Shape& operand, const IterationSpace& space) {
  if (operand.size() > space.shape.size()) return std::nullopt;
  size_t missing = space.shape.size() - operand.size();
  auto extent = [&](size_t d) { return d < missing ? int64_t{1} : operand[d - missing]; };
  bool whole = true;
  bool single = true;
  for (size_t d = 0; d < space.shape.size(); ++d) {
    if (extent(d) != 1 && extent(d) != space.shape[d]) return std::nullopt;
    if (d < space.outer_rank()) continue;
    whole = whole && extent(d) == space.shape[d];
    single = single && extent(d) == 1;
  }
  if (!whole && !single) return std::nullopt;
  OperandAccess access;
  access.along_inner = whole && !single;
  int64_t stride = single ? 1 : space.inner_count();
  access.outer_strides.assign(space.outer_rank(), 0);
  for (size_t d = space.outer_rank(); d-- > 0;) {
    if (extent(d) != 1) access.outer_strides[d] = stride;
    stride *= extent(d);
  }
  return access;
}

Expr result_index(const IterationSpace& space, const std::vector<Expr>& outer, const Expr& inner) {
  int64_t stride = space.inner_count();
  Expr index = inner;
  for (size_t d = space.outer_rank(); d-- > 0;) {
    index = add(mul(outer[d], stride), index);
    stride *= space.shape[d];
  }
  return index;
}

bool has_lane_place(const IterationSpace& space, size_t d) {
  return d < space.outer_rank() || space.shape[d] == 1 || space.shape[d] == space.inner_count();
}

LanePlace lane_place(const IterationSpace& space, const std::vector<Expr>& outer, const Expr& inner, size_t d) {
  if (space.shape[d] == 1) return {int_const(0), false};
  if (d < space.outer_rank()) return {outer[d], false};
  return {inner, true};
}

std::vector<Expr> split_outer(Nest& nest, const IterationSpace& space, const Expr& index) {
  std::vector<Expr> outer(space.outer_rank(), int_const(0));
  Expr rest = index;
  for (size_t d = space.outer_rank(); d-- > 0;) {
    bool more = product(space.shape, 0, d) > 1;
    if (space.shape[d] == 1) continue;
    outer[d] = nest.let("i", more ? rem(rest, space.shape[d]) : rest);
    if (more) rest = nest.let("rest", div(rest, space.shape[d]));
  }
  return outer;
}

Epilogue::Epilogue(KernelBuilder& builder, const Group& group, IterationSpace space)
    : builder_(builder), space_(std::move(space)), anchor_(group.anchor) {
  const ir::Graph& graph = builder.context().graph;
  std::vector<ir::ValueId> inside;
  if (anchor_.is_valid()) inside.push_back(graph.first_output(anchor_));
  for (ir::NodeId id : group.nodes) {
    if (id == anchor_ || id == group.prologue) continue;
    if (std::find(group.between.begin(), group.between.end(), id) != group.between.end()) continue;
    const ir::Node& node = graph.node(id);
    Step step;
    step.node = id;
    bool batch_norm = node.op->name == "BatchNormalization";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if ((batch_norm && i > 0) || !reads_operand(node, i)) break;
      ir::ValueId value = node.inputs[i];
      Operand operand;
      operand.value = value;
      step.present.push_back(value.is_valid());
      bool computed = std::find(inside.begin(), inside.end(), value) != inside.end();
      if (value.is_valid() && !computed) {
        operand = outside_operand(builder.value_buffer(value, false), broadcast_operand_shape(graph, id, i));
        operand.dtype = graph.value(value).type.dtype;
      }
      step.operands.push_back(operand);
    }
    if (batch_norm) add_batch_norm(step);
    inside.push_back(node.outputs[0]);
    heavy_ = heavy_ || codegen::is_heavy(node);
    steps_.push_back(std::move(step));
  }
  for (ir::ValueId value : group.stored) stored_[value] = builder.value_buffer(value, true);
}

Epilogue::Operand Epilogue::outside_operand(int buffer, const ir::Shape& shape) const {
  std::optional<OperandAccess> access = operand_access(shape, space_);
  COLLAGE_CHECK(access.has_value(), "operand {} does not broadcast along whole rows", runtime::to_string(shape));
  Operand operand;
  operand.buffer = buffer;
  operand.access = *access;
  operand.dtype = builder_.nest().number();
  return operand;
}

// scale * (x - mean) / sqrt(var + epsilon) + b  =>  x * factor + offset, both per channel.
void Epilogue::add_batch_norm(Step& step) {
  const ir::Graph& graph = builder_.context().graph;
  const ir::Node& node = graph.node(step.node);
  auto data = [&](size_t i, int64_t c) {
    return runtime::element_as_double(graph.value(node.inputs[i]).constant->data.view(), c);
  };
  int64_t channels = graph.value(node.inputs[1]).type.shape[0];
  double epsilon = ir::attrs_of(node).float_of("epsilon");
  runtime::Tensor factor(builder_.nest().number(), {channels});
  runtime::Tensor offset(builder_.nest().number(), {channels});
  for (int64_t c = 0; c < channels; ++c) {
    const double f = data(1, c) / std::sqrt(data(4, c) + epsilon);
    runtime::set_element(factor.view(), c, f);
    runtime::set_element(offset.view(), c, data(2, c) - data(3, c) * f);
  }
  ir::Shape shape = broadcast_operand_shape(graph, step.node, 1);
  step.operands.push_back(outside_operand(builder_.constant_buffer(factor, "factor"), shape));
  step.operands.push_back(outside_operand(builder_.constant_buffer(offset, "offset"), shape));
  step.present.resize(3, true);
}

Expr Epilogue::load_operand(const Operand& operand, const Expr& index, int lanes, const Expr& mask,
                            const Expr& offsets) const {
  const bool along = operand.access.along_inner;
  const int count = along ? lanes : 1;
  const Expr lanes_mask = along ? mask : nullptr;
  if (operand.dtype == ir::DType::Bool) return splat(load_mask(operand.buffer, index, count, lanes_mask), lanes);
  if (operand.dtype != builder_.nest().number() && !runtime::is_narrow_float(operand.dtype)) {
    return splat(load_as(operand.dtype, operand.buffer, index, count, lanes_mask), lanes);
  }
  if (along && offsets) return gather(operand.buffer, index, offsets, mask);
  return splat(load(operand.buffer, index, count, lanes_mask), lanes);
}

std::map<ir::ValueId, Expr> Epilogue::at(const std::vector<Expr>& outer, const Expr& inner, int lanes,
                                         const Expr& anchor, const Expr& mask, const Expr& offsets) {
  const ir::Graph& graph = builder_.context().graph;
  Nest& nest = builder_.nest();
  std::map<ir::ValueId, Expr> values;
  auto store = [&](ir::ValueId value, const Expr& computed) {
    const ir::DType dtype = graph.value(value).type.dtype;
    const Expr lanes_of_it = nest.rounded(dtype, computed);
    values[value] = lanes_of_it;
    auto found = stored_.find(value);
    if (found == stored_.end()) return;
    Expr index = result_index(space_, outer, inner);
    if (lanes_of_it->type == Type::Mask) {
      nest.store_mask(found->second, index, lanes_of_it, mask);
    } else if (dtype != nest.number() && !runtime::is_narrow_float(dtype)) {
      nest.store_as(dtype, found->second, index, lanes_of_it, mask);
    } else if (offsets) {
      nest.scatter(found->second, index, lanes_of_it, offsets, mask);
    } else {
      nest.store(found->second, index, lanes_of_it, mask);
    }
  };
  if (anchor_.is_valid()) store(graph.first_output(anchor_), nest.let("r", anchor));
  for (const Step& step : steps_) {
    std::vector<Expr> operands;
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const Operand& operand = step.operands[i];
      if (!step.present[i]) {
        operands.push_back(nullptr);
        continue;
      }
      if (operand.buffer < 0) {
        operands.push_back(values.at(operand.value));
        continue;
      }
      Expr index = operand.access.along_inner ? inner : int_const(0);
      for (size_t d = 0; d < outer.size(); ++d) index = add(mul(outer[d], operand.access.outer_strides[d]), index);
      operands.push_back(nest.let("o", load_operand(operand, index, lanes, mask, offsets)));
    }
    const LanePlaces places = [&](size_t d) { return lane_place(space_, outer, inner, d); };
    store(graph.node(step.node).outputs[0], pointwise_value(nest, graph, step.node, operands, places));
  }
  return values;
}

void finish_block(KernelBuilder& builder, const Epilogue& epilogue, size_t scratch_offset,
                  const std::vector<std::vector<Expr>>& sums,
                  const std::function<void(const Expr& row, int vector, const Expr& sum)>& finish) {
  Nest& nest = builder.nest();
  int vectors = static_cast<int>(sums.front().size());
  auto rows = static_cast<int64_t>(sums.size());
  if (!epilogue.is_heavy()) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int v = 0; v < vectors; ++v) finish(int_const(r), v, sums[static_cast<size_t>(r)][static_cast<size_t>(v)]);
    }
    return;
  }
  int64_t width = static_cast<int64_t>(vectors) * nest.lanes();
  auto base = static_cast<int64_t>(scratch_offset / nest.number_bytes());
  int scratch = builder.scratch_buffer(scratch_offset + static_cast<size_t>(rows * width) * nest.number_bytes());
  auto place = [&](const Expr& r, int v) { return add(mul(r, width), base + static_cast<int64_t>(v) * nest.lanes()); };
  for (int64_t r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      nest.store(scratch, place(int_const(r), v), sums[static_cast<size_t>(r)][static_cast<size_t>(v)]);
    }
  }
  Expr r = nest.begin_for("r", int_const(0), int_const(rows));
  for (int v = 0; v < vectors; ++v) finish(r, v, nest.let("sum", load(scratch, place(r, v), nest.lanes())));
  nest.end_for();
}

}  // namespace collage::codegen
