// SPDX-License-Identifier: Apache-2.0
// `collage-rules fmt`: formats files in place, and folders of them; `-` stands for standard input and output.
#pragma once

#include <string>
#include <vector>

#include "runtime/support/diagnostic.h"

namespace collage::rules_tool {

struct FormatOptions {
  bool only_check = false;
  bool allow_outside = false;  ///< links in a folder may lead out of it
};

/// Prints the names of the files that changed; with `only_check` those that would, and changes none. False after
/// errors, and where a file would change under `only_check`. A file that does not parse stays as it is.
bool format_files(support::SourceManager& sources, const std::vector<std::string>& paths, const FormatOptions& options,
                  support::Diagnostics& diags);

}  // namespace collage::rules_tool
