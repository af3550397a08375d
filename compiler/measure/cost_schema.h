// SPDX-License-Identifier: Apache-2.0
// The tables of a database of costs (cost_database.h): their version, and how older ones get what they lack
// (cost_migrations.h).
#pragma once

#include <cstdint>

#include "compiler/measure/postgres/connection.h"
#include "runtime/core/status.h"

struct sqlite3;

namespace collage::measure {

/// Return the version of sound tables of costs; 0 of an empty file, or where there are none. Return an error for
/// anything else.
runtime::Result<int64_t> checked_schema(sqlite3* database);
runtime::Result<int64_t> checked_schema(postgres::Connection& server);

/// Create what the newest version has and this database lacks. Other processes may do the same at the same time.
runtime::Status bring_up_to_date(sqlite3* database);
runtime::Status bring_up_to_date(postgres::Connection& server);

}  // namespace collage::measure
