// SPDX-License-Identifier: Apache-2.0
// What a file of costs, which others may have written, can make SQLite do: nothing but read and write rows of the
// tables that cost_schema.h knows, and no more of that than a sound file of its size asks for.
#pragma once

#include <string>

#include "runtime/core/status.h"

struct sqlite3;

namespace collage::measure {

/// The longest text of a row.
inline constexpr int kMostRowText = 16 << 20;

/// Fails for what is no file: a pipe or a device with a name, which would be waited for. What is not there is none.
/// Fails, too, where the journal beside it names a file: SQLite takes that for the journal of several databases and
/// removes it, whatever it is.
runtime::Status check_is_file(const std::string& path);

/// Lets an open database run no views, triggers or functions, take no longer texts, and stop statements that do not
/// end.
void set_limits(sqlite3* database, const std::string& path);

}  // namespace collage::measure
