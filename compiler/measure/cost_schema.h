// SPDX-License-Identifier: Apache-2.0
// The tables of a database of costs (cost_database.h): made where there are none, refused where they
// are of another version (cost_tables.h).
#pragma once

#include "compiler/measure/postgres/connection.h"
#include "runtime/core/status.h"

struct sqlite3;

namespace collage::measure {

/// Return whether there are tables, which are sound; false for an empty file. Return an error for anything else.
runtime::Result<bool> has_tables(sqlite3* database);
runtime::Result<bool> has_tables(postgres::Connection& server);

/// Create the tables where there are none. Other processes may do the same at the same time.
runtime::Status make_tables(sqlite3* database);
runtime::Status make_tables(postgres::Connection& server);

}  // namespace collage::measure
