// SPDX-License-Identifier: Apache-2.0
// Solutions of problems that were solved before, in this process or, with a cache, in any. The exact search is a
// function of the problem and its limit of states, so a problem that comes again needs no search.
//
//     digest of problem, limit of states, and the sources of the search   ->   solution
//
// A solution that is read is evaluated before it is believed: a damaged one, or one of another problem, counts as none.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"
#include "runtime/support/file_cache.h"

namespace collage::place {

class KnownSolutions {
 public:
  /// `files` outlives this object; null: solutions are known to this process only.
  explicit KnownSolutions(support::FileCache* files) : files_(files) {}
  KnownSolutions(const KnownSolutions&) = delete;
  KnownSolutions& operator=(const KnownSolutions&) = delete;

  std::optional<Solution> find(const Problem& problem, const SearchOptions& options);
  /// Expects what the search found under these options, and that nothing stopped it early.
  void keep(const Problem& problem, const SearchOptions& options, const Solution& solution);

 private:
  struct Entry {
    std::string text;
    bool is_read = false;  ///< from a file
  };
  support::FileCache* files_;
  std::map<std::string, Entry> entries_;
};

/// Whether the outcome of a search under these options depends on them and the problem alone: it has no limit of time.
bool is_repeatable(const SearchOptions& options);

}  // namespace collage::place
