// SPDX-License-Identifier: Apache-2.0
// The source of measured costs. Equal candidates are measured once; known costs come from memory or the database, the
// others from the measuring process, one after another: two at once would disturb each other. Those of a backend whose
// rules say `cost exec` come from its program. With a fleet, workers on other machines or this one measure them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/codegen/target/code_target.h"
#include "compiler/measure/cost_database.h"
#include "compiler/measure/cost_program.h"
#include "compiler/measure/environments.h"
#include "compiler/measure/fleet/fleet.h"
#include "compiler/measure/machine_lock.h"
#include "compiler/measure/repeats.h"
#include "compiler/measure/worker.h"
#include "compiler/place/candidates/candidates.h"
#include "compiler/place/costs/cost_source.h"

namespace collage::measure {

/// Counts grow over all calls of `measure`; `of` is what is known to be needed so far.
struct MeasuringProgress {
  size_t done = 0;
  size_t of = 0;
  std::string candidate;  ///< that is measured now: `onednn Conv, Relu`; empty when all are done
};

struct MeasuredCostsOptions {
  WorkerOptions worker;
  int threads = 1;
  codegen::CodeTarget code{};        ///< of generated code
  CostDatabase* database = nullptr;  ///< null: memory only
  fleet::Fleet* fleet = nullptr;     ///< on the same server; null: none
  /// Whose costs these are; absent: this machine's.
  std::optional<TargetMachine> target{};
  /// This machine, with the build of the worker; absent: not found out yet, which takes as long as reading its program.
  std::optional<TargetMachine> here{};
  /// Costs of the database that were disturbed when they were measured are measured again, unless the machine is slow
  /// now, or they were disturbed twice and the last time is less than a day ago; false: they are used.
  bool repeats_disturbed = true;
  bool estimates_when_lost = false;  ///< once the database is lost, nothing is measured any more
  std::string lock;                  ///< held while measuring (machine_lock.h); empty: none
  MachineLock::Waiting waiting;      ///< called while waiting for it; may be empty
  /// Called before each measurement and after the last; may be empty.
  std::function<void(const MeasuringProgress&)> progress{};
  StopFlag stop = nullptr;  ///< ends measuring: what is left has a failure that does not last
};

/// Totals over all calls of `measure`. Counts are of distinct candidates, not of partitions.
struct MeasuringStats {
  size_t measured = 0;
  size_t from_cache = 0;
  size_t runs = 0;      ///< timed ones, of those measured
  size_t compiled = 0;  ///< kernels, for those measured
  double seconds = 0;
  std::map<std::string, size_t> failures;  ///< reason -> number of distinct candidates that failed with it
  size_t disturbed = 0;                    ///< distinct candidates whose cost is too high, since
  std::string disturbance;                 ///< this, of one of them
  size_t settled = 0;                      ///< of those disturbed: for the second time, so that they stay for a day
  size_t repeated = 0;                     ///< of those measured: disturbed in the database
  size_t answered = 0;                     ///< by programs of backends; not among `measured`
  size_t by_workers = 0;                   ///< of a fleet; not among `measured`
};

class MeasuredCosts : public place::CostSource {
 public:
  /// `backends` are the active ones; a partition on any other belongs to the implicit host.
  MeasuredCosts(MeasuredCostsOptions options, const place::ActiveBackends& backends);

  std::vector<place::MeasuredCost> measure(const ir::Graph& graph,
                                           const std::vector<ir::Partition>& candidates) override;
  std::vector<place::KnownCost> look_up(const ir::Graph& graph, const std::vector<ir::Partition>& candidates) override;
  /// What whole plans take, in text (plan_text.h), timed beside each other (time_plans.h) unless the database knows it
  /// of just these. A single failure if the measuring process failed.
  std::vector<Measurement> time_plans(const std::vector<std::string>& plans);
  const MeasuringStats& stats() const { return stats_; }
  bool is_stopped() const override { return is_set(options_.stop); }
  /// How many costs this source has measured and the database has now.
  size_t kept() const { return kept_.size(); }
  /// Whether the costs are this machine's.
  bool is_for_here() const { return is_for_here_; }
  /// Rows of the database that do not count, and why, `ID: why`: those found since the last call.
  std::vector<std::string> take_refused() { return std::exchange(new_refused_, {}); }

 private:
  /// A candidate's environment and text.
  using Key = std::pair<std::string, std::string>;
  std::optional<Measurement> stored(const Key& key);
  std::vector<Key> keys_of(const ir::Graph& graph, const std::vector<ir::Partition>& candidates) const;
  int id_of(const Key& key);
  /// Returns the answer for a key that is known.
  place::MeasuredCost answer(const Key& key);
  struct Unknown {
    const Key* key = nullptr;
    const ir::Partition* candidate = nullptr;
  };
  /// Removes from the list the keys that the database has by now.
  void look_up_all(std::vector<Unknown>* unknown);
  /// What is said of candidates where nothing is measured any more: it was stopped, or the server of costs is lost.
  std::optional<Measurement> why_not_measured() const;
  /// Asks the programs of backends, and removes what they answer for from the list.
  void ask_programs(const ir::Graph& graph, std::vector<Unknown>* unknown);
  Measurement ask_program(const ir::Graph& graph, const Unknown& one);
  /// Lets workers measure, or measures here what none can, and removes all that has an answer then from the list.
  void ask_fleet(const ir::Graph& graph, std::vector<Unknown>* unknown);
  void measure_all(const ir::Graph& graph, std::vector<Unknown> unknown);
  void report_progress(size_t done, size_t of, const std::string& candidate) const;
  /// Measures, once more after a failure that does not last, in a new process.
  Measurement measure_now(const Key& key);
  /// Tries once.
  Measurement run_worker(const Key& key);
  /// Keeps a cost in the database, if it says something of the candidate; returns the one that counts.
  Measurement kept(const Key& key, Measurement measurement);
  /// Measures again what was disturbed, unless whatever disturbs goes on.
  void repeat_disturbed(const ir::Graph& graph, const std::vector<Unknown>& measured);
  /// What the reference kernel takes on this machine: from the database to the measuring process, and back.
  void send_reference();
  void keep_reference();

  MeasuredCostsOptions options_;
  Worker worker_;
  struct ExternalCosts {
    place::ActiveBackend active;
    std::unique_ptr<CostProgram> program;
  };
  TargetMachine target_;
  bool is_for_here_ = true;
  Environments environments_;
  std::map<std::string, ExternalCosts> external_;  ///< by backend
  std::map<Key, Measurement> known_;
  std::map<Key, int> ids_;
  bool is_slow_ = false;  ///< the machine, now
  Repeats repeats_;       ///< of what is measured here with a fleet
  std::set<Key> repeated_, refused_, kept_;
  std::vector<std::string> new_refused_;
  MeasuringStats stats_;
};

}  // namespace collage::measure
