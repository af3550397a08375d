// SPDX-License-Identifier: Apache-2.0
// `collage-measure --serve postgresql://…`: a worker that measures what compilers anywhere ask for over a server
// (compiler/measure/fleet/). It ends at SIGINT, SIGTERM or SIGHUP, and gives back what it was about to measure.
#pragma once

#include "compiler/tools/collage-measure/measure_options.h"

namespace collage::tools {

/// Returns an exit code.
int serve_others(const MeasureOptions& options);

}  // namespace collage::tools
