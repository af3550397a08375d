// SPDX-License-Identifier: Apache-2.0
// The compiler from end to end: what `collagec` does with its options.
#pragma once

#include "compiler/driver/input/listener.h"
#include "compiler/driver/input/options.h"

namespace collage::driver {

/// Runs the stages up to where the options stop, prints results to standard output and diagnostics to standard error.
/// Returns the exit code: 0 done, 1 the input is at fault, 2 an option is.
int run_pipeline(const Options& options, const Listener& listener = {});

}  // namespace collage::driver
