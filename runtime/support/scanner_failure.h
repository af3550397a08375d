// SPDX-License-Identifier: Apache-2.0
// What a scanner made by Flex calls where it cannot go on (YY_FATAL_ERROR). Only the text says why.
#pragma once

#include <new>
#include <string>

#include "runtime/support/check.h"

namespace collage::support {

/// A lack of memory is no bug of the scanner.
[[noreturn]] inline void scanner_failed(const std::string& message) {
  if (message.find("dynamic memory") != std::string::npos) throw std::bad_alloc();
  throw InternalError(message);
}

}  // namespace collage::support
