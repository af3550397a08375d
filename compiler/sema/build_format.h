// SPDX-License-Identifier: Apache-2.0
// `NHWC i8 scale 0.05 zero 3`, as both languages write it -> a layout and a storage. Where a value is known, whether it
// can lie so is for the caller to ask.
#pragma once

#include <optional>
#include <string>

#include "compiler/support/diagnostic.h"
#include "compiler/syntax/format_ast.h"
#include "runtime/core/storage.h"

namespace collage::sema {

struct MemoryLayout {
  std::optional<std::string> layout;  ///< canonical; nothing: none written
  std::optional<runtime::Storage> storage;
  bool any = false;  ///< `any` stands where a layout could
};

/// Nothing after an error. `takes_any`: the word `any` is allowed.
std::optional<MemoryLayout> build_memory_layout(const syntax::FormatParts& parts, bool takes_any,
                                                support::Diagnostics& diags);

}  // namespace collage::sema
