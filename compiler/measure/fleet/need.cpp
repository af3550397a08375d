// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/need.h"

#include "compiler/measure/environment.h"

namespace collage::measure::fleet {

std::string need_of(const std::string& environment) {
  Environment need = parse_environment(environment);
  need.threads.clear();
  need.numerics.clear();
  need.code_for.clear();
  return to_text(need);
}

}  // namespace collage::measure::fleet
