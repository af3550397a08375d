// SPDX-License-Identifier: Apache-2.0
// Shared libraries of vendors (include/collage/plugin.h) as libraries: their names are `plugin:PATH`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/libraries/library.h"

namespace collage::runtime {

inline constexpr std::string_view kPluginPrefix = "plugin:";

/// The library name of the plug-in that a rule file names: the first file that exists in the rule file's folder and the
/// folders of COLLAGE_PLUGIN_PATH. If none exists, the one in the rule file's folder, so that the error names it.
std::string plugin_library(const std::string& file, const std::string& rule_file);

/// Whether the name of a rule file is an absolute path or has `..` in it.
bool leads_out_of_its_folder(const std::string& file);

/// Returns the reason why the plug-in cannot be loaded or has another ABI version; empty if it can. It stays loaded.
std::string plugin_absence(std::string_view library);

/// The parts of library.h for names with the prefix.
Result<std::unique_ptr<LibraryKernel>> prepare_plugin(std::string_view library, const LibraryProgram& program,
                                                      int threads);
std::string version_of_plugin(std::string_view library);

}  // namespace collage::runtime
