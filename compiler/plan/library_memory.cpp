// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/library_memory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/encodings/encodings.h"
#include "runtime/libraries/library.h"
#include "runtime/libraries/plugin/plugin.h"
#include "runtime/plan/plan_calls.h"

namespace collage::plan {
namespace {

using runtime::KeptConstants;

/// What is handed to a library that does not tell what it keeps.
KeptConstants handed_over(const runtime::LibraryProgram& program) {
  KeptConstants kept;
  for (const runtime::LibraryValue& value : program.values) {
    if (value.constant.is_empty_handle()) continue;
    kept.is_least = true;
    if (value.encoding.empty()) {
      kept.as_given.push_back(value.constant);
    } else {
      kept.packed += runtime::least_encoded_bytes(value.dtype, value.shape, value.encoding);
    }
  }
  return kept;
}

KeptConstants kept_by(const runtime::LibraryCall& call, int threads) {
  // A plug-in may do all of its work when it prepares.
  if (call.library.starts_with(runtime::kPluginPrefix)) return handed_over(call.program);
  const auto kernel = runtime::prepare_library(call.library, call.program, threads);
  if (!kernel) return handed_over(call.program);
  return (*kernel)->kept().value_or(handed_over(call.program));
}

class LibraryCounter {
 public:
  LibraryCounter(const runtime::Plan& plan, int threads)
      : plan_(plan), threads_(threads), seen_(plan.spaces.size()), made_(plan.spaces.size()) {}

  std::vector<LibraryMemory> run() {
    runtime::for_each_library_call(plan_,
                                   [&](int partition, const runtime::LibraryCall& call) { add(partition, call); });
    return std::move(made_);
  }

 private:
  void add(int partition, const runtime::LibraryCall& call) {
    if (partition < 0) return;
    const std::string& instance = plan_.partitions[static_cast<size_t>(partition)].instance;
    const auto at = std::find_if(plan_.spaces.begin(), plan_.spaces.end(),
                                 [&](const runtime::MemorySpace& space) { return space.name == instance; });
    if (at == plan_.spaces.end()) return;
    const auto space = static_cast<size_t>(at - plan_.spaces.begin());
    const KeptConstants kept = kept_by(call, threads_);
    for (const runtime::Tensor& constant : kept.as_given) {
      // Elements that are not made yet have no address to know them by.
      if (constant.is_made() && !seen_[space].insert(constant.data()).second) continue;
      made_[space].constants += constant.bytes();
    }
    made_[space].packed += kept.packed;
    made_[space].is_least |= kept.is_least;
  }

  const runtime::Plan& plan_;
  const int threads_;
  std::vector<std::set<const std::byte*>> seen_;  ///< by space: elements that are counted
  std::vector<LibraryMemory> made_;
};

}  // namespace

std::vector<LibraryMemory> library_memory(const runtime::Plan& plan, int threads) {
  return LibraryCounter(plan, threads).run();
}

}  // namespace collage::plan
