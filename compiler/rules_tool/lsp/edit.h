// SPDX-License-Identifier: Apache-2.0
// Changes of a text that the server proposes.
#pragma once

#include <string>
#include <vector>

#include "runtime/support/span.h"

namespace collage::rules_tool::lsp {

struct Edit {
  support::Span span;
  std::string text;
};

struct Rename {
  std::vector<Edit> edits;
  std::string refusal;  ///< why it cannot have the name; then there are no edits
};

/// A name that can have another one.
struct Renamable {
  support::Span span;
  std::string name;
};

}  // namespace collage::rules_tool::lsp
