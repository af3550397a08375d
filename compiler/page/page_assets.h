// SPDX-License-Identifier: Apache-2.0
// The files that the page of `--report` is made of, as they were when the compiler was built: those of page/, the
// libraries that draw it, and their licences. `page_assets.cmake` puts them into the program.
#pragma once

#include <span>
#include <string_view>

namespace collage::page {

struct PageAsset {
  std::string_view name;  ///< `report.css`, `d3.min.js`, `node-d3 copyright`
  std::string_view text;
};

/// The page, its style, its scripts in the order in which they run, and the licences. Empty where the build has not the
/// libraries.
std::span<const PageAsset> page_assets();

}  // namespace collage::page
