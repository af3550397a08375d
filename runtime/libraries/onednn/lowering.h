// SPDX-License-Identifier: Apache-2.0
// One function per group of operators, named in lowerings.def.
#pragma once

#include <string>

#include "runtime/libraries/onednn/builder.h"

namespace collage::runtime::onednn {

/// Schedules operator `index`, or says why oneDNN cannot run it.
using Lowering = Status (*)(Builder& builder, int index);

#define LOWERING(op, function) Status function(Builder& builder, int index);
#include "runtime/libraries/onednn/lowerings.def"
#undef LOWERING

/// The row of an operator, or null.
Lowering find_lowering(std::string_view op);

/// A primitive descriptor that is empty where oneDNN has no implementation: its constructors throw for shapes that it
/// refuses outright.
template <typename Primitive>
dnnl::primitive_desc_base make_primitive(const typename Primitive::desc& desc, const dnnl::primitive_attr& attr) {
  return typename Primitive::primitive_desc(desc, attr, cpu_engine(), true);
}

}  // namespace collage::runtime::onednn
