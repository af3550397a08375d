// SPDX-License-Identifier: Apache-2.0
// See relaxation_layout.h.
#include "compiler/place/exact/bound/relaxation_layout.h"

#include <algorithm>
#include <bit>

#include "runtime/support/check.h"

namespace collage::place {
namespace {

/// Tables over subsets of formats have at most 2^this rows.
constexpr int kMaxTableBits = 6;

const ValueUse& use_of(const IndexedCandidate& move, ProblemValueId value) {
  return *std::lower_bound(move.uses.begin(), move.uses.end(), value,
                           [](const ValueUse& use, ProblemValueId wanted) { return use.value < wanted; });
}

template <typename I>
bool contains(const std::vector<I>& sorted, I item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

/// Where the item stands, now or before.
template <typename Item>
int64_t intern(std::vector<Item>& items, const Item& item) {
  auto at = std::find(items.begin(), items.end(), item);
  if (at == items.end()) at = items.insert(items.end(), item);
  return at - items.begin();
}

}  // namespace

struct ChainLayout::Builder {
  IndexedProblem& problem;
  ChainLayout& out;
  Table<Position, std::vector<std::vector<FormatMask>>> starts;
  Table<Position, std::vector<std::vector<WritingId>>> ends;
  struct PassRun {
    RunId run = 0;
    int64_t start = 0;                ///< of those at its begin
    int64_t end = 0;                  ///< of those at its end
    std::vector<WritingId> writings;  ///< of values that are not read next
  };
  Table<Position, std::vector<PassRun>> pass;
  std::vector<WritingId> inputs;  ///< of model inputs that are not read at position 0

  void build() {
    const size_t count = problem.node_count;
    out.writings_of.resize(problem.values.size());
    starts.resize(count + 1);
    ends.resize(count + 1);
    pass.resize(count + 1);
    find_crossing();
    find_prices();
    find_runs();
    find_inputs();
    number_cells();
    flatten();
  }

  void find_crossing() {
    out.crossing.resize(problem.node_count + 1);
    for (ProblemValueId v : problem.values.ids()) {
      const Position next = advance(problem.values[v].writer, 1);
      if (contains(problem.values[v].readers.items(), next)) out.crossing[next].push_back(v);
    }
  }

  /// Which readers some candidate has together with the writer.
  Table<ProblemValueId, Table<ReaderId, char>> readers_inside() const {
    Table<ProblemValueId, Table<ReaderId, char>> inside(problem.values.size());
    for (ProblemValueId v : inside.ids()) inside[v].resize(problem.values[v].readers.size());
    for (const IndexedCandidate& move : problem.moves) {
      if (move.nodes.size() < 2) continue;
      for (const ValueUse& use : move.uses) {
        if (!use.written) continue;
        const Table<ReaderId, Position>& readers = problem.values[use.value].readers;
        for (ReaderId r : readers.ids()) {
          if (contains(move.nodes, readers[r])) inside[use.value][r] = 1;
        }
      }
    }
    return inside;
  }

  /// Readers without a choice pay nothing: their value knows what it must give them. Nor do readers of model inputs.
  void find_prices() {
    const Table<ProblemValueId, Table<ReaderId, char>> inside = readers_inside();
    for (ProblemValueId v : problem.values.ids()) {
      const SearchValue& value = problem.values[v];
      ValueFormats formats;
      const FormatMask base = problem.conversions.base(v);
      FormatMask all = base;
      for (FormatMask wants : value.reader_wants) all |= wants;
      formats.exact = std::popcount(all) <= kMaxTableBits;
      if (formats.exact) {
        for (FormatMask rest = all; rest != 0; rest &= rest - 1) formats.bits.push_back(rest & -rest);
      }
      const auto over_bits = [&](FormatMask mask) {
        uint32_t subset = 0;
        for (size_t i = 0; i < formats.bits.size(); ++i) subset |= (mask & formats.bits[i]) != 0 ? 1u << i : 0;
        return subset;
      };
      formats.always = over_bits(base);
      for (ReaderId r : value.readers.ids()) {
        Reader reader;
        reader.wants = value.reader_wants[r];
        reader.wanted = over_bits(reader.wants);
        const bool may_pay = formats.exact && value.writer.is_valid() && value.readers[r] != advance(value.writer, 1);
        if (may_pay && (std::popcount(reader.wants) > 1 || (reader.wants != 0 && inside[v][r] != 0))) {
          reader.first_price = out.value_of_price.next_id();
          for (FormatMask rest = reader.wants; rest != 0; rest &= rest - 1) out.value_of_price.push_back(v);
        }
        if (formats.exact) {
          reader.gains = GainId(out.gain_count);
          out.gain_count += size_t{1} << formats.bits.size();
        }
        formats.readers.push_back(reader);
      }
      out.values.push_back(std::move(formats));
    }
  }

  void find_runs() {
    for (MoveId m : problem.moves.ids()) {
      const IndexedCandidate& move = problem.moves[m];
      for (size_t i = 0; i < move.nodes.size();) {
        const Position begin = move.nodes[i];
        Position end = begin;
        for (; i < move.nodes.size() && move.nodes[i] == end; ++i) end = advance(end, 1);
        add_run(move, {m, begin, end});
      }
      out.runs_of.close(out.runs.next_id());
    }
  }

  void add_run(const IndexedCandidate& move, Run run) {
    PassRun added;
    added.run = out.runs.add(run);
    std::vector<FormatMask> reads;
    for (ProblemValueId v : out.crossing[run.begin]) reads.push_back(use_of(move, v).wanted);
    added.start = intern(starts[run.begin], reads);
    const std::vector<ProblemValueId>& leaving = out.crossing[run.end];
    std::vector<WritingId> ending;
    for (ProblemValueId v : leaving) ending.push_back(writing_of(move, use_of(move, v)));
    added.end = intern(ends[run.end], ending);

    for (Position node : IdRange(run.begin, run.end)) {
      for (ProblemValueId v : problem.values_written[node]) {
        const ValueUse& use = use_of(move, v);
        if (use.format.is_valid() && !contains(leaving, v)) added.writings.push_back(writing_of(move, use));
      }
      for (ProblemValueId v : problem.values_read[node]) {
        const ValueUse& use = use_of(move, v);
        if (use.written) continue;
        const SearchValue& value = problem.values[v];
        const ReaderId r(std::lower_bound(value.readers.begin(), value.readers.end(), node) - value.readers.begin());
        const Reader& reader = out.values[v].readers[r];
        if (!reader.first_price.is_valid()) continue;
        const FormatMask below = (use.wanted & -use.wanted) - 1;
        out.reads.push_back({value.writer, advance(reader.first_price, std::popcount(reader.wants & below))});
      }
    }
    out.reads_of.close(out.reads.next_id());
    pass[run.begin].push_back(std::move(added));
  }

  WritingId writing_of(const IndexedCandidate& move, const ValueUse& use) {
    const SearchValue& value = problem.values[use.value];
    const Position next = advance(value.writer, 1);
    std::vector<ReaderId> outside;
    for (ReaderId r : value.readers.ids()) {
      if (value.readers[r] != next && !contains(move.nodes, value.readers[r])) outside.push_back(r);
    }
    return intern_writing(use.value, use.format, std::move(outside));
  }

  WritingId intern_writing(ProblemValueId value, FormatId written, std::vector<ReaderId> outside) {
    std::vector<WritingId>& known = out.writings_of[value];
    for (WritingId w : known) {
      const Writing& writing = out.writings[w];
      if (writing.written == written && writing.outside == outside) return w;
    }
    Writing writing;
    writing.value = value;
    writing.written = written;
    const ValueFormats& formats = out.values[value];
    if (formats.exact) {
      for (uint32_t subset = 0; subset < 1u << formats.bits.size(); ++subset) {
        writing.base.push_back(to_cell(problem.conversions.cost(value, written, out.mask_of(value, subset))));
      }
      writing.pays = std::any_of(outside.begin(), outside.end(),
                                 [&](ReaderId r) { return formats.readers[r].first_price.is_valid(); });
    }
    writing.outside = std::move(outside);
    known.push_back(out.writings.add(std::move(writing)));
    return known.back();
  }

  void find_inputs() {
    std::vector<WritingId> first;
    for (ProblemValueId v : out.crossing[0]) first.push_back(input_writing(v));
    ends[0].push_back(std::move(first));
    for (ProblemValueId v : problem.values.ids()) {
      if (!problem.values[v].writer.is_valid() && !contains(out.crossing[0], v)) inputs.push_back(input_writing(v));
    }
    starts.back().push_back({});
  }

  WritingId input_writing(ProblemValueId v) {
    const SearchValue& value = problem.values[v];
    std::vector<ReaderId> later;
    for (ReaderId r : value.readers.ids()) {
      if (value.readers[r] != 0) later.push_back(r);
    }
    return intern_writing(v, problem.host_plain, std::move(later));
  }

  /// A value with too many formats for a table is not relaxed: its cells are the costs of what is read next, with what
  /// outputs want.
  void number_cells() {
    out.cell_count = out.value_of_price.size();
    for (Writing& writing : out.writings) {
      writing.cells = CellId(out.cell_count);
      const ValueFormats& formats = out.values[writing.value];
      if (!formats.exact) {
        const FormatMask base = problem.conversions.base(writing.value);
        for (FormatMask next : next_reads(writing.value)) {
          writing.base.push_back(to_cell(problem.conversions.cost(writing.value, writing.written, base | next)));
        }
      }
      out.cell_count += writing.base.size();
    }
    for (WritingId writing : inputs) out.input_cells.push_back(out.cell(writing, 0));
  }

  /// Nothing, then every way in which the reader right after the writer reads it.
  std::vector<FormatMask> next_reads(ProblemValueId v) const {
    std::vector<FormatMask> reads = {0};
    const Position next = advance(problem.values[v].writer, 1);
    const std::vector<ProblemValueId>& crossing = out.crossing[next];
    const auto at = std::find(crossing.begin(), crossing.end(), v) - crossing.begin();
    if (at == std::ssize(crossing)) return reads;
    for (const std::vector<FormatMask>& start : starts[next]) intern(reads, start[at]);
    return reads;
  }

  void flatten() {
    for (const std::vector<std::vector<FormatMask>>& here : starts) {
      for (const std::vector<FormatMask>& start : here) out.start.push_back(start);
      out.starts_at.close(out.start.next_id());
    }
    for (Position q : ends.ids()) {
      for (const std::vector<WritingId>& writings : ends[q]) {
        for (const std::vector<FormatMask>& start : starts[q]) {
          for (size_t i = 0; i < writings.size(); ++i) out.links.push_back(linked_cell(writings[i], start[i]));
        }
        out.links_of.close(out.links.next_id());
        out.end.push_back(writings);
      }
      out.ends_at.close(out.end.next_id());
    }
    for (Position q : pass.ids()) {
      std::stable_sort(pass[q].begin(), pass[q].end(),
                       [](const PassRun& a, const PassRun& b) { return a.start < b.start; });
      auto next = pass[q].begin();
      for (StartId s : out.starts_at[q]) {
        for (; next != pass[q].end() && advance(out.starts_at[q].front(), next->start) == s; ++next) add_pass(*next, s);
        out.pass_of.close(out.pass_runs.next_id());
      }
      out.pass_at.close(out.pass_runs.next_id());
    }
  }

  void add_pass(const PassRun& run, StartId start) {
    out.pass_runs.push_back(run.run);
    out.pass_start.push_back(start);
    out.pass_end.push_back(advance(out.ends_at[out.runs[run.run].end].front(), run.end));
    for (PricedReadId read : out.reads_of[run.run]) out.terms.push_back(out.cell_of(out.reads[read].price));
    for (WritingId writing : run.writings) out.terms.push_back(out.cell(writing, 0));
    out.terms_of.close(out.terms.next_id());
  }

  CellId linked_cell(WritingId w, FormatMask next) const {
    const Writing& writing = out.writings[w];
    if (out.values[writing.value].exact) return out.cell(w, next);
    const std::vector<FormatMask> reads = next_reads(writing.value);
    return advance(writing.cells, std::find(reads.begin(), reads.end(), next) - reads.begin());
  }
};

ChainLayout::ChainLayout(IndexedProblem& problem) {
  Builder{problem, *this, {}, {}, {}, {}}.build();
}

CellId ChainLayout::cell(WritingId writing, FormatMask next) const {
  const Writing& of = writings[writing];
  return advance(of.cells, subset_of(of.value, next));
}

uint32_t ChainLayout::subset_of(ProblemValueId value, FormatMask mask) const {
  const std::vector<FormatMask>& bits = values[value].bits;
  uint32_t subset = 0;
  for (size_t i = 0; i < bits.size(); ++i) subset |= (mask & bits[i]) != 0 ? 1u << i : 0;
  return subset;
}

const std::vector<int64_t>& ChainLayout::base_of(ProblemValueId value, FormatId written) const {
  const std::vector<WritingId>& known = writings_of[value];
  const auto at = std::find_if(known.begin(), known.end(), [&](WritingId w) { return writings[w].written == written; });
  COLLAGE_CHECK(at != known.end(), "value {} is never written in format {}", value.index, written.index);
  return writings[*at].base;
}

FormatMask ChainLayout::mask_of(ProblemValueId value, uint32_t subset) const {
  const std::vector<FormatMask>& bits = values[value].bits;
  FormatMask mask = 0;
  for (size_t i = 0; i < bits.size(); ++i) mask |= (subset >> i & 1) != 0 ? bits[i] : 0;
  return mask;
}

}  // namespace collage::place
