// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/repeats.h"

namespace collage::measure {
namespace {

constexpr int kMostDisturbed = 3;  ///< repeats in a row

}  // namespace

Measurement with_second_try(const Measuring& measure) {
  Measurement first = measure();
  return first.failed() && !first.lasting ? measure() : first;
}

bool Repeats::have_stopped() const {
  return disturbed_ == kMostDisturbed;
}

Measurement Repeats::better_of(const Measurement& first, const Measuring& again) {
  if (first.failed()) return first;
  if (first.disturbance.empty()) disturbed_ = 0;
  if (first.disturbance.empty() || have_stopped()) return first;
  Measurement second = again();
  disturbed_ = second.disturbance.empty() ? 0 : disturbed_ + 1;
  return after_repeat(first, second);
}

}  // namespace collage::measure
