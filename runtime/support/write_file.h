// SPDX-License-Identifier: Apache-2.0
// Writes files that get their names when they are whole: runtime/io/file_replacement.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/file_replacement.h"
#include "runtime/support/diagnostic.h"

namespace collage::support {

/// Returns false after a CannotWrite error.
bool write_file(const std::string& path, std::string_view contents, Diagnostics& diags,
                runtime::Replaces replaces = runtime::Replaces::WhatWasNotRead);

/// Whether a file that an option asks for can be written, as far as that is known before there is something to write.
/// Empty: no file is asked for. Returns false after a CannotWrite error.
bool can_write(const std::string& path, const std::string& option, Diagnostics& diags);

/// The same of a file that no option names, `what` for messages: it may not be a link, which can lead anywhere.
bool can_write_unnamed(const std::string& path, const std::string& what, Diagnostics& diags);

/// Files that belong together, a model and its weights: none gets its name before all are whole. Functions return false
/// after a CannotWrite error.
class FileGroup {
 public:
  bool add(const std::string& path, runtime::Result<runtime::FileReplacement> file, Diagnostics& diags);
  bool add(const std::string& path, std::string_view contents, Diagnostics& diags);
  bool commit(Diagnostics& diags);

 private:
  std::vector<std::pair<std::string, runtime::FileReplacement>> files_;
};

}  // namespace collage::support
