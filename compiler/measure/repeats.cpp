// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/repeats.h"

namespace collage::measure {
namespace {

constexpr int kMostInVain = 3;

}  // namespace

Measurement with_second_try(const Measuring& measure) {
  Measurement first = measure();
  return first.failed() && !first.lasting ? measure() : first;
}

bool Repeats::are_in_vain() const {
  return in_vain_ == kMostInVain;
}

Measurement Repeats::better_of(const Measurement& first, const Measuring& again) {
  if (first.failed()) return first;
  if (first.disturbance.empty()) in_vain_ = 0;
  if (first.disturbance.empty() || are_in_vain()) return first;
  Measurement second = again();
  in_vain_ = second.disturbance.empty() ? 0 : in_vain_ + 1;
  return is_better(second, first) ? second : first;
}

}  // namespace collage::measure
