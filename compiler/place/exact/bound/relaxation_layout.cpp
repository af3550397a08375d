// SPDX-License-Identifier: Apache-2.0
// See relaxation_layout.h.
#include "compiler/place/exact/bound/relaxation_layout.h"

#include <algorithm>
#include <bit>

#include "compiler/support/check.h"

namespace collage::place {
namespace {

/// Tables over subsets of formats have at most 2^this rows.
constexpr int kMaxTableBits = 6;

const ValueUse& use_of(const IndexedCandidate& move, int value) {
  return *std::lower_bound(move.uses.begin(), move.uses.end(), value,
                           [](const ValueUse& use, int wanted) { return use.value < wanted; });
}

bool contains(const std::vector<int>& sorted, int item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

template <typename Item>
int intern(std::vector<Item>& items, const Item& item) {
  auto at = std::find(items.begin(), items.end(), item);
  if (at == items.end()) at = items.insert(items.end(), item);
  return static_cast<int>(at - items.begin());
}

}  // namespace

struct ChainLayout::Builder {
  IndexedProblem& problem;
  ChainLayout& out;
  std::vector<std::vector<std::vector<FormatMask>>> starts;  ///< by position
  std::vector<std::vector<std::vector<int>>> ends;
  struct PassRun {
    int run = 0;
    int start = 0;
    int end = 0;
    std::vector<int> writings;  ///< of values that are not read next
  };
  std::vector<std::vector<PassRun>> pass;  ///< by position

  void build() {
    const size_t count = static_cast<size_t>(problem.node_count);
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
    out.crossing.resize(static_cast<size_t>(problem.node_count) + 1);
    for (size_t v = 0; v < problem.values.size(); ++v) {
      const int next = problem.values[v].writer + 1;
      if (contains(problem.values[v].readers, next)) {
        out.crossing[static_cast<size_t>(next)].push_back(static_cast<int>(v));
      }
    }
  }

  /// Which readers some candidate has together with the writer: by value, then reader.
  std::vector<std::vector<char>> readers_inside() const {
    std::vector<std::vector<char>> inside(problem.values.size());
    for (size_t v = 0; v < inside.size(); ++v) inside[v].resize(problem.values[v].readers.size());
    for (const IndexedCandidate& move : problem.moves) {
      if (move.nodes.size() < 2) continue;
      for (const ValueUse& use : move.uses) {
        if (!use.written) continue;
        const std::vector<int>& readers = problem.values[static_cast<size_t>(use.value)].readers;
        for (size_t r = 0; r < readers.size(); ++r) {
          if (contains(move.nodes, readers[r])) inside[static_cast<size_t>(use.value)][r] = 1;
        }
      }
    }
    return inside;
  }

  /// Readers without a choice pay nothing: their value knows what it must give them. Nor do readers of model inputs.
  void find_prices() {
    const std::vector<std::vector<char>> inside = readers_inside();
    for (size_t v = 0; v < problem.values.size(); ++v) {
      const SearchValue& value = problem.values[v];
      ValueFormats formats;
      const FormatMask base = problem.conversions.base(static_cast<int>(v));
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
      for (size_t r = 0; r < value.readers.size(); ++r) {
        Reader reader;
        reader.wants = value.reader_wants[r];
        reader.wanted = over_bits(reader.wants);
        const bool may_pay = formats.exact && value.writer >= 0 && value.readers[r] != value.writer + 1;
        if (may_pay && (std::popcount(reader.wants) > 1 || (reader.wants != 0 && inside[v][r] != 0))) {
          reader.first_price = static_cast<int>(out.value_of_price.size());
          out.value_of_price.insert(out.value_of_price.end(), static_cast<size_t>(std::popcount(reader.wants)),
                                    static_cast<int>(v));
        }
        if (formats.exact) {
          reader.gains = out.gain_count;
          out.gain_count += 1 << formats.bits.size();
        }
        formats.readers.push_back(reader);
      }
      out.values.push_back(std::move(formats));
    }
  }

  void find_runs() {
    for (size_t m = 0; m < problem.moves.size(); ++m) {
      const IndexedCandidate& move = problem.moves[m];
      out.first_run.push_back(static_cast<int>(out.runs.size()));
      for (size_t i = 0; i < move.nodes.size();) {
        size_t j = i + 1;
        while (j < move.nodes.size() && move.nodes[j] == move.nodes[j - 1] + 1) ++j;
        add_run(move, {static_cast<int>(m), move.nodes[i], move.nodes[j - 1] + 1});
        i = j;
      }
    }
    out.first_run.push_back(static_cast<int>(out.runs.size()));
    out.reads_from.push_back(static_cast<int>(out.reads.size()));
  }

  void add_run(const IndexedCandidate& move, Run run) {
    PassRun added;
    added.run = static_cast<int>(out.runs.size());
    std::vector<FormatMask> reads;
    for (int v : out.crossing[static_cast<size_t>(run.begin)]) reads.push_back(use_of(move, v).wanted);
    added.start = intern(starts[static_cast<size_t>(run.begin)], reads);
    const std::vector<int>& leaving = out.crossing[static_cast<size_t>(run.end)];
    std::vector<int> ending;
    for (int v : leaving) ending.push_back(writing_of(move, use_of(move, v)));
    added.end = intern(ends[static_cast<size_t>(run.end)], ending);

    out.reads_from.push_back(static_cast<int>(out.reads.size()));
    for (int node = run.begin; node < run.end; ++node) {
      for (int v : problem.values_written[static_cast<size_t>(node)]) {
        const ValueUse& use = use_of(move, v);
        if (use.format >= 0 && !contains(leaving, v)) added.writings.push_back(writing_of(move, use));
      }
      for (int v : problem.values_read[static_cast<size_t>(node)]) {
        const ValueUse& use = use_of(move, v);
        if (use.written) continue;
        const SearchValue& value = problem.values[static_cast<size_t>(v)];
        const auto at = std::lower_bound(value.readers.begin(), value.readers.end(), node) - value.readers.begin();
        const Reader& reader = out.values[static_cast<size_t>(v)].readers[static_cast<size_t>(at)];
        if (reader.first_price < 0) continue;
        const FormatMask below = (use.wanted & -use.wanted) - 1;
        out.reads.push_back({value.writer, reader.first_price + std::popcount(reader.wants & below)});
      }
    }
    pass[static_cast<size_t>(run.begin)].push_back(std::move(added));
    out.runs.push_back(run);
  }

  int writing_of(const IndexedCandidate& move, const ValueUse& use) {
    const SearchValue& value = problem.values[static_cast<size_t>(use.value)];
    std::vector<int> outside;
    for (size_t r = 0; r < value.readers.size(); ++r) {
      const int reader = value.readers[r];
      if (reader != value.writer + 1 && !contains(move.nodes, reader)) outside.push_back(static_cast<int>(r));
    }
    return intern_writing(use.value, use.format, std::move(outside));
  }

  int intern_writing(int value, FormatId written, std::vector<int> outside) {
    std::vector<int>& known = out.writings_of[static_cast<size_t>(value)];
    for (int w : known) {
      const Writing& writing = out.writings[static_cast<size_t>(w)];
      if (writing.written == written && writing.outside == outside) return w;
    }
    Writing writing;
    writing.value = value;
    writing.written = written;
    const ValueFormats& formats = out.values[static_cast<size_t>(value)];
    if (formats.exact) {
      for (uint32_t subset = 0; subset < 1u << formats.bits.size(); ++subset) {
        writing.base.push_back(to_cell(problem.conversions.cost(value, written, out.mask_of(value, subset))));
      }
      writing.pays = std::any_of(outside.begin(), outside.end(),
                                 [&](int r) { return formats.readers[static_cast<size_t>(r)].first_price >= 0; });
    }
    writing.outside = std::move(outside);
    known.push_back(static_cast<int>(out.writings.size()));
    out.writings.push_back(std::move(writing));
    return known.back();
  }

  void find_inputs() {
    std::vector<int> first;
    for (int v : out.crossing[0]) first.push_back(input_writing(v));
    ends[0].push_back(std::move(first));
    for (size_t v = 0; v < problem.values.size(); ++v) {
      if (problem.values[v].writer < 0 && !contains(out.crossing[0], static_cast<int>(v))) {
        out.input_cells.push_back(input_writing(static_cast<int>(v)));
      }
    }
    starts.back().push_back({});
  }

  int input_writing(int v) {
    const SearchValue& value = problem.values[static_cast<size_t>(v)];
    std::vector<int> later;
    for (size_t r = 0; r < value.readers.size(); ++r) {
      if (value.readers[r] != 0) later.push_back(static_cast<int>(r));
    }
    return intern_writing(v, problem.host_plain, std::move(later));
  }

  /// A value with too many formats for a table is not relaxed: its cells are the costs of what is read next, with what
  /// outputs want.
  void number_cells() {
    out.cell_count = static_cast<int>(out.value_of_price.size());
    for (Writing& writing : out.writings) {
      writing.cells = out.cell_count;
      const ValueFormats& formats = out.values[static_cast<size_t>(writing.value)];
      if (!formats.exact) {
        const FormatMask base = problem.conversions.base(writing.value);
        for (FormatMask next : next_reads(writing.value)) {
          writing.base.push_back(to_cell(problem.conversions.cost(writing.value, writing.written, base | next)));
        }
      }
      out.cell_count += static_cast<int>(writing.base.size());
    }
    for (int& cell : out.input_cells) cell = out.cell(cell, 0);
  }

  /// Nothing, then every way in which the reader right after the writer reads it.
  std::vector<FormatMask> next_reads(int v) const {
    std::vector<FormatMask> reads = {0};
    const size_t next = static_cast<size_t>(problem.values[static_cast<size_t>(v)].writer + 1);
    const std::vector<int>& crossing = out.crossing[next];
    const auto at = std::find(crossing.begin(), crossing.end(), v);
    if (at == crossing.end()) return reads;
    for (const std::vector<FormatMask>& start : starts[next]) {
      intern(reads, start[static_cast<size_t>(at - crossing.begin())]);
    }
    return reads;
  }

  void flatten() {
    for (const auto& here : starts) {
      out.starts_from.push_back(static_cast<int>(out.start.size()));
      out.start.insert(out.start.end(), here.begin(), here.end());
    }
    out.starts_from.push_back(static_cast<int>(out.start.size()));
    for (size_t q = 0; q < ends.size(); ++q) {
      out.ends_from.push_back(static_cast<int>(out.end.size()));
      for (const std::vector<int>& writings : ends[q]) {
        out.link_from.push_back(static_cast<int>(out.links.size()));
        for (const std::vector<FormatMask>& start : starts[q]) {
          for (size_t i = 0; i < writings.size(); ++i) out.links.push_back(linked_cell(writings[i], start[i]));
        }
        out.end.push_back(writings);
      }
    }
    out.ends_from.push_back(static_cast<int>(out.end.size()));
    for (size_t q = 0; q < pass.size(); ++q) {
      out.pass_from.push_back(static_cast<int>(out.pass_runs.size()));
      std::stable_sort(pass[q].begin(), pass[q].end(),
                       [](const PassRun& a, const PassRun& b) { return a.start < b.start; });
      for (const PassRun& run : pass[q]) {
        const Run& placed = out.runs[static_cast<size_t>(run.run)];
        out.pass_runs.push_back(run.run);
        out.pass_start.push_back(out.starts_from[q] + run.start);
        out.pass_end.push_back(out.ends_from[static_cast<size_t>(placed.end)] + run.end);
        out.terms_from.push_back(static_cast<int>(out.terms.size()));
        for (int r = out.reads_from[static_cast<size_t>(run.run)]; r < out.reads_from[static_cast<size_t>(run.run) + 1];
             ++r) {
          out.terms.push_back(out.reads[static_cast<size_t>(r)].price);
        }
        for (int writing : run.writings) out.terms.push_back(out.cell(writing, 0));
      }
    }
    out.pass_from.push_back(static_cast<int>(out.pass_runs.size()));
    out.start_from.resize(out.start.size() + 1, static_cast<int>(out.pass_runs.size()));
    for (size_t k = out.pass_runs.size(); k-- > 0;)
      out.start_from[static_cast<size_t>(out.pass_start[k])] = static_cast<int>(k);
    out.terms_from.push_back(static_cast<int>(out.terms.size()));
  }

  int linked_cell(int w, FormatMask next) const {
    const Writing& writing = out.writings[static_cast<size_t>(w)];
    if (out.values[static_cast<size_t>(writing.value)].exact) return out.cell(w, next);
    const std::vector<FormatMask> reads = next_reads(writing.value);
    return writing.cells + static_cast<int>(std::find(reads.begin(), reads.end(), next) - reads.begin());
  }
};

ChainLayout::ChainLayout(IndexedProblem& problem) {
  Builder{problem, *this, {}, {}, {}}.build();
}

int ChainLayout::cell(int writing, FormatMask next) const {
  const Writing& of = writings[static_cast<size_t>(writing)];
  return of.cells + static_cast<int>(subset_of(of.value, next));
}

uint32_t ChainLayout::subset_of(int value, FormatMask mask) const {
  const std::vector<FormatMask>& bits = values[static_cast<size_t>(value)].bits;
  uint32_t subset = 0;
  for (size_t i = 0; i < bits.size(); ++i) subset |= (mask & bits[i]) != 0 ? 1u << i : 0;
  return subset;
}

const std::vector<int64_t>& ChainLayout::base_of(int value, FormatId written) const {
  const std::vector<int>& known = writings_of[static_cast<size_t>(value)];
  const auto at = std::find_if(known.begin(), known.end(),
                               [&](int w) { return writings[static_cast<size_t>(w)].written == written; });
  COLLAGE_CHECK(at != known.end(), "value {} is never written in format {}", value, written);
  return writings[static_cast<size_t>(*at)].base;
}

FormatMask ChainLayout::mask_of(int value, uint32_t subset) const {
  const std::vector<FormatMask>& bits = values[static_cast<size_t>(value)].bits;
  FormatMask mask = 0;
  for (size_t i = 0; i < bits.size(); ++i) mask |= (subset >> i & 1) != 0 ? bits[i] : 0;
  return mask;
}

}  // namespace collage::place
