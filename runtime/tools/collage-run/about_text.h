// SPDX-License-Identifier: Apache-2.0
// What `collage-run --about` prints of a package.
#pragma once

#include <string>

#include "runtime/core/status.h"
#include "runtime/package/package.h"

namespace collage::tools {

/// Lines for people: inputs and outputs, what runs where and for how long, which of it is a model of a chip, and what
/// the package needs of a machine. Of several specialisations the placement is that of the last. Reads all parts of
/// hosts; fails as PackageSet::load.
runtime::Result<std::string> about_text(const runtime::PackageSet& set);

}  // namespace collage::tools
