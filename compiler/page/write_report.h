// SPDX-License-Identifier: Apache-2.0
// The page of `--report`: one HTML file with everything in it, that loads nothing.
//
//     report.html   … <!-- @style@ --> … <!-- @data@ --> … <!-- @scripts@ -->   =>   the same with the files in place
//
// The data (report_data.h) is a script of the type application/json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "compiler/page/page_assets.h"
#include "runtime/support/diagnostic.h"

namespace collage::page {

/// JSON that can stand in a script element: nothing in it ends the element, or begins a comment.
std::string script_text(const nlohmann::ordered_json& json);

/// Text that can stand in an element.
std::string element_text(std::string_view text);

/// The page of these assets. `title`: plain text.
std::string page_text(std::span<const PageAsset> assets, std::string_view title, const nlohmann::ordered_json& data);

/// Whether this build can make pages. Reports an error otherwise.
bool can_report(support::Diagnostics& diags);

/// Returns false after a CannotWrite error.
bool write_report(const std::string& path, const nlohmann::ordered_json& data, support::Diagnostics& diags);

}  // namespace collage::page
