// SPDX-License-Identifier: Apache-2.0
// Internal invariants. A failed check is a bug in Collage (exit code 3), never an effect of the input.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace collage::support {

/// Thrown by COLLAGE_CHECK; caught only at the top of a tool, which prints it and exits with 3.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace collage::support

#define COLLAGE_CHECK(condition, ...)                                                                      \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      throw ::collage::support::InternalError(fmt::format("{}:{}: {}: ", __FILE__, __LINE__, #condition) + \
                                              fmt::format(__VA_ARGS__));                                   \
    }                                                                                                      \
  } while (false)
