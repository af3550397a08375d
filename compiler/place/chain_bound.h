// SPDX-License-Identifier: Apache-2.0
// A lower bound on what any cover of the last positions costs: the cheapest chain of runs.
//
// Each candidate is cut into runs, its maximal stretches of consecutive positions, and its cost shared out among them
// by length. A chain puts runs end to end. Between the run that ends at q-1 and the one that begins at q it pays the
// conversion of the values written at q-1 and read at q; a run pays for model outputs that it writes elsewhere. Every
// solution is such a chain if one forgets which runs belong together and all readers further off, so the cheapest chain
// costs no more. Costs may be shared out in any way; better shares only make the bound tighter.
#pragma once

#include <map>
#include <vector>

#include "compiler/place/search_problem.h"

namespace collage::place {

struct Run {
  int begin = 0;
  int end = 0;     ///< past its last position
  Duration share;  ///< of the candidate's cost
};

class ChainBound {
 public:
  explicit ChainBound(SearchProblem& problem);

  /// How the runs that begin at a position read the values of `crossing` there, and the cheapest chain from such a run
  /// on.
  struct Start {
    std::vector<FormatMask> reads;
    Duration cost = Duration::max();
  };
  const std::vector<Start>& starts(int position) const { return starts_[static_cast<size_t>(position)]; }
  /// Values written at position-1 (at 0: model inputs) and read at `position`.
  const std::vector<int>& crossing(int position) const { return crossing_[static_cast<size_t>(position)]; }
  const std::vector<Run>& runs(int move) const { return runs_[static_cast<size_t>(move)]; }

 private:
  void cut(const Move& move);
  Duration from_run(const Move& move, const Run& run, SearchProblem& problem);
  Duration rest_after(int position, const std::vector<FormatId>& written, SearchProblem& problem);

  std::vector<std::vector<Run>> runs_;
  std::vector<std::vector<int>> crossing_;
  std::vector<std::vector<Start>> starts_;
  std::vector<std::map<std::vector<FormatId>, Duration>> rest_;
};

}  // namespace collage::place
