// SPDX-License-Identifier: Apache-2.0
// The constants of host memory as executors read them: one region, each at its buffer's offset and in its form.
#pragma once

#include "runtime/plan/plan.h"

namespace collage::runtime {

/// Moves the host's constants of a plan into Plan::host_constants, one by one: data that nothing else shares is freed
/// as soon as it is copied. Does nothing where they lie there already, as in a plan that was read from a package.
void join_host_constants(Plan& plan);

}  // namespace collage::runtime
