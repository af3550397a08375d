// SPDX-License-Identifier: Apache-2.0
// `--faults`: what is to go wrong with devices, and what was done about it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/devices/faults/fault_injector.h"
#include "runtime/exec/executor.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

/// A file of that name, or else the text itself, in the language of runtime/devices/faults/fault_spec.h. Warns of
/// faults that no device of `spaces` can have. Returns null after an error.
std::shared_ptr<runtime::FaultInjector> read_faults(const std::string& file_or_text,
                                                    const std::vector<std::string>& spaces,
                                                    support::SourceManager& sources, support::Diagnostics& diags);

/// Lines for the summary: commands that were given again, devices that were lost. Empty where there is nothing to say.
std::string print_recovery(const runtime::Executor& executor);

}  // namespace collage::runner
