// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/compare_tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace collage::runner {
namespace {

double difference(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  double result = std::abs(got - want);
  return std::isnan(result) ? std::numeric_limits<double>::infinity() : result;
}

}  // namespace

TensorDifference compare(const runtime::Tensor& got, const runtime::Tensor& reference, double tolerance, double slack) {
  TensorDifference found;
  if (got.dtype() != reference.dtype() || got.shape() != reference.shape()) {
    found.max_difference = std::numeric_limits<double>::infinity();
    return found;
  }
  for (int64_t i = 0; i < reference.count(); ++i) {
    double want = runtime::element_as_double(reference.view(), i);
    found.max_difference = std::max(found.max_difference, difference(runtime::element_as_double(got.view(), i), want));
    // An infinite reference would let every finite error beside it pass.
    if (std::isfinite(want)) found.max_magnitude = std::max(found.max_magnitude, std::abs(want));
  }
  // Two computations that differ a little round to neighbours.
  if (runtime::size_of(reference.dtype()) < 4 && runtime::is_float(reference.dtype())) {
    tolerance = std::max(tolerance, runtime::epsilon_of(reference.dtype()));
  }
  if (runtime::is_float(reference.dtype())) {
    found.passed = found.max_difference <= tolerance * found.max_magnitude + slack;
  } else {
    const bool may_differ = slack >= 1 && reference.dtype() != runtime::DType::Bool;
    found.passed = runtime::identical(got, reference) || (may_differ && found.max_difference <= slack);
  }
  return found;
}

}  // namespace collage::runner
