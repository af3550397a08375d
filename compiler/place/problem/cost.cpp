// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/cost.h"

#include "compiler/support/check.h"

namespace collage::place {
namespace {

/// A time's text ends in `s`.
std::string in_unit_of(Cost cost, std::string time) {
  time.pop_back();
  return time + unit_name(cost);
}

}  // namespace

Cost Cost::joules(double joules) {
  const Cost scaled = time(runtime::Duration::seconds(joules));
  return scaled == max() ? max() : of(scaled.count(), Unit::Joules);
}

runtime::Duration Cost::time() const {
  COLLAGE_CHECK(unit_ != Unit::Joules, "an energy is no time");
  return runtime::Duration::picoseconds(count_);
}

std::string unit_name(Cost cost) {
  return cost.unit() == Cost::Unit::Joules ? "J" : "s";
}

std::string to_string(Cost cost) {
  return in_unit_of(cost, to_string(runtime::Duration::picoseconds(cost.count())));
}

std::string human(Cost cost) {
  return in_unit_of(cost, human(runtime::Duration::picoseconds(cost.count())));
}

}  // namespace collage::place
