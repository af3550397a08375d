// SPDX-License-Identifier: Apache-2.0
// Who is informed of the work of a compilation.
#pragma once

#include "compiler/execution/work_listener.h"

namespace collage::driver {

using execution::Progress;
using execution::Work;
using execution::WorkListener;
using execution::WorkScope;

}  // namespace collage::driver
