// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/compositions/flex_attention.h"

#include <algorithm>
#include <cmath>

#include "compiler/import/compositions/attend.h"

namespace collage::import {

using ir::DType;
using ir::ValueId;

ValueId FlexAttention::scores() {
  for (size_t operand : {0, 1, 2}) {
    if (!c_.need_rank(operand, 4, 4)) return {};
  }
  Attend a;
  a.q = c_.in(0);
  a.k = c_.in(1);
  a.v = c_.in(2);
  const bool fits = has_fitting_shapes(c_, a) && c_.need(runtime::is_float(c_.dtype(a.q)), "queries are no floats") &&
                    c_.need(c_.dim(a.q, 0) == c_.dim(a.k, 0) && c_.dim(a.q, 0) == c_.dim(a.v, 0),
                            "queries, keys and values have different batches");
  if (!fits) return {};
  const DType own = c_.dtype(a.q);
  const std::optional<DType> type = softmax_precision(c_, own == DType::F64 ? own : DType::F32);
  if (!type) return {};
  const double scale = c_.attr("scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, c_.dim(a.q, 3)))));
  const ValueId keys = c_.transpose(repeat_heads(c_, a.k, c_.dim(a.q, 1)), {0, 1, 3, 2});
  return c_.cast(scaled_products(c_, a.q, keys, scale), *type);
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
