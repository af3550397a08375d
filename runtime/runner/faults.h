// SPDX-License-Identifier: Apache-2.0
// `--faults`: what is to go wrong with devices, and what was done about it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/devices/faults/fault_injector.h"
#include "runtime/exec/executor.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

struct Faults {
  runtime::FaultSpec spec{};
  support::FileId text{};  ///< where they are written
};

/// Reads a file of that name, or else the text itself, in the language of runtime/devices/faults/fault_spec.h. Returns
/// nullopt after an error.
std::optional<Faults> read_faults(const std::string& file_or_text, support::SourceManager& sources,
                                  support::Diagnostics& diags);

/// What lets devices fail so. Warns of faults that no device of `spaces` can have.
std::shared_ptr<runtime::FaultInjector> make_injector(const Faults& faults, const std::vector<std::string>& spaces,
                                                      support::Diagnostics& diags);

/// Lines for the summary: commands that were given again, devices that were lost. Empty where there is nothing to say.
std::string print_recovery(const runtime::Executor& executor);

}  // namespace collage::runner
