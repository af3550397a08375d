// SPDX-License-Identifier: Apache-2.0
// The tables of the queue of a fleet, beside those of the costs in a PostgreSQL database (cost_tables.h).
//
//     collage.need(id, text)       what jobs need and workers have (need.h), each text once
//     collage.worker(id, …)        who measures: name, host, machine, build, and when it was last seen
//     collage.offer(worker, need)  what it can measure
//     collage.job(id, need, …)     candidates that have no cost yet; a row goes in the transaction that stores the cost
//     collage.measured_by(…)       who measured what, and when: a row for each measurement
//     collage.asker(id, …)         compilers that wait, and until when each counts as there
//     collage.asked_for(job, asker, …)       what each waits for, and what it asks of the measurement
//     collage.failed_by(job, host, name, …)  how often a worker failed a job, or was lost while it had its lease
//     collage.able                 who can measure a job: workers that are there, and compilers that wait for it
//
// A row of a job takes those of `asked_for` and `failed_by` with it.
#pragma once

namespace collage::measure::fleet {

/// `state` of a job: 0 waits, 1 is measured, 2 was given up. Jobs are claimed by their turn, which only the index of
/// those that wait has in order: no plan reads the rows of other needs to find the first. The table changes all the
/// time, so that it is tidied often. `tries` counts what a worker has failed of a job, `may_claim` leaves a job to
/// those who failed it less often.
inline constexpr const char* kQueueTables = R"sql(
  CREATE TABLE collage.need(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL);
  CREATE UNIQUE INDEX need_key ON collage.need(collage.text_digest(text));
  CREATE TABLE collage.worker(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL, host text NOT NULL, arch text NOT NULL, processor text NOT NULL,
    machine text NOT NULL, build text NOT NULL, backends text NOT NULL,
    lease_s double precision NOT NULL, seen timestamptz NOT NULL, gone boolean NOT NULL DEFAULT false,
    note text NOT NULL DEFAULT '');
  CREATE TABLE collage.offer(
    worker bigint NOT NULL REFERENCES collage.worker(id) ON DELETE CASCADE,
    need bigint NOT NULL REFERENCES collage.need(id), withheld boolean NOT NULL DEFAULT false,
    PRIMARY KEY(worker, need));
  CREATE INDEX offer_need ON collage.offer(need);
  CREATE TABLE collage.job(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, turn bigint GENERATED ALWAYS AS IDENTITY,
    need bigint NOT NULL REFERENCES collage.need(id),
    environment bigint NOT NULL REFERENCES collage.environment(id), candidate text NOT NULL,
    timeout_ps bigint NOT NULL, repeats boolean NOT NULL, asked bigint NOT NULL,
    state smallint NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0, failures integer NOT NULL DEFAULT 0,
    worker bigint, lease_end timestamptz,
    reason text NOT NULL DEFAULT '', crashed boolean NOT NULL DEFAULT false)
    WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
  CREATE UNIQUE INDEX job_key ON collage.job(environment, collage.text_digest(candidate));
  CREATE INDEX job_waiting ON collage.job(need, turn) WHERE state = 0;
  CREATE INDEX job_leased ON collage.job(lease_end) WHERE state = 1;
  CREATE TABLE collage.measured_by(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment bigint NOT NULL, candidate_digest bytea NOT NULL,
    worker text NOT NULL, host text NOT NULL, attempt integer NOT NULL, seconds double precision NOT NULL,
    ended timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE INDEX measured_by_key ON collage.measured_by(environment, candidate_digest);
  CREATE TABLE collage.asker(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL, host text NOT NULL, until timestamptz NOT NULL);
  CREATE TABLE collage.asked_for(
    job bigint NOT NULL REFERENCES collage.job(id) ON DELETE CASCADE,
    asker bigint NOT NULL REFERENCES collage.asker(id) ON DELETE CASCADE,
    timeout_ps bigint NOT NULL, repeats boolean NOT NULL, measures boolean NOT NULL,
    PRIMARY KEY(job, asker))
    WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX asked_for_asker ON collage.asked_for(asker);
  CREATE TABLE collage.failed_by(
    job bigint NOT NULL REFERENCES collage.job(id) ON DELETE CASCADE,
    host text NOT NULL, name text NOT NULL, failures integer NOT NULL DEFAULT 0, lost integer NOT NULL DEFAULT 0,
    PRIMARY KEY(job, host, name));
  CREATE VIEW collage.able AS
    SELECT job.id AS job, worker.host, worker.name, true AS serves
    FROM collage.job JOIN collage.offer ON offer.need = job.need JOIN collage.worker ON worker.id = offer.worker
    WHERE NOT gone AND NOT withheld AND seen + lease_s * interval '1 second' > clock_timestamp()
    UNION ALL
    SELECT asked_for.job, asker.host, asker.name, false
    FROM collage.asked_for JOIN collage.asker ON asker.id = asked_for.asker
    WHERE measures AND until > clock_timestamp();
  CREATE FUNCTION collage.tries(job bigint, host text, name text) RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT failures + lost FROM collage.failed_by AS failed
                     WHERE failed.job = $1 AND failed.host = $2 AND failed.name = $3), 0) $$;
  CREATE FUNCTION collage.may_claim(job bigint, worker bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (
      SELECT FROM collage.worker AS own, collage.able
      WHERE own.id = $2 AND able.job = $1
      AND collage.tries($1, able.host, able.name) < collage.tries($1, own.host, own.name)) $$;
)sql";

}  // namespace collage::measure::fleet
