// SPDX-License-Identifier: Apache-2.0
// The tables of costs (cost_database.h), for both engines.
#pragma once

#include <cstdint>

namespace collage::measure {

/// Tables of other versions are refused: it changes with every change below, and with that of the queue of a fleet
/// (fleet/queue_schema.h).
inline constexpr int64_t kTablesVersion = 6;

inline constexpr const char* kSqliteTables = R"sql(
  CREATE TABLE environment(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  CREATE TABLE measurement(
    environment INTEGER NOT NULL REFERENCES environment(id), candidate TEXT NOT NULL,
    cost_ps INTEGER NOT NULL, spread_ps INTEGER NOT NULL, runs INTEGER NOT NULL,
    failure TEXT NOT NULL, timeout_ps INTEGER NOT NULL,
    date INTEGER NOT NULL DEFAULT 0, disturbance TEXT NOT NULL DEFAULT '', repeated INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(environment, candidate)) WITHOUT ROWID;
  CREATE TABLE reference(machine TEXT PRIMARY KEY, reference_ps INTEGER NOT NULL, date INTEGER NOT NULL) WITHOUT ROWID;
)sql";

/// The index of a text that may have 100 kB holds its digest in PostgreSQL; statements compare the digest, to find the
/// row, and the whole text, which is what the key is.
inline constexpr const char* kPostgresTables = R"sql(
  CREATE FUNCTION collage.text_digest(text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT sha256(convert_to($1, 'UTF8')) $$;
  CREATE TABLE collage.environment(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL);
  CREATE UNIQUE INDEX environment_key ON collage.environment(collage.text_digest(text));
  CREATE TABLE collage.measurement(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment bigint NOT NULL REFERENCES collage.environment(id), candidate text NOT NULL,
    cost_ps bigint NOT NULL, spread_ps bigint NOT NULL, runs bigint NOT NULL,
    failure text NOT NULL, timeout_ps bigint NOT NULL,
    date bigint NOT NULL DEFAULT 0, disturbance text NOT NULL DEFAULT '', repeated bigint NOT NULL DEFAULT 0);
  CREATE UNIQUE INDEX measurement_key ON collage.measurement(environment, collage.text_digest(candidate));
  CREATE TABLE collage.reference(machine text NOT NULL, reference_ps bigint NOT NULL, date bigint NOT NULL);
  CREATE UNIQUE INDEX reference_key ON collage.reference(collage.text_digest(machine));
)sql";

}  // namespace collage::measure
