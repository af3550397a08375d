// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/worker_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "compiler/measure/environment.h"
#include "runtime/core/joined.h"

namespace collage::measure::fleet {
namespace {

using runtime::Result;
using runtime::Status;

struct FilterName {
  std::string_view name;
  std::string Announcement::*value;
  bool is_part = false;  ///< the text is a part of the value, in any case of letters
};
constexpr FilterName kFilterNames[] = {
    {"arch", &Announcement::arch},
    {"cpu", &Announcement::processor, true},
    {"host", &Announcement::host},
    {"name", &Announcement::name},
};

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The machines of workers, those that are there first: `Xeon` (arch=x86_64, host=lab7, name=w0), …
std::string shown_machines(const std::vector<KnownWorker>& workers) {
  constexpr size_t kMostShown = 5;
  std::vector<const KnownWorker*> shown;
  for (const bool is_live : {true, false}) {
    for (const KnownWorker& worker : workers) {
      const bool is_new = std::none_of(shown.begin(), shown.end(), [&](const KnownWorker* one) {
        return one->announcement.machine == worker.announcement.machine;
      });
      if (worker.is_live == is_live && is_new) shown.push_back(&worker);
    }
  }
  std::string list;
  for (size_t i = 0; i < std::min(shown.size(), kMostShown); ++i) {
    const Announcement& one = shown[i]->announcement;
    list += fmt::format("{}`{}` (arch={}, host={}, name={}{})", i == 0 ? "" : ", ", one.processor, one.arch, one.host,
                        one.name, shown[i]->is_live ? "" : "; not there now");
  }
  return shown.size() > kMostShown ? fmt::format("{} and {} more", list, shown.size() - kMostShown) : list;
}

}  // namespace

Result<WorkerFilter> WorkerFilter::parse(std::string_view text) {
  WorkerFilter made;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const bool is_known = std::any_of(std::begin(kFilterNames), std::end(kFilterNames),
                                      [&](const FilterName& one) { return one.name == name; });
    if (equals == std::string_view::npos || equals + 1 == part.size() || !is_known)
      return Status::error(fmt::format("`{}` is not `arch=`, `cpu=`, `host=` or `name=` and a text", part));
    made.parts_.emplace_back(name, part.substr(equals + 1));
  }
  if (made.parts_.empty()) return Status::error("no machine is named: `arch=aarch64` names one");
  return made;
}

bool WorkerFilter::matches(const Announcement& worker) const {
  return std::all_of(parts_.begin(), parts_.end(), [&](const auto& part) {
    const auto row = std::find_if(std::begin(kFilterNames), std::end(kFilterNames),
                                  [&](const FilterName& one) { return one.name == part.first; });
    const std::string& value = worker.*(row->value);
    return row->is_part ? in_small_letters(value).find(in_small_letters(part.second)) != std::string::npos
                        : value == part.second;
  });
}

std::string_view version_in(std::string_view build) {
  return build.substr(0, build.find(" program "));
}

Result<TargetMachine> target_of(const std::vector<KnownWorker>& workers, const WorkerFilter& filter,
                                const std::string& build) {
  std::vector<const KnownWorker*> matching;
  const KnownWorker* other_version = nullptr;
  for (const KnownWorker& worker : workers) {
    if (!filter.matches(worker.announcement)) continue;
    if (version_in(worker.announcement.build) == version_in(build)) {
      matching.push_back(&worker);
    } else if (other_version == nullptr) {
      other_version = &worker;
    }
  }
  if (matching.empty() && other_version != nullptr) {
    return Status::error(fmt::format("worker `{}` at {} has {}, this program is {}", other_version->announcement.name,
                                     other_version->announcement.host, version_in(other_version->announcement.build),
                                     version_in(build)));
  }
  if (matching.empty() && workers.empty())
    return Status::error("no worker has announced itself; `collage-measure --serve` starts one");
  if (matching.empty())
    return Status::error("no worker has announced such a machine; announced: " + shown_machines(workers));
  const auto is_live = [](const KnownWorker* worker) { return worker->is_live; };
  if (std::any_of(matching.begin(), matching.end(), is_live)) std::erase_if(matching, std::not_fn(is_live));
  std::map<std::string, const KnownWorker*> machines;  // the latest worker of each
  for (const KnownWorker* worker : matching) machines.emplace(worker->announcement.machine, worker);
  if (machines.size() == 1) {
    const Announcement& chosen = machines.begin()->second->announcement;
    return TargetMachine{chosen.machine, chosen.build};
  }
  std::string list;
  for (const auto& [machine, worker] : machines) {
    runtime::add_to_list(list, fmt::format("`{}` at {}", worker->announcement.processor, worker->announcement.host));
  }
  return Status::error(fmt::format("workers are on {} such machines: {}", machines.size(), list));
}

}  // namespace collage::measure::fleet
