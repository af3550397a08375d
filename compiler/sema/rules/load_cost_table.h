// SPDX-License-Identifier: Apache-2.0
// Reads the files of `table("file.csv", …)`: a header that names the columns, then numbers, a row per point of a full
// grid, ascending, the last argument fastest. The last column is the result. A column's unit stands in brackets after
// its name. Empty lines and lines that start with `#` are skipped.
//
//     macs, width, time [us]
//     1e6, 8, 40
//     1e6, 16, 25
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/ir/rules/cost_table.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/file_access.h"

namespace collage::sema {

class CostTableFiles {
 public:
  CostTableFiles(support::SourceManager& sources, const support::FileAccess& access)
      : sources_(sources), access_(access) {}

  /// `path` is relative to the folder of the file that holds `span`. Returns null after an error. Reads each file once.
  std::shared_ptr<const ir::CostTable> load(const std::string& path, support::Span span, support::Diagnostics& diags);

 private:
  support::SourceManager& sources_;
  const support::FileAccess& access_;
  std::map<std::string, std::shared_ptr<const ir::CostTable>> tables_;
};

}  // namespace collage::sema
