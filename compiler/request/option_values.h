// SPDX-License-Identifier: Apache-2.0
// The values of one option: from text into the request, and back.
#pragma once

#include <string>
#include <vector>

#include "compiler/request/option_table.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// Reads the texts; those of a list are added to it. `where` names the option in messages. After an error the request
/// is as it was. False after an error.
bool set_values(const OptionRow& row, const std::vector<std::string>& texts, const std::string& where, Request& request,
                support::Diagnostics& diags);

/// The same by the name of a setting of `collage_compiler_set`: an empty text clears a list, a flag is `true` or
/// `false`.
bool set_by_name(const std::string& name, const std::string& text, Request& request, support::Diagnostics& diags);

/// Sets a flag.
void set_flag(const OptionRow& row, Request& request);

/// The values as they would be given. Empty: there are none, a flag is not set.
std::vector<std::string> texts_of(const OptionRow& row, const Request& request);

/// Whether the values differ from those of a request without options.
bool is_given(const OptionRow& row, const Request& request);

/// The default as text; empty for a flag and where there is none.
std::string initial_text(const OptionRow& row);

/// The paths in the values of a row whose values name files.
std::vector<std::string> paths_of(const OptionRow& row, const Request& request);

}  // namespace collage::request
