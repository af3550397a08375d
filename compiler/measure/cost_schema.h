// SPDX-License-Identifier: Apache-2.0
// The tables of a database of costs (cost_database.h), and what older versions lack of them.
#pragma once

#include <cstdint>

#include "runtime/core/status.h"

struct sqlite3;

namespace collage::measure {

/// Returns the version of a sound database of costs; 0 of an empty file. Returns an error for any other file.
runtime::Result<int64_t> checked_schema(sqlite3* database);

/// Creates what the newest version has and this file lacks. Another process may do the same at the same time.
runtime::Status bring_up_to_date(sqlite3* database);

}  // namespace collage::measure
