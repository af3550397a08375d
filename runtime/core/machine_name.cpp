// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/machine_name.h"

#include <sys/utsname.h>

namespace collage::runtime {

std::string machine_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "an unknown machine";
}

}  // namespace collage::runtime
