// SPDX-License-Identifier: Apache-2.0
// What reference kernels take for granted, of calls that no inference has seen: those of a package's plan.
#pragma once

#include <span>
#include <string_view>

#include "runtime/core/attributes.h"
#include "runtime/core/status.h"

namespace collage::runtime {

/// What a call reads or writes, without its elements.
struct CallOperand {
  DType dtype = DType::F32;
  const Shape* shape = nullptr;  ///< null: absent

  bool is_absent() const { return shape == nullptr; }
};

/// Fails where operands are missing, or shapes, dtypes and attributes are not those with which the kernel stays inside
/// its operands. The operators of `call_rules.def` are examined, no others.
Status check_call(std::string_view op, const AttrMap& attrs, std::span<const CallOperand> inputs,
                  std::span<const CallOperand> outputs);

/// A row of the table, for tests.
struct CallRow {
  std::string_view op;
  int operands;
  bool is_pointwise;  ///< operands are broadcast to the result
};
std::span<const CallRow> call_rows();

}  // namespace collage::runtime
