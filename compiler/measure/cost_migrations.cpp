// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_migrations.h"

#include <algorithm>

#include "compiler/measure/fleet/queue_schema.h"

namespace collage::measure {

const std::vector<Migration>& migrations() {
  // PostgreSQL's index of a text that may have 100 kB holds a digest; statements compare the digest, to find the row,
  // and the whole text, which is what the key is.
  static const std::vector<Migration> all = {
      {1,
       R"(
         CREATE TABLE environment(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
         CREATE TABLE measurement(
           environment INTEGER NOT NULL REFERENCES environment(id), candidate TEXT NOT NULL,
           cost_ps INTEGER NOT NULL, spread_ps INTEGER NOT NULL, runs INTEGER NOT NULL,
           failure TEXT NOT NULL, timeout_ps INTEGER NOT NULL,
           PRIMARY KEY(environment, candidate)) WITHOUT ROWID;
       )",
       R"(
         CREATE FUNCTION collage.text_digest(text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
           AS $$ SELECT sha256(convert_to($1, 'UTF8')) $$;
         CREATE TABLE collage.environment(
           id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL);
         CREATE UNIQUE INDEX environment_key ON collage.environment(collage.text_digest(text));
         CREATE TABLE collage.measurement(
           id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
           environment bigint NOT NULL REFERENCES collage.environment(id), candidate text NOT NULL,
           cost_ps bigint NOT NULL, spread_ps bigint NOT NULL, runs bigint NOT NULL,
           failure text NOT NULL, timeout_ps bigint NOT NULL);
         CREATE UNIQUE INDEX measurement_key ON collage.measurement(environment, collage.text_digest(candidate));
       )"},
      {2,
       R"(
         ALTER TABLE measurement ADD COLUMN date INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE measurement ADD COLUMN disturbance TEXT NOT NULL DEFAULT '';
         CREATE TABLE reference(machine TEXT PRIMARY KEY, reference_ps INTEGER NOT NULL, date INTEGER NOT NULL) WITHOUT ROWID;
       )",
       R"(
         ALTER TABLE collage.measurement ADD COLUMN date bigint NOT NULL DEFAULT 0;
         ALTER TABLE collage.measurement ADD COLUMN disturbance text NOT NULL DEFAULT '';
         CREATE TABLE collage.reference(machine text NOT NULL, reference_ps bigint NOT NULL, date bigint NOT NULL);
         CREATE UNIQUE INDEX reference_key ON collage.reference(collage.text_digest(machine));
       )"},
      {3, nullptr, fleet::kQueueTables},
      {4, nullptr, fleet::kQueueAskers},
  };
  return all;
}

int64_t newest_version(const char* Migration::*engine) {
  int64_t newest = 0;
  for (const Migration& one : migrations()) {
    if (one.*engine != nullptr) newest = std::max(newest, one.version);
  }
  return newest;
}

}  // namespace collage::measure
