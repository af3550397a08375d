// SPDX-License-Identifier: Apache-2.0
// Who is informed of the work of a compilation.
#pragma once

#include "runtime/runner/work_listener.h"

namespace collage::request {

using runner::Progress;
using runner::Work;
using runner::WorkListener;
using runner::WorkScope;

}  // namespace collage::request
