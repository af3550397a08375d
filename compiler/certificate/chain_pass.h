// SPDX-License-Identifier: Apache-2.0
// One round of multipliers, evaluated: the cheapest chain of runs along the order, and the cheapest through a
// candidate.
//
// A candidate lies in the order as runs, its stretches of consecutive positions. Run j of candidate c costs kappa(c,
// j), and these add up to what the candidate costs in the round. A reader r of value v that does not stand right after
// v's writer w pays lambda(v, r, f) for the format f that it reads from outside, and v gets these back:
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
#include "runtime/support/ids.h"

namespace collage::certificate {

using place::CandidateId;
using place::NodeId;
using place::ProblemValueId;
using support::Table;

/// In the order of the certificate; one past the last, too.
using Position = support::Id<struct CertificatePositionTag>;
/// Consecutive positions.
using Stretch = support::IdRange<Position>;
/// A candidate by its place among those of the round.
using EntryId = support::Id<struct RoundEntryTag>;

/// A set of formats of one value, as bits over the formats in which it may be wanted.
using Formats = uint64_t;
using FormatBit = support::Id<struct FormatBitTag>;

/// State that all rounds share.
struct Order {
  Table<NodeId, Position> position;
  Table<CandidateId, std::vector<Stretch>> runs;
};

class ChainPass {
  struct Run;
  struct Writing;

 public:
  using RunId = support::Id<Run>;
  using WritingId = support::Id<Writing>;

  /// `candidates`: those that take part, ascending; `costs`: what they cost in the round, scaled, as all is
  /// here (problem/proof.h).
  ChainPass(const CertificateFile& file, const Order& order, const Table<EntryId, CandidateId>& candidates,
            const Table<EntryId, Wide>& costs);

  /// What is wrong with the multipliers of the round. What a candidate costs beyond its shares its runs take in equal
  /// parts, the last one what is left.
  runtime::Status set(const place::Proof::Round& round);

  /// `kUnreachable`: no chain leads through.
  Wide lower();
  /// No solution with the candidate costs less. After `lower`.
  Table<EntryId, Wide> lower_with();

  // Runs, one by one. After `lower` and `find_rests`.

  void find_rests() { backward(); }
  support::IdRange<RunId> runs_of(EntryId entry) const { return runs_of_[entry]; }
  Stretch positions(RunId run) const { return {runs_[run].begin, runs_[run].end}; }
  Wide share(RunId run) const { return runs_[run].share; }
  /// Values that the run writes.
  const std::vector<std::pair<ProblemValueId, WritingId>>& writes(RunId run) const { return runs_[run].writes; }
  /// The cheapest chain after `last`, the first of all where that is none, with phi of what crosses there.
  Wide rest(RunId last) const;

  // Values. After `set`.

  Formats format_bit(ProblemValueId v, place::FormatId format) const { return bit(values_[v], format); }
  /// What it costs to have the value in these formats, and as model outputs want it; `kUnreachable`: it cannot be had
  /// so.
  Wide conversions(ProblemValueId v, place::FormatId written, Formats wanted) const;
  /// As a model input.
  WritingId input_writing(ProblemValueId v) const { return input_writings_[v]; }
  /// phi of what is wanted in these formats, or more, less only what readers at `from` or later pay.
  Wide phi(WritingId writing, Formats wanted, Position from);

 private:
  struct Reader {
    Position position;
    Formats wants = 0;              ///< in which some candidate reads the value here
    Table<FormatBit, Wide> prices;  ///< empty: it pays nothing
  };
  using ReaderId = support::Id<Reader>;
  struct Value {
    /// Right after its writer; the first of all for a model input.
    Position next() const { return advance(writer, 1); }

    Position writer;  ///< none: a model input
    Table<FormatBit, place::FormatId> formats;
    Formats always = 0;  ///< of model outputs
    Table<ReaderId, Reader> readers;
    const FormatTrees* trees = nullptr;  ///< over all formats; null: too many
    std::vector<WritingId> writings;
  };
  /// A value as some candidates write it: equal format, equal readers left outside.
  struct Writing {
    ProblemValueId value = 0;
    place::FormatId format = 0;
    std::vector<ReaderId> outside;  ///< but for the one right after the writer
    /// By what is wanted, and how many of `outside` come before.
    std::map<std::pair<Formats, size_t>, Wide> phi;
  };
  /// How what crosses at a position is read by a run that begins there.
  using StartKind = support::Id<struct StartKindTag>;
  /// How it is written by a run that ends there.
  using EndKind = support::Id<struct EndKindTag>;
  struct Run {
    EntryId entry;
    Position begin;
    Position end;
    StartKind start_kind;
    EndKind end_kind;
    Wide share = 0;
    std::vector<std::pair<ProblemValueId, WritingId>> writes{};
    Wide local = 0;
  };
  /// A position between runs.
  struct Place {
    /// phi of what crosses.
    Wide link(EndKind end, StartKind kind) const { return links[end.slot() * start.size() + kind.slot()]; }

    std::vector<ProblemValueId> crossing;             ///< written right before and read here, ascending
    Table<StartKind, std::vector<Formats>> reads;     ///< parallel to `crossing`
    Table<EndKind, std::vector<WritingId>> writings;  ///< parallel to `crossing`
    std::vector<RunId> runs;                          ///< that begin here
    std::vector<Wide> links;                          ///< by end, then by start
    Table<EndKind, Wide> reach;                       ///< the cheapest chain up to here
    Table<StartKind, Wide> start;
    Table<StartKind, Wide> start_rest;  ///< and from here on
    Table<EndKind, Wide> end_rest;
  };

  const place::Candidate& candidate(CandidateId c) const { return file_.problem.candidates[c]; }
  Wide scaled(Wide cost) const { return cost >= kUnreachable ? kUnreachable : cost * file_.proof.scale; }
  void mark(CandidateId c);

  void place_values();
  runtime::Status find_formats();
  const FormatTrees* trees_of(ProblemValueId v);
  static Formats bit(const Value& value, place::FormatId format);
  static FormatBit lowest(Formats set);
  std::map<ProblemValueId, Formats> reads_of(CandidateId c);
  runtime::Status set_shares(const place::Proof::Round& round);
  runtime::Status set_prices(const place::Proof::Round& round);
  void cut_into_runs();
  void add_run(EntryId entry, Stretch stretch, Wide share, const std::map<ProblemValueId, Formats>& reads);
  WritingId writing_of(ProblemValueId v, place::FormatId format, CandidateId c);
  static std::optional<Wide> given_back(const Reader& reader, Formats set);
  Wide plain_cost(ProblemValueId v, place::FormatId written, Formats needed) const;
  void link(Place& at);
  void backward();
  Table<RunId, Wide> between_runs() const;

  const CertificateFile& file_;
  const Order& order_;
  const Table<EntryId, CandidateId>& candidates_;
  const Table<EntryId, Wide>& costs_;
  Table<ProblemValueId, Value> values_;
  Table<Position, std::vector<ProblemValueId>> written_at_;
  Table<Position, std::vector<std::pair<ProblemValueId, ReaderId>>> read_at_;
  Table<Position, CandidateId> marked_;  ///< the candidate that was marked last
  std::map<std::vector<int64_t>, std::optional<FormatTrees>> trees_;
  std::unordered_map<CandidateId, const place::Proof::Share*> shares_;
  Table<WritingId, Writing> writings_;
  Table<ProblemValueId, WritingId> input_writings_;
  Table<Position, Place> places_;
  Table<RunId, Run> runs_;  ///< in order
  support::Groups<EntryId, RunId> runs_of_;
};

}  // namespace collage::certificate
