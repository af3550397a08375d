// SPDX-License-Identifier: Apache-2.0
// The files that a request writes: that they can be written is known before any work.
#pragma once

#include <filesystem>
#include <string>

#include "compiler/request/requests.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// The package that is written where no option names one: `MODEL.collage`, in the working directory.
std::string package_name(const std::filesystem::path& model);

/// Whether a new folder can be written there: nothing or an empty folder is there, and folders above it can be made.
/// Returns false after a CannotWrite error.
bool can_make_folder(const std::filesystem::path& path, support::Diagnostics& diags);

/// Whether all files can be written that options name, the package, and the folder of `bisect`. Returns false after a
/// CannotWrite error.
bool check_outputs(const Request& request, support::Diagnostics& diags);

}  // namespace collage::request
