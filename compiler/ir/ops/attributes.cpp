// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/ops/attributes.h"

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::ir {

std::string_view phrase_of(AttrKind kind) {
  switch (kind) {
    case AttrKind::Int: return "an int";
    case AttrKind::Float: return "a float";
    case AttrKind::String: return "a string";
    case AttrKind::Ints: return "a list of ints";
    case AttrKind::Floats: return "a list of floats";
    case AttrKind::Strings: return "a list of strings";
    case AttrKind::Tensor: return "a tensor";
  }
  return "";
}

bool AttrDef::is_required() const {
  const NoDefault* none = std::get_if<NoDefault>(&value);
  return none != nullptr && *none == Required;
}

std::optional<runtime::AttrValue> AttrDef::default_value() const {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
  if (const auto* list = std::get_if<runtime::Ints>(&value)) return *list;
  return std::nullopt;
}

template <class T>
const T* AttrView::default_of(std::string_view name) const {
  const AttrDef* def = op_->find_attr(name);
  return def != nullptr ? std::get_if<T>(&def->value) : nullptr;
}

int64_t AttrView::int_of(std::string_view name) const {
  const auto* otherwise = default_of<int64_t>(name);
  return written_->get_int(name, otherwise != nullptr ? *otherwise : 0);
}

double AttrView::float_of(std::string_view name) const {
  const auto* otherwise = default_of<double>(name);
  return written_->get_float(name, otherwise != nullptr ? *otherwise : 0);
}

std::string AttrView::string_of(std::string_view name) const {
  const auto* otherwise = default_of<std::string_view>(name);
  return written_->get_string(name, std::string(otherwise != nullptr ? *otherwise : ""));
}

runtime::Ints AttrView::ints_of(std::string_view name) const {
  const auto* otherwise = default_of<runtime::Ints>(name);
  return written_->get_ints(name, otherwise != nullptr ? *otherwise : runtime::Ints());
}

AttrView attrs_of(const Node& node) {
  return {*node.op, node.attrs};
}

}  // namespace collage::ir
