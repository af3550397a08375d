// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/postgres/failure.h"

#include <cstddef>

namespace collage::measure::postgres {
namespace {

struct FailureRow {
  std::string_view begin;
  Failure failure;
};

constexpr FailureRow kFailures[] = {
#define COLLAGE_FAILURE(begin, kind) {begin, Failure::kind},
#include "compiler/measure/postgres/failures.def"
#undef COLLAGE_FAILURE
};

}  // namespace

Failure failure_of(std::string_view state) {
  if (state.empty()) return Failure::Lost;
  Failure found = Failure::Lasting;
  size_t length = 0;
  for (const FailureRow& row : kFailures) {
    if (!state.starts_with(row.begin) || row.begin.size() <= length) continue;
    found = row.failure;
    length = row.begin.size();
  }
  return found;
}

}  // namespace collage::measure::postgres
