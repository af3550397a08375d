// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/compositions/flex_attention.h"

#include <algorithm>
#include <cmath>

#include "compiler/import/compositions/attend.h"
#include "compiler/import/proto.h"

namespace collage::import {
namespace {

using ir::DType;
using ir::ValueId;

/// Of scores and probabilities; nullopt, after an error, for what is no float.
std::optional<DType> precision(Composition& c) {
  const DType own = c.dtype(c.in(0));
  if (!c.has_attr("softmax_precision")) return own == DType::F64 ? own : DType::F32;
  const auto stated = static_cast<int>(c.attr("softmax_precision", int64_t{0}));
  const std::optional<DType> dtype = dtype_of(stated);
  if (!c.need(dtype && runtime::is_float(*dtype), fmt::format("softmax in {}", element_name(stated)))) return {};
  return dtype;
}

}  // namespace

ValueId FlexAttention::scores() {
  for (size_t operand : {0, 1, 2}) {
    if (!c_.need_rank(operand, 4, 4)) return {};
  }
  const ValueId q = c_.in(0), k = c_.in(1), v = c_.in(2);
  if (!c_.need(runtime::is_float(c_.dtype(q)), "queries are no floats") ||
      !c_.need(c_.dim(q, 0) == c_.dim(k, 0) && c_.dim(q, 0) == c_.dim(v, 0),
               "queries, keys and values have different batches")) {
    return {};
  }
  const bool fits =
      c_.need(c_.dim(q, 3) == c_.dim(k, 3),
              fmt::format("queries of {} and keys of {} numbers do not multiply", c_.dim(q, 3), c_.dim(k, 3))) &&
      c_.need(c_.dim(k, 2) == c_.dim(v, 2), fmt::format("{} keys for {} values", c_.dim(k, 2), c_.dim(v, 2)));
  const std::optional<DType> type = fits ? precision(c_) : std::nullopt;
  if (!type) return {};
  const double scale = c_.attr("scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, c_.dim(q, 3)))));
  const ValueId keys = c_.transpose(repeat_heads(c_, k, c_.dim(q, 1)), {0, 1, 3, 2});
  // Products of 16 bits overflow unless both sides are scaled before.
  if (size_of(c_.dtype(q)) >= 4) return c_.cast(c_.times(c_.add("MatMul", {q, keys}), scale), *type);
  const double root = std::sqrt(std::abs(scale));
  return c_.cast(c_.add("MatMul", {c_.times(q, std::copysign(root, scale)), c_.times(keys, root)}), *type);
}

ValueId FlexAttention::probabilities(ValueId scores) {
  return c_.add("Softmax", {scores}, Composition::attrs("axis", int64_t{-1}));
}

void FlexAttention::write_result(ValueId probabilities) {
  if (!c_.is_good()) return;
  const ValueId v = repeat_heads(c_, c_.in(2), c_.dim(c_.in(0), 1));
  const ValueId values = c_.cast(v, c_.dtype(probabilities));
  const DType own = c_.dtype(c_.in(0));
  if (own == c_.dtype(probabilities)) {
    c_.result(0, "MatMul", {probabilities, values});
  } else {
    c_.give(0, c_.cast(c_.add("MatMul", {probabilities, values}), own));
  }
}

}  // namespace collage::import
