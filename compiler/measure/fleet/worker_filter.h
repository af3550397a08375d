// SPDX-License-Identifier: Apache-2.0
// `--measure-on`: for which machine costs are asked, among those that workers have announced.
//
//     arch=aarch64           workers on that architecture
//     host=board7,cpu=A72    the host of this name, whose processor's name contains `A72`
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/measure/environments.h"
#include "compiler/measure/fleet/queue.h"

namespace collage::measure::fleet {

class WorkerFilter {
 public:
  /// Expects `NAME=TEXT[,NAME=TEXT]…`, names `arch`, `cpu`, `host`, `name`.
  static runtime::Result<WorkerFilter> parse(std::string_view text);

  bool matches(const Announcement& worker) const;

 private:
  std::vector<std::pair<std::string, std::string>> parts_;
};

/// The machine of the workers that a filter means: of live ones where there are any, otherwise of those that were there
/// before, whose costs the database has. Workers of another version of Collage than `build` says do not count.
/// Several machines, or none, are an error.
runtime::Result<TargetMachine> target_of(const std::vector<KnownWorker>& workers, const WorkerFilter& filter,
                                         const std::string& build);

/// The version of Collage in `describe_build`: `collage 0.9`.
std::string_view version_in(std::string_view build);

}  // namespace collage::measure::fleet
