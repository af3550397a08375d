// SPDX-License-Identifier: Apache-2.0
// What every harness demands of a reader, whatever the bytes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/support/diagnostic.h"

namespace collage::fuzz {

/// Ends the process, which is how a fuzzer learns that an input is interesting.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/// An input is either accepted without errors, or refused with at least one, which can be rendered.
inline void expect_told(bool accepted, const support::Diagnostics& diags) {
  std::string text = diags.render();
  if (accepted == diags.has_errors()) {
    fail(accepted ? "accepted in spite of errors:\n" + text : "refused without a word:\n" + text);
  }
  if (diags.has_errors() && text.empty()) fail("an error that renders as nothing");
}

}  // namespace collage::fuzz
