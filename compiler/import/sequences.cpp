// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/sequences.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "compiler/import/pending_node.h"
#include "compiler/ir/analysis/evaluate.h"

namespace collage::import {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Shape;
using ir::ValueId;
using runtime::Ints;
using support::Code;

constexpr int64_t kMostParts = 1 << 14;

constexpr std::array<std::string_view, 11> kOps = {"ConcatFromSequence", "Optional",       "OptionalGetElement",
                                                   "OptionalHasElement", "SequenceAt",     "SequenceConstruct",
                                                   "SequenceEmpty",      "SequenceErase",  "SequenceInsert",
                                                   "SequenceLength",     "SplitToSequence"};

/// The sizes of the parts: given as a list, or as the size of all but the last, or 1.
bool read_sizes(const PendingNode& node, Emitter& emitter, int64_t extent, Ints* sizes) {
  const ir::Tensor* given = has_input(node, 1) ? emitter.constant(node.inputs[1]) : nullptr;
  if (has_input(node, 1) && given == nullptr) {
    return emitter.diags().error_at(Code::NotConstant, node.where, "the sizes of the parts must be constant");
  }
  if (given != nullptr && !given->shape().empty()) {
    for (int64_t i = 0; i < given->count(); ++i) sizes->push_back(runtime::element_as_int(given->view(), i));
    return true;
  }
  const int64_t size = given == nullptr ? 1 : runtime::element_as_int(given->view(), 0);
  if (size < 1 || extent / size > kMostParts) {
    return unsupported(node, emitter, "a split of " + std::to_string(extent) + " in parts of " + std::to_string(size));
  }
  for (int64_t left = extent; left > 0; left -= size) sizes->push_back(std::min(size, left));
  return true;
}

}  // namespace

bool Sequences::handles(const std::string& op, const std::vector<std::string>& inputs) const {
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end() ||
         std::any_of(inputs.begin(), inputs.end(), [this](const std::string& name) { return contains(name); });
}

bool Sequences::define(const PendingNode& node, Elements elements) {
  sequences_[result_name(node)] = std::move(elements);
  return true;
}

bool Sequences::define(const PendingNode& node, ValueId value) {
  return emitter_.emit({"Identity", {value}, {}, {result_name(node)}, node.where, node.origin});
}

bool Sequences::read_place(const PendingNode& node, size_t operand, size_t size, int64_t last, size_t* place) {
  int64_t number = last;
  if (has_input(node, operand)) {
    const ir::Tensor* given = emitter_.constant(node.inputs[operand]);
    if (given == nullptr || given->count() != 1) {
      return emitter_.diags().error_at(Code::NotConstant, node.where, "the place in a sequence must be constant");
    }
    number = runtime::element_as_int(given->view(), 0);
  }
  const auto signed_size = static_cast<int64_t>(size);
  if (number < -signed_size || number > last) {
    return emitter_.diags().error_at(Code::BadModel, node.where, "place {} of a sequence of {}", number, size);
  }
  *place = static_cast<size_t>(number < 0 ? number + signed_size : number);
  return true;
}

bool Sequences::construct(const PendingNode& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!has_input(node, i)) return unsupported(node, emitter_, "a sequence of sequences is not supported");
  }
  return define(node, node.inputs);
}

bool Sequences::insert(const PendingNode& node, Elements elements) {
  if (!has_input(node, 1)) return unsupported(node, emitter_, "what is put into a sequence must be a tensor");
  size_t place;
  if (!read_place(node, 2, elements.size(), static_cast<int64_t>(elements.size()), &place)) return false;
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(place), node.inputs[1]);
  return define(node, std::move(elements));
}

bool Sequences::erase(const PendingNode& node, Elements elements) {
  size_t place;
  if (!read_place(node, 1, elements.size(), static_cast<int64_t>(elements.size()) - 1, &place)) return false;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
  return define(node, std::move(elements));
}

bool Sequences::at(const PendingNode& node, const Elements& elements) {
  size_t place;
  if (!read_place(node, 1, elements.size(), static_cast<int64_t>(elements.size()) - 1, &place)) return false;
  return define(node, elements[place]);
}

bool Sequences::length(const PendingNode& node, const Elements& elements) {
  return define(node, emitter_.add_scalar(name_for(node, "length"), DType::I64, static_cast<double>(elements.size())));
}

bool Sequences::concat(const PendingNode& node, const Elements& elements) {
  if (elements.empty()) return unsupported(node, emitter_, "a concatenation of no tensors");
  const int64_t axis = node.attrs.get_int("axis", 0);
  Elements parts = elements;
  if (node.attrs.get_int("new_axis", 0) != 0) {
    const ValueId axes = emitter_.add_ints(name_for(node, "axes"), {axis});
    for (ValueId& part : parts) {
      part = emitter_.emit_before(node, "Unsqueeze", {part, axes}, {}, name_for(node, "part"));
      if (!part.is_valid()) return false;
    }
  }
  AttrMap attrs;
  attrs.set("axis", axis);
  return emitter_.emit({"Concat", parts, attrs, {result_name(node)}, node.where, node.origin});
}

bool Sequences::split(const PendingNode& node) {
  if (!has_input(node, 0)) return unsupported(node, emitter_, "only a tensor can be split");
  const Shape shape = emitter_.type(node.inputs[0]).shape;
  int64_t axis = node.attrs.get_int("axis", 0);
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank) {
    return emitter_.diags().error_at(Code::BadAttribute, node.where, "axis {} is out of range", axis);
  }
  if (axis < 0) axis += rank;
  Ints sizes;
  if (!read_sizes(node, emitter_, shape[static_cast<size_t>(axis)], &sizes)) return false;
  if (sizes.empty() || static_cast<int64_t>(sizes.size()) > kMostParts) {
    return unsupported(node, emitter_, "a sequence of " + std::to_string(sizes.size()) + " parts");
  }
  AttrMap attrs;
  attrs.set("axis", axis);
  std::vector<std::string> names;
  for (size_t i = 0; i < sizes.size(); ++i) names.push_back(emitter_.take_name(name_for(node, "part"), true));
  const ValueId list = emitter_.add_ints(name_for(node, "sizes"), sizes);
  if (!emitter_.emit({"Split", {node.inputs[0], list}, attrs, names, node.where, node.origin})) return false;
  Elements parts;
  const bool drops_axis = !has_input(node, 1) && node.attrs.get_int("keepdims", 1) == 0;
  const ValueId axes = drops_axis ? emitter_.add_ints(name_for(node, "axes"), {axis}) : ValueId();
  for (const std::string& name : names) {
    ValueId part = emitter_.graph().find_value(name);
    if (drops_axis) part = emitter_.emit_before(node, "Squeeze", {part, axes}, {}, name);
    if (!part.is_valid()) return false;
    parts.push_back(part);
  }
  return define(node, std::move(parts));
}

bool Sequences::make_optional(const PendingNode& node, const std::string& input) {
  if (has_input(node, 0)) return define(node, node.inputs[0]);
  if (sequences_.contains(input)) return define(node, sequences_.find(input)->second);
  empty_.insert(result_name(node));
  return true;
}

bool Sequences::has_element(const PendingNode& node, const std::string& input) {
  const bool has_one = has_input(node, 0) || sequences_.contains(input);
  return define(node, emitter_.add_scalar(name_for(node, "answer"), DType::Bool, has_one ? 1 : 0));
}

bool Sequences::add(PendingNode node, const std::vector<std::string>& inputs) {
  const std::string first = inputs.empty() ? "" : inputs[0];
  const auto sequence = sequences_.find(first);
  const bool is_sequence = sequence != sequences_.end();
  if (node.op == "SequenceConstruct") return construct(node);
  if (node.op == "SequenceEmpty") return define(node, Elements());
  if (node.op == "SplitToSequence") return split(node);
  if (node.op == "OptionalHasElement") return has_element(node, first);
  if (node.op == "Optional") return make_optional(node, first);
  if (node.op == "OptionalGetElement" || node.op == "Identity") {
    if (empty_.contains(first)) {
      if (node.op == "Identity") return make_optional(node, "");
      return emitter_.diags().error_at(Code::BadModel, node.where, "`{}` has no element", first);
    }
    return is_sequence ? define(node, sequence->second)
                       : define(node, node.inputs.empty() ? ValueId() : node.inputs[0]);
  }
  if (is_sequence) {
    if (node.op == "SequenceInsert") return insert(node, sequence->second);
    if (node.op == "SequenceErase") return erase(node, sequence->second);
    if (node.op == "SequenceAt") return at(node, sequence->second);
    if (node.op == "SequenceLength") return length(node, sequence->second);
    if (node.op == "ConcatFromSequence") return concat(node, sequence->second);
  }
  return unsupported(node, emitter_, "it reads a sequence or an optional value, which only operators of these can do");
}

}  // namespace collage::import
