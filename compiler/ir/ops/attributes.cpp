// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/ops/attributes.h"

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/support/check.h"

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

namespace {

/// The default of this type, or what stands for none.
template <class T>
T default_of(const AttrDef& def, T none) {
  const T* value = std::get_if<T>(&def.value);
  return value != nullptr ? *value : none;
}

}  // namespace

const AttrDef& AttrView::def_of(std::string_view name) const {
  const AttrDef* def = op_->find_attr(name);
  COLLAGE_CHECK(def != nullptr, "`{}` has no attribute `{}`", op_->name, name);
  return *def;
}

int64_t AttrView::int_of(std::string_view name) const {
  return written_->get_int(name, default_of<int64_t>(def_of(name), 0));
}

double AttrView::float_of(std::string_view name) const {
  return written_->get_float(name, default_of<double>(def_of(name), 0));
}

std::string AttrView::string_of(std::string_view name) const {
  return written_->get_string(name, std::string(default_of<std::string_view>(def_of(name), "")));
}

runtime::Ints AttrView::ints_of(std::string_view name) const {
  const AttrDef* def = op_->find_attr(name);
  return written_->get_ints(name, def != nullptr ? default_of<runtime::Ints>(*def, {}) : runtime::Ints());
}

bool AttrView::is_on(std::string_view name) const {
  return op_->find_attr(name) != nullptr && int_of(name) != 0;
}

AttrView attrs_of(const Node& node) {
  return {*node.op, node.attrs};
}

}  // namespace collage::ir
