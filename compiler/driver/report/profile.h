// SPDX-License-Identifier: Apache-2.0
// `--profile`: where the time of a run goes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/support/diagnostic.h"
#include "runtime/exec/executor.h"

namespace collage::driver {

/// Runs the plan some times on `inputs` and returns as lines what each partition, conversion and kernel took: the least
/// of its wall times, longest first. The kernels beyond the first `rows` are summed up. Of a concurrent plan also when
/// the first `rows` steps started and finished in the last run, and on what. Returns nullopt after an error: a run
/// failed.
std::optional<std::string> profile_model(const runtime::Plan& plan, const std::vector<runtime::Tensor>& inputs,
                                         size_t rows, runtime::Executor& executor, support::Diagnostics& diags);

}  // namespace collage::driver
