// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/attribute_kinds.h"

#include <fmt/format.h>

#include <array>

namespace collage::import {
namespace {

using ir::AttrKind;
using runtime::AttrValue;
using runtime::Floats;
using runtime::Ints;

struct NamedKind {
  std::string_view op;  ///< empty: every operator
  std::string_view name;
  AttrKind kind;
};

// What rewrites of `upgrade.cpp`, sequences and operators of the host read. A name with several kinds is given for each
// operator; `to` of Cast and `p` of norms are left to their rewrites.
constexpr std::array kNamedKinds = {
    NamedKind{"", "antialias", AttrKind::Int},
    NamedKind{"", "axes", AttrKind::Ints},
    NamedKind{"", "axis", AttrKind::Int},
    NamedKind{"", "block_size", AttrKind::Int},
    NamedKind{"", "broadcast", AttrKind::Int},
    NamedKind{"", "directions", AttrKind::Ints},
    NamedKind{"", "dtype", AttrKind::Int},
    NamedKind{"", "ends", AttrKind::Ints},
    NamedKind{"", "extra_shape", AttrKind::Ints},
    NamedKind{"", "height_scale", AttrKind::Float},
    NamedKind{"", "input_as_shape", AttrKind::Int},
    NamedKind{"", "is_test", AttrKind::Int},
    NamedKind{"", "k", AttrKind::Int},
    NamedKind{"", "keep_aspect_ratio_policy", AttrKind::String},
    NamedKind{"", "keepdims", AttrKind::Int},
    NamedKind{"", "max", AttrKind::Float},
    NamedKind{"", "min", AttrKind::Float},
    NamedKind{"", "mode", AttrKind::String},
    NamedKind{"", "momentum", AttrKind::Float},
    NamedKind{"", "new_axis", AttrKind::Int},
    NamedKind{"", "noop_with_empty_axes", AttrKind::Int},
    NamedKind{"", "num_outputs", AttrKind::Int},
    NamedKind{"", "num_scan_inputs", AttrKind::Int},
    NamedKind{"", "output_dtype", AttrKind::Int},
    NamedKind{"", "output_sequence", AttrKind::Int},
    NamedKind{"", "paddings", AttrKind::Ints},
    NamedKind{"", "pads", AttrKind::Ints},
    NamedKind{"", "precision", AttrKind::Int},
    NamedKind{"", "ratio", AttrKind::Float},
    NamedKind{"", "round_mode", AttrKind::String},
    NamedKind{"", "saturate", AttrKind::Int},
    NamedKind{"", "scales", AttrKind::Floats},
    NamedKind{"", "scan_input_axes", AttrKind::Ints},
    NamedKind{"", "scan_input_directions", AttrKind::Ints},
    NamedKind{"", "scan_output_axes", AttrKind::Ints},
    NamedKind{"", "scan_output_directions", AttrKind::Ints},
    NamedKind{"", "shape", AttrKind::Ints},
    NamedKind{"", "spatial", AttrKind::Int},
    NamedKind{"", "split", AttrKind::Ints},
    NamedKind{"", "starts", AttrKind::Ints},
    NamedKind{"", "stash_type", AttrKind::Int},
    NamedKind{"", "storage_order", AttrKind::Int},
    NamedKind{"", "training_mode", AttrKind::Int},
    NamedKind{"", "width_scale", AttrKind::Float},
    NamedKind{"Constant", "value", AttrKind::Tensor},
    NamedKind{"Constant", "value_float", AttrKind::Float},
    NamedKind{"Constant", "value_floats", AttrKind::Floats},
    NamedKind{"Constant", "value_int", AttrKind::Int},
    NamedKind{"Constant", "value_ints", AttrKind::Ints},
    NamedKind{"ConstantFill", "value", AttrKind::Float},
    NamedKind{"Pad", "value", AttrKind::Float},
};

std::optional<double> exact_float(int64_t value) {
  const auto rounded = static_cast<float>(value);
  // From 2^63 on there is no int64 to compare with.
  if (rounded >= 0x1p63F || static_cast<int64_t>(rounded) != value) return std::nullopt;
  return static_cast<double>(value);
}

}  // namespace

std::optional<std::string> fit_attribute(std::string_view op, ir::AttrMap& attrs, std::string_view name,
                                         AttrKind kind) {
  const AttrValue* value = attrs.find(name);
  if (value == nullptr || value->index() == static_cast<size_t>(kind)) return std::nullopt;
  const auto inexact = [&](int64_t number) {
    return fmt::format("attribute `{}` of `{}` is a float, and {} is none of 32 bits", name, op, number);
  };
  const auto* number = std::get_if<int64_t>(value);
  if (number != nullptr && kind == AttrKind::Float) {
    const std::optional<double> exact = exact_float(*number);
    if (!exact) return inexact(*number);
    attrs.set(std::string(name), *exact);
    return std::nullopt;
  }
  const auto* numbers = std::get_if<Ints>(value);
  if (numbers != nullptr && kind == AttrKind::Floats) {
    Floats floats;
    for (int64_t each : *numbers) {
      const std::optional<double> exact = exact_float(each);
      if (!exact) return inexact(each);
      floats.push_back(*exact);
    }
    attrs.set(std::string(name), std::move(floats));
    return std::nullopt;
  }
  // `[]` is written for every kind of list.
  if (numbers != nullptr && numbers->empty() && kind == AttrKind::Strings) {
    attrs.set(std::string(name), runtime::Strings());
    return std::nullopt;
  }
  return fmt::format("attribute `{}` of `{}` is {}, needs {}", name, op,
                     ir::phrase_of(static_cast<AttrKind>(value->index())), ir::phrase_of(kind));
}

std::optional<std::string> fit_foreign_attributes(std::string_view op, ir::AttrMap& attrs) {
  for (const NamedKind& row : kNamedKinds) {
    if (!row.op.empty() && row.op != op) continue;
    if (auto problem = fit_attribute(op, attrs, row.name, row.kind)) return problem;
  }
  return std::nullopt;
}

}  // namespace collage::import
