// SPDX-License-Identifier: Apache-2.0
// Finds the files that were installed, or built, together with the program or shared library that this code is in:
//
//     /usr/bin/collagec                                    share/collage/rules => /usr/share/collage/rules
//     /usr/lib/x86_64-linux-gnu/libcollage_compiler.so.0   bin/collage-measure => /usr/bin/collage-measure
//
// No path is compiled in, so that an installation can be moved.
#pragma once

#include <string>

namespace collage::support {

/// Absolute path of a file or folder, by its name below the prefix. Empty where it does not exist.
std::string installed_file(const std::string& name);

}  // namespace collage::support
