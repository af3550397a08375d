// SPDX-License-Identifier: Apache-2.0
// The values of one option, from text into its field.
#pragma once

#include <string>
#include <vector>

#include "compiler/tools/collagec/option_table.h"

namespace collage::tools {

/// Returns what is wrong with the texts, or "" after they were stored.
std::string store(const OptionRow& row, const std::vector<std::string>& texts, CommandLine* into);

/// Sets a flag, or a field with `implies`.
void set_flag(const OptionRow& row, CommandLine* into);

/// The paths in the field of a row whose values name files.
std::vector<std::string> paths_of(const OptionRow& row, const driver::Options& options);

}  // namespace collage::tools
