// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/gemm_tiling.h"

#include <algorithm>

#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {
namespace {

/// Cycles per element that a thread reads for the first time, where multiply-adds hide most of it.
constexpr double kFirstReadCycles = 0.2;
/// Cycles around the loop over k: sums to zero, and to their places.
constexpr double kBlockCycles = 20;

/// Elements of A in a chunk of rows, or of A and two panels of B in a part of k, that stay near.
int64_t near_elements(const Machine& machine) {
  return std::max<int64_t>(1, machine.near_bytes() / static_cast<int64_t>(sizeof(float)));
}

class Estimate {
 public:
  Estimate(const GemmShape& shape, const Machine& machine, const GemmTiling& tiling)
      : s_(shape), machine_(machine), t_(tiling) {}

  /// Cycles of the thread with the most work; of many batches only some are examined.
  double cycles() const {
    const int64_t batches = std::min<int64_t>(s_.batches, int64_t{4} * machine_.threads);
    const int64_t tasks = batches * t_.chunks * t_.panels.panels;
    const int64_t threads = std::min<int64_t>(machine_.threads, tasks);
    double most = 0;
    for (int64_t thread = 0, begin = 0; thread < threads; ++thread) {
      const int64_t end = begin + tasks / threads + (thread < tasks % threads ? 1 : 0);
      most = std::max(most, thread_cycles(begin, end));
      begin = end;
    }
    return most;
  }

 private:
  double thread_cycles(int64_t begin, int64_t end) const {
    const int64_t panels = t_.panels.panels;
    double sum = 0;
    for (int64_t task = begin; task < end;) {
      const int64_t first = task % panels;
      const int64_t last = std::min(panels, first + end - task);
      const int64_t chunk = task / panels % t_.chunks;
      const int64_t vectors = t_.panels.begin(last) - t_.panels.begin(first);
      const int64_t rows = first_row(chunk + 1) - first_row(chunk);
      for (int64_t p = first; p < last; ++p) sum += task_cycles(chunk, t_.panels.width(p));
      const int64_t read = (rows + vectors * machine_.lanes) * s_.depth;
      sum += kFirstReadCycles * static_cast<double>(read);
      task += last - first;
    }
    return sum;
  }

  int64_t last_block(int64_t chunk) const { return std::min(t_.rows.blocks(), (chunk + 1) * t_.chunk_blocks); }
  int64_t first_row(int64_t chunk) const {
    return t_.rows.first_row(std::min(t_.rows.blocks(), chunk * t_.chunk_blocks));
  }

  double task_cycles(int64_t chunk, int64_t width) const {
    const int64_t blocks = last_block(chunk) - chunk * t_.chunk_blocks;
    const int64_t tall = std::clamp<int64_t>(t_.rows.tall - chunk * t_.chunk_blocks, 0, blocks);
    const auto of_height = [&](int64_t height) {
      return block_cycles(height, width) * static_cast<double>(s_.depth) + kBlockCycles +
             static_cast<double>(height * width);
    };
    return static_cast<double>(tall) * of_height(t_.rows.rows) +
           static_cast<double>(blocks - tall) * of_height(t_.rows.rows - 1);
  }

  const GemmShape& s_;
  const Machine& machine_;
  const GemmTiling& t_;
};

void set_chunks(GemmTiling& tiling, int64_t chunks) {
  const int64_t blocks = tiling.rows.blocks();
  tiling.chunk_blocks = ceil_div(blocks, chunks);
  tiling.chunks = ceil_div(blocks, tiling.chunk_blocks);
}

/// Parts of k, of equal length but for the last, so that a chunk of A and two panels of B stay in the cache.
int64_t choose_part(const GemmShape& shape, const GemmTiling& tiling, const Machine& machine) {
  if (!shape.packed) return shape.depth;
  const int64_t rows = std::min(shape.rows, tiling.chunk_blocks * tiling.rows.rows);
  const int64_t cached = (rows + 2 * tiling.panels.widest() * machine.lanes) * shape.depth;
  const int64_t parts = ceil_div(cached, near_elements(machine));
  if (parts <= 1) return shape.depth;
  constexpr int64_t kStep = 64;
  return std::min(shape.depth, round_up(ceil_div(shape.depth, parts), kStep));
}

}  // namespace

GemmTiling choose_tiling(const GemmShape& shape, const Machine& machine) {
  const int64_t vectors = ceil_div(shape.columns, machine.lanes);
  GemmTiling best;
  double least = 0;
  for (const int64_t v : {3, 2, 4, 1, 5, 6, 8}) {
    if (v > vectors && v != 1) continue;
    const int64_t tallest = tallest_block(v, machine.registers);
    if (tallest < 1) continue;
    GemmTiling tiling;
    tiling.panels = {vectors, ceil_div(vectors, v)};
    tiling.rows = split_rows(std::max<int64_t>(1, shape.rows), tallest);
    const int64_t least_chunks = ceil_div(shape.rows * shape.depth, near_elements(machine));
    for (const int64_t wanted :
         {int64_t{1}, int64_t{machine.threads}, int64_t{2} * machine.threads, int64_t{4} * machine.threads}) {
      const int64_t chunks = std::clamp<int64_t>(std::max(wanted, least_chunks), 1, tiling.rows.blocks());
      set_chunks(tiling, chunks);
      const double cycles = Estimate(shape, machine, tiling).cycles();
      if (least == 0 || cycles < least * 0.99) {
        least = cycles;
        best = tiling;
      }
    }
  }
  best.unroll = unroll_of(best.rows.rows, best.panels.widest());
  best.part_depth = choose_part(shape, best, machine);
  return best;
}

}  // namespace collage::codegen
