// SPDX-License-Identifier: Apache-2.0
// `NHWC i8 scale 0.05 zero 3`, as both languages write it -> a layout and a storage. The caller checks whether a value
// of known type can have them.
#pragma once

#include <optional>
#include <string>

#include "compiler/syntax/format_ast.h"
#include "runtime/core/storage.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

struct MemoryLayout {
  std::optional<std::string> layout;  ///< canonical; nullopt: not written
  std::optional<runtime::Storage> storage;
  bool any = false;  ///< `any` stands where a layout could
};

/// Returns nullopt after an error. `takes_any`: the word `any` is allowed.
std::optional<MemoryLayout> build_memory_layout(const syntax::FormatParts& parts, bool takes_any,
                                                support::Diagnostics& diags);

}  // namespace collage::sema
