// SPDX-License-Identifier: Apache-2.0
// A schedule as a LibraryKernel: memory, primitives, runs.
#pragma once

#include <memory>

#include "runtime/libraries/library.h"
#include "runtime/libraries/onednn/schedule.h"

namespace collage::runtime::onednn {

std::unique_ptr<LibraryKernel> make_kernel(Schedule schedule, int threads);

}  // namespace collage::runtime::onednn
