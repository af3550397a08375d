// SPDX-License-Identifier: Apache-2.0
// `profile`: where the time of a run goes, kernel by kernel. Inside a partition each kernel is measured where its
// library or the host tells when it begins; elsewhere, on devices and in plug-ins, the partition's time is divided by
// the work of its nodes (work_shares.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/exec/executor.h"
#include "runtime/support/diagnostic.h"

namespace collage::report {

/// One kernel, copy, conversion or call of a library.
struct ProfileRow {
  std::string kind;           ///< `compiled`, `reference`, `convert`, a library, a device
  std::string what;           ///< the kernel, value or partition
  double seconds = 0;         ///< the least of its wall times: other work on the machine only ever adds
  std::string host{};         ///< `host[1]`, where it runs, of a profile over several; empty: there is one
  std::string partition{};    ///< `p3`; empty: it moves a value
  std::string backend{};      ///< of the partition
  std::string value{};        ///< a result of what it computes; the value that it moves; empty: not known
  bool is_about = false;      ///< its part of what the partition takes, by work
  bool is_simulated = false;  ///< seconds on the clock of a model of a chip
};

/// A step of the last run of a concurrent plan.
struct ProfileSlot {
  runtime::Duration start, finish;
  std::vector<std::string> held;  ///< queues, links and the host
  std::string what;
};

struct Profile {
  std::string model;
  int runs = 0;
  std::vector<ProfileRow> rows{};    ///< longest first
  double seconds = 0;                ///< of all rows
  runtime::Duration makespan{};      ///< of `slots`
  std::vector<ProfileSlot> slots{};  ///< by start; empty: steps follow each other
};

/// A loaded plan.
struct ProfiledPlan {
  const runtime::Plan& plan;
  runtime::Executor& executor;  ///< that loaded it
  runtime::Executor& runs;  ///< that makes it run: the same, or of a part for another host than the first, the first's
  /// That the plan is of; null: what a device or a plug-in takes for a partition is not divided among its nodes.
  const ir::Graph* graph = nullptr;
};

/// Runs the plan some times on `inputs`. In a part for one host of several, copies to and from other hosts are left
/// out: their times include waiting for these hosts. Returns nullopt after an error: a run failed.
std::optional<Profile> profile_model(const ProfiledPlan& profiled, const std::vector<runtime::Tensor>& inputs,
                                     support::Diagnostics& diags);

/// Backends whose times are those of a model of a chip.
std::vector<std::string> simulated_backends(const Profile& profile);

/// As lines: the first `rows` rows, the others summed up, and the first `rows` slots.
std::string print(const Profile& profile, size_t rows);

/// `{model, runs, seconds, rows: [{kind, what, seconds, partition, value, about, simulated}]}`, of a concurrent plan
/// also `{makespan_s, timeline: [{start_s, finish_s, on: [text], what}]}`; rows of a profile over several hosts have
/// `host`. Fields of a row after `seconds` are left out where they say nothing.
std::string to_json(const Profile& profile);

}  // namespace collage::report
