// SPDX-License-Identifier: Apache-2.0
// All ranks of a cluster in one process, for tests.
#pragma once

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/cluster/cluster_program.h"
#include "runtime/cluster/local_transport.h"
#include "tests/unit/runtime/cluster/part_plan.h"

namespace collage::runtime::test {

/// All parts, loaded, with their ranks but 0 serving.
class LocalCluster {
 public:
  LocalCluster(const std::vector<PartPlan>& parts, const ClusterOptions& options,
               const std::shared_ptr<const Code>& code = std::make_shared<TableCode>())
      : transports_(make_local_transports(static_cast<int>(parts.size()))), status_(Status::ok()) {
    std::vector<std::future<Result<std::unique_ptr<ClusterProgram>>>> opened;
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      opened.push_back(std::async(std::launch::async, [&, rank] {
        return ClusterProgram::open(parts[rank].plan, code, transports_[rank], options);
      }));
    }
    for (auto& one : opened) {
      Result<std::unique_ptr<ClusterProgram>> program = one.get();
      statuses_.push_back(program.status());
      if (!program) status_ = program.status();
      if (program) programs_.push_back(std::move(*program));
    }
    if (!status_) return;
    for (size_t rank = 1; rank < programs_.size(); ++rank) {
      served_.push_back(std::async(std::launch::async, [program = programs_[rank].get()] { return program->serve(); }));
    }
  }
  ~LocalCluster() { end(); }
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  const Status& status() const { return status_; }
  /// What opening returned, by rank.
  const std::vector<Status>& statuses() const { return statuses_; }
  ClusterProgram& operator[](size_t rank) { return *programs_[rank]; }
  Transport& transport(size_t rank) { return *transports_[rank]; }

  /// Returns what `serve` of each rank but 0 returned.
  std::vector<Status> end() {
    std::vector<Status> ends;
    if (status_ && !programs_.empty()) programs_[0]->end();
    for (auto& served : served_) ends.push_back(served.get());
    served_.clear();
    return ends;
  }

 private:
  std::vector<std::shared_ptr<Transport>> transports_;
  Status status_;
  std::vector<Status> statuses_;
  std::vector<std::unique_ptr<ClusterProgram>> programs_;
  std::vector<std::future<Status>> served_;
};

}  // namespace collage::runtime::test
