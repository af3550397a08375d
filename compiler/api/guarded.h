// SPDX-License-Identifier: Apache-2.0
// No exception leaves the C interface.
#pragma once

#include <exception>
#include <new>

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

}  // namespace collage::api
