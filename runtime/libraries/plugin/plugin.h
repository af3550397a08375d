// SPDX-License-Identifier: Apache-2.0
// Shared libraries of vendors (include/collage/plugin.h) as libraries: their names are `plugin:PATH`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/libraries/library.h"

namespace collage::runtime {

inline constexpr std::string_view kPluginPrefix = "plugin:";

/// The library name of the plug-in that a rule file names: the first that exists of the rule file's folder and the
/// folders of COLLAGE_PLUGIN_PATH; the former where there is none, so that the reason of its absence names it.
std::string plugin_library(const std::string& file, const std::string& rule_file);

/// Empty if the plug-in can be loaded and has our version of the ABI; else why not. It stays loaded.
std::string plugin_absence(std::string_view library);

/// The parts of library.h for names with the prefix.
Result<std::unique_ptr<LibraryKernel>> prepare_plugin(std::string_view library, const LibraryProgram& program,
                                                      int threads);
std::string version_of_plugin(std::string_view library);

}  // namespace collage::runtime
