// SPDX-License-Identifier: Apache-2.0
// A lower bound on what any cover costs: a Lagrangian relaxation to chains of runs. Multipliers of any value make a
// valid bound; `tune_bound.h` looks for good ones.
//
// Each candidate is cut into runs, its maximal stretches of consecutive positions; run j costs share(c, j), and a
// candidate's shares add up to its cost. A chain puts runs end to end and forgets which of them belong together. What a
// value written at w costs is exact for the reader at w+1. Every later reader r that has a choice of formats pays
// price(v, r, f) for the format f in which it reads, and the value gets these prices back for formats that it picks
// itself, which need not be those that were read:
//
//     phi(v, w, f1) = min over F containing f1, the outputs' format, and one choice for every later reader outside of
//                     St(w, F) - sum over such readers r of max over f in F of price(v, r, f)
//
// For every solution  sum of shares + prices paid + sum of phi  <=  its cost, and the solution's runs are a chain: so
// the cheapest chain, one backward pass, is a lower bound.
#pragma once

#include <map>
#include <vector>

#include "compiler/place/search_problem.h"

namespace collage::place {

/// A read that pays a price.
struct PricedRead {
  int writer = 0;  ///< position of the value's writer
  int price = 0;   ///< index into Multipliers::prices
};

struct Run {
  int move = 0;
  int begin = 0;
  int end = 0;  ///< past its last position
  std::vector<PricedRead> priced;
};

struct Multipliers {
  std::vector<Duration> shares;  ///< by run; those of one move add up to its cost
  std::vector<Duration> prices;
};

class ChainBound {
 public:
  /// Costs shared out by length, prices zero.
  explicit ChainBound(SearchProblem& problem);

  const Multipliers& multipliers() const { return multipliers_; }
  void set(Multipliers multipliers);

  /// No solution costs less; `Duration::max()`: there is none.
  Duration lower() const { return lower_; }

  /// How the runs that begin at a position read the values of `crossing` there, and the cheapest chain from such a run
  /// on.
  struct Start {
    std::vector<FormatMask> reads;
    Duration cost = Duration::max();
    int run = -1;  ///< first of that chain
  };
  const std::vector<Start>& starts(int position) const { return starts_[static_cast<size_t>(position)]; }
  /// Values written at position-1 (at 0: model inputs) and read at `position`.
  const std::vector<int>& crossing(int position) const { return crossing_[static_cast<size_t>(position)]; }

  const std::vector<Run>& runs() const { return runs_; }
  /// Indices of a move's runs: [first_run(m), first_run(m + 1)).
  int first_run(int move) const { return first_run_[static_cast<size_t>(move)]; }
  Duration share(int run) const { return multipliers_.shares[static_cast<size_t>(run)]; }
  Duration price(int index) const { return multipliers_.prices[static_cast<size_t>(index)]; }

  /// What a value that was written as `written`, before the position looked from, still costs at least, less the prices
  /// that its undecided readers may pay in the chain: `have` is there already, `next` is read next (0: nothing is).
  /// `undecided`: by reader. `Duration::max()` if some reader cannot be served.
  Duration completion(int value, FormatId written, FormatMask have, const std::vector<bool>& undecided,
                      FormatMask next) const;

  /// The cheapest chain, as counts: how often a run is on it, and how often a price is paid less how often it is got
  /// back. The bound's supergradient.
  struct Slope {
    std::vector<int> runs;    ///< indices, in order
    std::vector<int> prices;  ///< by price
  };
  Slope slope() const;
  /// The value that a price belongs to.
  int value_of_price(int index) const { return value_of_price_[static_cast<size_t>(index)]; }
  /// The most that serving any set of readers of a value can cost.
  Duration dearest_conversion(int value) const;

 private:
  struct ReaderPrices {
    int first = -1;        ///< index of the price of its first format; -1: it pays none
    FormatMask wants = 0;  ///< it must get one of these, where it reads from outside
  };
  struct ValuePrices {
    bool exact = false;            ///< few enough formats and readers for tables over their subsets
    std::vector<FormatMask> bits;  ///< of the formats that matter, one each
    std::vector<ReaderPrices> readers;
  };
  /// A value as some moves write it: equal formats, equal readers inside.
  struct Writing {
    int value = 0;
    FormatId written = -1;
    std::vector<int> outside;    ///< later readers, as indices into SearchValue::readers
    std::vector<Duration> base;  ///< St(written, F) by subset
    std::vector<Duration> phi;   ///< by subset that F must contain
    std::vector<int> best;       ///< the F that attains it
  };
  struct RunTerms {
    size_t start = 0;           ///< index into starts_[begin]
    size_t end = 0;             ///< index into ends_[end]
    std::vector<int> writings;  ///< of values whose next position is no reader outside
  };
  /// How the values that cross at a position were written.
  struct End {
    std::vector<int> writings;
    Duration rest = Duration::max();
    int start = -1;
  };

  void find_crossing();
  void find_prices();
  void find_runs();
  void add_run(const Move& move, int move_index, int begin, int end);
  int writing_of(const Move& move, const Touch& touch);
  int intern_writing(int value, FormatId written, std::vector<int> outside);
  Duration gain(const ReaderPrices& reader, const ValuePrices& value, size_t subset, int* price) const;
  size_t subset_of(int value, FormatMask mask) const;
  FormatMask mask_of(int value, size_t subset) const;
  void price_writing(Writing& writing) const;
  Duration phi(const Writing& writing, FormatMask next) const;
  void evaluate();

  SearchProblem& problem_;
  std::vector<std::vector<int>> crossing_;
  std::vector<ValuePrices> values_;
  std::vector<int> value_of_price_;
  std::vector<Writing> writings_;
  std::map<std::pair<std::pair<int, FormatId>, std::vector<int>>, int> writing_index_;
  std::vector<int> input_writings_;  ///< of model inputs that are not read at position 0
  std::vector<Run> runs_;
  std::vector<RunTerms> terms_;  ///< by run
  std::vector<int> first_run_;
  std::vector<std::vector<int>> beginning_;  ///< runs by position
  std::vector<std::vector<Start>> starts_;
  std::vector<std::vector<End>> ends_;
  Multipliers multipliers_;
  Duration lower_;
};

}  // namespace collage::place
