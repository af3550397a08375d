// SPDX-License-Identifier: Apache-2.0
// The commands of `collagec costs`. Each prints its result and returns false after errors in `diags`. All changes of a
// command are one transaction, so that compilers may use the database at the same time.
#pragma once

#include <string>
#include <vector>

#include "compiler/measure/cost_database.h"
#include "runtime/support/diagnostic.h"

namespace collage::costs_tool {

/// Which rows a command is about: those for which everything holds that is asked for.
struct Filter {
  std::vector<std::string> backends;  ///< one of them; empty: any
  std::vector<std::string> states;    ///< `good`, `disturbed`, `failed`, `refused`; empty: any
  double older_days = 0;              ///< measured at least so long ago, or at a time that is not known; 0: any
  bool only_foreign = false;          ///< of another processor than this machine's

  bool is_any() const { return backends.empty() && states.empty() && older_days == 0 && !only_foreign; }
};

/// How rows are printed.
enum class Form { Table, Csv, Json };

struct CostsRequest {
  std::string database;  ///< its file, or the address of its server
  Filter filter;
  Form form = Form::Table;
  std::vector<std::string> names;  ///< ids, or files
  bool is_dry = false;             ///< of `prune`: only say what would go
};

bool list_costs(const CostsRequest& request, support::Diagnostics& diags);
/// Prints everything that is known of rows, by their ids or the beginnings of these.
bool show_costs(const CostsRequest& request, support::Diagnostics& diags);
/// Writes costs to a file, as CSV or as JSON by its name, or to standard output.
bool export_costs(const CostsRequest& request, support::Diagnostics& diags);
/// Reads costs from files that `export_costs` wrote: all rows of all files, or none.
bool import_costs(const CostsRequest& request, support::SourceManager& sources, support::Diagnostics& diags);
/// Reads costs from other databases, files or servers.
bool merge_costs(const CostsRequest& request, support::Diagnostics& diags);
bool prune_costs(const CostsRequest& request, support::Diagnostics& diags);

}  // namespace collage::costs_tool
