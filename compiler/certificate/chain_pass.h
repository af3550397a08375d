// SPDX-License-Identifier: Apache-2.0
// One round of multipliers, evaluated: the cheapest chain of runs along the order, and the cheapest through a
// candidate.
//
// A candidate lies in the order as runs, its stretches of consecutive positions. Run j of candidate c costs kappa(c,
// j), and these add up to the candidate's cost. A reader r of value v that does not stand right after v's writer w
// pays lambda(v, r, f) for the format f that it reads from outside, and v gets these back:
//
//     phi(v, w, f1) = min over sets F that hold f1, the outputs' format, and one choice of every other reader outside
//     of
//                     St(w, F) - sum over those readers r of max over f in F of lambda(v, r, f)
//
// Why that is a bound: in a solution the prices paid for v are no more than what phi gives back for the set F that v
// really exists in. So runs + prices + phi of every value is at most the solution's cost, and a solution's runs lie end
// to end along the order. The cheapest such chain, of runs that need not belong together, costs no more; and the
// cheapest that goes through runs of c costs no more than any solution with c.
//
//     reach(0)                   = model inputs
//     start(q, how it is read)   = min over how it was written:  reach(q, written) + phi of what crosses at q
//     reach(q, how it is written) = min over runs that end there:  start(begin, …) + local(run)
//     local(run)                 = kappa + prices it pays + phi of all else that it writes
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/certificate/check_certificate.h"

namespace collage::check_plan {

/// A set of formats of one value, as bits over the formats in which it may be wanted.
using Formats = uint64_t;

/// [begin, end) of positions.
struct Stretch {
  int begin = 0;
  int end = 0;
};

/// What all rounds share.
struct Order {
  std::vector<int> position;               ///< by node
  std::vector<std::vector<Stretch>> runs;  ///< by candidate of the problem
};

class ChainPass {
 public:
  /// `candidates`: those that take part, ascending.
  ChainPass(const CertificateFile& file, const Order& order, const std::vector<int>& candidates);

  /// What is wrong with the multipliers of the round.
  runtime::Status set(const place::Certificate::Round& round);

  /// `kUnreachable`: no chain leads through.
  Wide lower();
  /// By the place in `candidates`: no solution with it costs less. After `lower`.
  std::vector<Wide> lower_with();

 private:
  struct Reader {
    int position = 0;
    Formats wants = 0;         ///< in which some candidate reads the value here
    std::vector<Wide> prices;  ///< by bit; empty: it pays nothing
  };
  struct Value {
    int writer = -1;  ///< position
    std::vector<place::FormatId> formats;
    Formats always = 0;  ///< of model outputs
    std::vector<Reader> readers;
    const FormatTrees* trees = nullptr;  ///< over all formats; null: too many
    std::vector<int> writings;
  };
  /// A value as some candidates write it: equal format, equal readers left outside.
  struct Writing {
    int value = 0;
    place::FormatId format = 0;
    std::vector<int> outside;     ///< indices into Value::readers, but for the one right after the writer
    std::map<Formats, Wide> phi;  ///< by what is read next
  };
  struct Run {
    int candidate = 0;  ///< index into candidates_
    int begin = 0;
    int end = 0;
    int start_kind = 0;
    int end_kind = 0;
    Wide local = 0;
  };
  struct Place {
    std::vector<int> crossing;                ///< values written right before and read here, ascending
    std::vector<std::vector<Formats>> reads;  ///< kinds of starts, parallel to `crossing`
    std::vector<std::vector<int>> writings;   ///< kinds of ends
    std::vector<int> runs;                    ///< that begin here
    std::vector<Wide> links;                  ///< phi of what crosses, by end, then by start
    std::vector<Wide> reach, start;           ///< the cheapest chain up to here, by kind
    std::vector<Wide> start_rest, end_rest;   ///< and from here on
  };

  const place::Candidate& candidate(int c) const { return file_.problem.candidates[static_cast<size_t>(c)]; }
  Value& value(int v) { return values_[static_cast<size_t>(v)]; }
  Place& place(int position) { return places_[static_cast<size_t>(position)]; }
  const Place& place(int position) const { return places_[static_cast<size_t>(position)]; }
  void mark(int c);
  bool is_marked(int position, int c) const { return marked_[static_cast<size_t>(position)] == c; }

  void place_values();
  runtime::Status find_formats();
  const FormatTrees* trees_of(int v);
  static Formats bit(const Value& value, place::FormatId format);
  std::map<int, Formats> reads_of(int c);
  runtime::Status set_shares(const place::Certificate::Round& round);
  runtime::Status set_prices(const place::Certificate::Round& round);
  void cut_into_runs();
  void add_run(int index, Stretch stretch, Wide share, const std::map<int, Formats>& reads);
  int writing_of(int v, place::FormatId format, int c);
  static std::optional<Wide> given_back(const Reader& reader, Formats set);
  Wide phi(int writing, Formats next);
  Wide plain_cost(const Writing& writing, Formats needed);
  void link(Place& at);
  void backward();
  std::vector<Wide> between_runs() const;

  const CertificateFile& file_;
  const Order& order_;
  const std::vector<int>& candidates_;
  int count_;
  std::vector<Value> values_;
  std::vector<std::vector<int>> written_at_;               ///< values, by position
  std::vector<std::vector<std::pair<int, int>>> read_at_;  ///< values and their reader, by position
  std::vector<int> marked_;                                ///< by position: the candidate that was marked last
  std::map<std::vector<int64_t>, std::optional<FormatTrees>> trees_;
  std::unordered_map<int, const place::Certificate::Share*> shares_;
  std::vector<Writing> writings_;
  std::vector<Place> places_;
  std::vector<Run> runs_;       ///< by candidate, in order
  std::vector<int> first_run_;  ///< by index into candidates_
};

}  // namespace collage::check_plan
