// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/costs/noise.h"

#include <cmath>
#include <map>

namespace collage::place {

runtime::Duration noise_between(const std::vector<MeasuredPart>& a, const std::vector<MeasuredPart>& b) {
  struct Use {
    int times = 0;
    double spread = 0;
  };
  std::map<int, Use> uses;
  double sum = 0;
  const auto add = [&](const std::vector<MeasuredPart>& parts, int times) {
    for (const MeasuredPart& part : parts) {
      const double spread = part.spread.seconds();
      if (part.measurement < 0) {
        sum += spread * spread;
      } else {
        uses[part.measurement].times += times;
        uses[part.measurement].spread = spread;
      }
    }
  };
  add(a, 1);
  add(b, -1);
  for (const auto& [measurement, use] : uses) sum += std::pow(use.times * use.spread, 2);
  return runtime::Duration::seconds(std::sqrt(sum));
}

}  // namespace collage::place
