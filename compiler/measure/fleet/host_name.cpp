// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/host_name.h"

#include <sys/utsname.h>

namespace collage::measure::fleet {

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

}  // namespace collage::measure::fleet
