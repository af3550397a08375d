// SPDX-License-Identifier: Apache-2.0
// The source of measured costs: equal candidates once, what is known from memory or from the database, the rest by the
// measuring process, one after another. Alone on the machine is the point: two at once would measure each other.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/worker.h"
#include "compiler/place/candidates/candidates.h"
#include "compiler/place/costs/cost_source.h"

namespace collage::measure {

struct MeasuredCostsOptions {
  WorkerOptions worker;
  int threads = 1;
  CostDatabase* database = nullptr;                      ///< null: memory only
  std::string lock_file;                                 ///< held while measuring (machine_lock.h); empty: none
  std::function<void()> waiting;                         ///< before waiting for it; may be empty
  std::function<void(size_t done, size_t of)> progress;  ///< around each measurement; may be empty
};

/// What it took, over all calls of `measure`. Distinct candidates, not partitions.
struct MeasuringStats {
  size_t measured = 0;
  size_t from_cache = 0;
  double seconds = 0;
  std::map<std::string, size_t> failures;  ///< reason -> distinct candidates that cannot run for it
};

class MeasuredCosts : public place::CostSource {
 public:
  /// `backends`: the active ones; a partition on another is the implicit host's.
  MeasuredCosts(MeasuredCostsOptions options, const std::vector<place::ActiveBackend>& backends);

  std::vector<place::MeasuredCost> measure(const ir::Graph& graph,
                                           const std::vector<ir::Partition>& candidates) override;
  std::vector<place::KnownCost> look_up(const ir::Graph& graph, const std::vector<ir::Partition>& candidates) override;
  const MeasuringStats& stats() const { return stats_; }

 private:
  /// A candidate's environment and text.
  using Key = std::pair<std::string, std::string>;
  std::optional<Measurement> stored(const Key& key);
  std::vector<Key> keys_of(const ir::Graph& graph, const std::vector<ir::Partition>& candidates) const;
  int id_of(const Key& key);
  /// Of what is known.
  place::MeasuredCost answer(const Key& key);
  /// Takes those that the database has by now out of the list.
  void look_up_all(std::vector<const Key*>* unknown);
  void measure_all(std::vector<const Key*> unknown);
  /// What failed for a reason of the moment gets one more try, in a new process.
  Measurement measure_now(const Key& key);

  MeasuredCostsOptions options_;
  Worker worker_;
  std::map<std::string, std::string> environments_;  ///< by backend; "" for the implicit host
  std::map<Key, Measurement> known_;
  std::map<Key, int> ids_;
  MeasuringStats stats_;
};

}  // namespace collage::measure
