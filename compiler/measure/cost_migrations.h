// SPDX-License-Identifier: Apache-2.0
// The versions of the tables of costs (cost_database.h): what each one adds, for both engines.
#pragma once

#include <cstdint>
#include <vector>

namespace collage::measure {

struct Migration {
  int64_t version = 0;
  /// Statements that make this version of the one before; null: nothing changes there.
  const char* sqlite = nullptr;
  const char* postgres = nullptr;
};

/// From the first version on. A version that was released never changes.
const std::vector<Migration>& migrations();

/// The last version that changes something in an engine: `newest_version(&Migration::sqlite)`.
int64_t newest_version(const char* Migration::*engine);

inline constexpr int64_t kOldestVersion = 1;
inline constexpr int64_t kVersionWithDates = 2;

/// Runs the statements of the versions after `version`; stops at the first that fails, and returns false then.
template <typename Execute>
bool migrate_from(int64_t version, const char* Migration::*engine, const Execute& execute) {
  for (const Migration& one : migrations()) {
    if (one.version > version && one.*engine != nullptr && !execute(one.*engine)) return false;
  }
  return true;
}

}  // namespace collage::measure
