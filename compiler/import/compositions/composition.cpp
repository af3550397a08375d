// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/compositions/composition.h"

#include <algorithm>
#include <limits>

#include "compiler/import/proto.h"
#include "compiler/ir/analysis/evaluate.h"

namespace collage::import {

using ir::AttrMap;
using ir::ValueId;
using support::Code;

bool Composition::has(size_t i) {
  used_inputs_.insert(i);
  return has_input(node_, i);
}

ValueId Composition::in(size_t i) {
  return has(i) ? node_.inputs[i] : ValueId();
}

bool Composition::wants(size_t i) const {
  return i < node_.outputs.size() && !node_.outputs[i].empty() && emitter_.is_read(node_.outputs[i]);
}

const runtime::AttrValue* Composition::any_attr(std::string_view name) {
  used_attrs_.insert(std::string(name));
  return node_.attrs.find(name);
}

bool Composition::has_attr(std::string_view name) {
  return any_attr(name) != nullptr;
}

int64_t Composition::attr(std::string_view name, int64_t fallback) {
  const auto* value = any_attr(name);
  if (value == nullptr) return fallback;
  const auto* number = std::get_if<int64_t>(value);
  need(number != nullptr, fmt::format("attribute `{}` must be an integer", name));
  return number == nullptr ? fallback : *number;
}

double Composition::attr(std::string_view name, double fallback) {
  const auto* value = any_attr(name);
  if (value == nullptr) return fallback;
  need(std::holds_alternative<double>(*value) || std::holds_alternative<int64_t>(*value),
       fmt::format("attribute `{}` must be a number", name));
  return node_.attrs.get_float(name, fallback);
}

std::string Composition::attr(std::string_view name, const char* fallback) {
  const auto* value = any_attr(name);
  if (value == nullptr) return fallback;
  const auto* text = std::get_if<std::string>(value);
  need(text != nullptr, fmt::format("attribute `{}` must be a string", name));
  return text == nullptr ? fallback : *text;
}

AttrMap Composition::attrs_named(std::initializer_list<std::string_view> names) {
  AttrMap map;
  for (std::string_view name : names) {
    if (const auto* value = any_attr(name)) map.set(std::string(name), *value);
  }
  return map;
}

int64_t Composition::dim(ValueId value, int64_t i) const {
  const ir::Shape dims = shape(value);
  auto at = static_cast<size_t>(i < 0 ? i + static_cast<int64_t>(dims.size()) : i);
  return at < dims.size() ? dims[at] : 0;
}

bool Composition::wrong(const std::string& what) {
  if (is_good_) emitter_.diags().error_at(Code::BadModel, node_.where, "{}", what);
  is_good_ = false;
  return false;
}

bool Composition::refuse(const std::string& what) {
  if (is_good_) unsupported(node_, emitter_, what);
  is_good_ = false;
  return false;
}

bool Composition::undecided(const std::string& what) {
  if (is_good_) emitter_.diags().error_at(Code::NotConstant, node_.where, "{}", what);
  is_good_ = false;
  return false;
}

bool Composition::need_rank(size_t operand, size_t least, size_t most) {
  if (!is_good_) return false;
  size_t found = rank(in(operand));
  if (found >= least && found <= most) return true;
  std::string wanted = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  return wrong(fmt::format("operand {} has {} dimensions, need {}", operand, found, wanted));
}

ValueId Composition::add(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs) {
  if (!is_good_) return ValueId();
  ValueId value =
      emitter_.emit_before(node_, std::string(op), std::move(inputs), std::move(attrs), name_for(node_, op));
  is_good_ = value.is_valid();
  return value;
}

std::vector<ValueId> Composition::add_many(std::string_view op, std::vector<ValueId> inputs, AttrMap attrs,
                                           size_t results) {
  std::vector<ValueId> values(results);
  if (!is_good_) return values;
  std::vector<std::string> names;
  for (size_t i = 0; i < results; ++i)
    names.push_back(emitter_.take_name(fmt::format("{}.{}.{}", result_name(node_), op, i)));
  is_good_ = emitter_.emit({std::string(op), std::move(inputs), std::move(attrs), names, node_.where, node_.origin});
  for (size_t i = 0; is_good_ && i < results; ++i) values[i] = emitter_.graph().find_value(names[i]);
  return values;
}

ValueId Composition::result(size_t i, std::string_view op, std::vector<ValueId> inputs, AttrMap attrs) {
  given_.insert(i);
  if (!wants(i)) return add(op, std::move(inputs), std::move(attrs));
  if (!is_good_) return ValueId();
  const std::string& name = node_.outputs[i];
  is_good_ = emitter_.emit({std::string(op), std::move(inputs), std::move(attrs), {name}, node_.where, node_.origin});
  return is_good_ ? emitter_.graph().find_value(name) : ValueId();
}

ValueId Composition::tensor(ir::Tensor value) {
  return emitter_.graph().add_constant(emitter_.fresh_name(name_for(node_, "value")),
                                       ir::make_constant(std::move(value)));
}

ValueId Composition::ints(const runtime::Ints& values) {
  return emitter_.add_ints(name_for(node_, "ints"), values);
}

ValueId Composition::scalar(double value, ir::DType dtype) {
  return emitter_.add_scalar(name_for(node_, "number"), dtype, value);
}

ValueId Composition::range(int64_t count) {
  auto number = [this](int64_t value) {
    ir::Tensor scalar(ir::DType::I64, {});
    scalar.as<int64_t>()[0] = value;
    return tensor(std::move(scalar));
  };
  return add("Range", {number(0), number(count), number(1)});
}

ValueId Composition::times(ValueId x, double factor) {
  if (!is_good_ || factor == 1) return x;
  return add("Mul", {x, scalar(factor, x)});
}

ValueId Composition::cast(ValueId x, ir::DType to) {
  if (!is_good_ || dtype(x) == to) return x;
  return add("Cast", {x}, attrs("to", int64_t{element_of(to)}));
}

ValueId Composition::reshape(ValueId x, const ir::Shape& to) {
  if (!is_good_ || shape(x) == to) return x;
  return add("Reshape", {x, ints(to)}, shape_attrs(to));
}

ValueId Composition::transpose(ValueId x, const runtime::Ints& perm) {
  return add("Transpose", {x}, attrs("perm", perm));
}

ValueId Composition::expand(ValueId x, const ir::Shape& to) {
  if (!is_good_ || shape(x) == to) return x;
  return add("Expand", {x, ints(to)});
}

ValueId Composition::slice(ValueId x, int64_t axis, int64_t from, int64_t to, int64_t step) {
  if (!is_good_) return x;
  return add("Slice", {x, ints({from}), ints({to}), ints({axis}), ints({step})});
}

ValueId Composition::concat(std::vector<ValueId> parts, int64_t axis) {
  return add("Concat", std::move(parts), attrs("axis", axis));
}

ValueId Composition::reduce(std::string_view op, ValueId x, const runtime::Ints& axes) {
  if (!is_good_) return x;
  if (op == "ReduceSum") return add(op, {x, ints(axes)});
  return add(op, {x}, attrs("axes", axes));
}

runtime::Ints Composition::axes_from(ValueId x, int64_t axis) const {
  runtime::Ints axes;
  for (auto i = axis; i < static_cast<int64_t>(rank(x)); ++i) axes.push_back(i);
  return axes;
}

AttrMap Composition::attrs(std::string_view name, runtime::AttrValue value) {
  AttrMap map;
  map.set(std::string(name), std::move(value));
  return map;
}

// A dimension 0 in the operand of Reshape means "as before" unless this is said.
AttrMap Composition::shape_attrs(const ir::Shape& to) const {
  bool has_zero = std::find(to.begin(), to.end(), 0) != to.end();
  return has_zero ? attrs("allowzero", int64_t{1}) : AttrMap{};
}

bool Composition::finish() {
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    if (has_input(node_, i) && !used_inputs_.contains(i))
      return refuse(fmt::format("operand {} of {} is not supported", i, node_.op));
  }
  for (const auto& [name, value] : node_.attrs) {
    if (used_attrs_.contains(name)) continue;
    std::vector<std::string> known(used_attrs_.begin(), used_attrs_.end());
    if (!is_good_) return false;
    emitter_.diags()
        .error_at(Code::BadAttribute, node_.where, "attribute `{}` of {} is not supported", name, node_.op)
        .did_you_mean(support::closest(name, known));
    return false;
  }
  for (size_t i = 0; i < node_.outputs.size(); ++i) {
    if (wants(i) && !given_.contains(i)) return refuse(fmt::format("result {} of {} is not supported", i, node_.op));
  }
  return is_good_;
}

}  // namespace collage::import
