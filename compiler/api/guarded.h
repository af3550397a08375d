// SPDX-License-Identifier: Apache-2.0
// No exception leaves the C interface.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "compiler/api/state.h"

namespace collage::api {

/// Calls `work`. What it throws becomes a diagnostic and `failure`.
template <typename Result, typename Work>
Result guarded(CompilerState& state, Result failure, Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    state.diags->error_at(support::Code::RunFailed, "collage", "out of memory");
  } catch (const std::exception& error) {
    state.diags->error_at(support::Code::RunFailed, "collage", "internal error: {}", error.what());
  }
  return failure;
}

/// The same of a step that collage_compiler_stop ends: `work` returns `failure` where `state.stops`.
template <typename Result, typename Work>
Result stoppable(CompilerState& state, Result failure, Work&& work) {
  Result result = failure;
  if (!state.stops) result = guarded<Result>(state, failure, std::forward<Work>(work));
  if (result != failure || !state.stops.exchange(false)) return result;
  const auto& records = state.diags->records();
  if (records.empty() || records.back().code != support::Code::Stopped)
    state.diags->error_at(support::Code::Stopped, "collage", "stopped before it was done");
  return failure;
}

}  // namespace collage::api
