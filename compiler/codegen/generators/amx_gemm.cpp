// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/amx_gemm.h"

#include <algorithm>
#include <utility>

#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {
namespace {

/// Least number of multiply-accumulates for a separate thread.
constexpr int64_t kAmxGrainWork = 1 << 18;
/// Most depth of a part of k, but for very deep products, whose code would become long.
constexpr int64_t kPartDepth = 1024;
constexpr int64_t kMostParts = 8;
/// Bytes of split rows, of split weights, or of waiting sums, that stay in a second-level cache of 2 MB beside the
/// others.
constexpr int64_t kRowBytes = 800 << 10;
constexpr int64_t kWeightBytes = 800 << 10;
constexpr int64_t kSumBytes = 1 << 20;
constexpr int64_t kTileWords = 256;
constexpr uint32_t kUpperHalf = 0xffff0000;

struct PartProduct {
  int row_part;
  int column_part;
};

class AmxGemm {
 public:
  AmxGemm(KernelBuilder& builder, const AmxProduct& product, const SumSink& finish)
      : builder_(builder), nest_(builder.nest()), p_(product), finish_(finish) {}

  KernelSketch run() {
    choose_sizes();
    a_ = builder_.value_buffer(p_.operand, false);
    w_ = builder_.constant_buffer(split_weights(p_.weights, parts_, part_depth_), "split");
    scratch_ = builder_.scratch_buffer(static_cast<size_t>(scratch_words_) * sizeof(float));
    emit();
    const int64_t work = std::min(p_.rows, chunk_rows()) * group_panels_ * kPanelColumns * p_.weights.depth;
    return builder_.finish(chunks_ * groups_, kAmxGrainWork / std::max<int64_t>(1, work));
  }

 private:
  int64_t chunk_rows() const { return chunk_blocks_ * block_rows_; }

  void choose_sizes() {
    const int threads = builder_.context().threads;
    parts_ = builder_.context().numerics == Numerics::Fast ? 2 : 3;
    small_products_ = parts_ == 2 ? std::vector<PartProduct>{{1, 0}, {0, 1}}
                                  : std::vector<PartProduct>{{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}};
    const int64_t depth = p_.weights.depth;
    panels_ = ceil_div(p_.weights.columns, kPanelColumns);
    steps_ = ceil_div(depth, kStepDepth);
    const int64_t k_parts = std::min(ceil_div(depth, kPartDepth), kMostParts);
    part_depth_ = ceil_div(steps_, k_parts) * kStepDepth;
    // 49 rows => 2 blocks of 26: tiles of 13 rows.
    const int64_t blocks = ceil_div(p_.rows, 32);
    tile_rows_ = ceil_div(ceil_div(p_.rows, blocks), 2);
    block_rows_ = 2 * tile_rows_;
    const int64_t block_bytes = block_rows_ * part_depth_ * 2 * parts_;
    const int64_t most_blocks = std::clamp<int64_t>(kRowBytes / block_bytes, 1, blocks);
    const bool weights_stay = panels_ * steps_ * parts_ * kStepWords * 4 <= kWeightBytes;
    // Where the weights stay in the cache, threads share the rows, or else the weights.
    chunks_ = ceil_div(blocks, most_blocks);
    if (weights_stay) chunks_ = std::min(blocks, ceil_div(chunks_, threads) * threads);
    chunk_blocks_ = ceil_div(blocks, chunks_);
    chunks_ = ceil_div(blocks, chunk_blocks_);
    groups_ = chunks_ % threads == 0 ? 1 : threads;
    const int64_t block_sums = block_rows_ * kPanelColumns;
    if (k_parts > 1) groups_ = std::max(groups_, ceil_div(panels_ * chunk_blocks_ * block_sums * 4, kSumBytes));
    groups_ = std::min(groups_, panels_);
    group_panels_ = ceil_div(panels_, groups_);
    groups_ = ceil_div(panels_, group_panels_);
    prefetches_ = !weights_stay;
    // Scratch memory: split rows, then a block's sums, then those that wait, then a flag per block.
    sums_ = chunk_blocks_ * block_rows_ * part_depth_ / 2 * parts_;
    waiting_ = sums_ + block_sums;
    flags_ = waiting_ + (k_parts > 1 ? group_panels_ * chunk_blocks_ * block_sums : 0);
    scratch_words_ = ceil_div(flags_ + chunk_blocks_, 16) * 16;
    sums_wait_ = k_parts > 1;
  }

  void emit() {
    const int rows = static_cast<int>(tile_rows_);
    nest_.tile_config({rows, rows, rows, rows, rows, rows, 16, 16});
    upper_ = nest_.let("upper", nest_.constant_bits(kUpperHalf, lanes()));
    const Expr task = nest_.begin_for("task", nest_.task_begin(), nest_.task_end());
    const Expr group = nest_.let("group", rem(task, groups_));
    const Expr chunk = nest_.let("chunk", div(task, groups_));
    first_row_ = nest_.let("first_row", mul(chunk, chunk_rows()));
    last_row_ = nest_.let("last_row", min(add(first_row_, chunk_rows()), int_const(p_.rows)));
    blocks_ = nest_.let("blocks", div(add(sub(last_row_, first_row_), block_rows_ - 1), block_rows_));
    first_panel_ = nest_.let("first_panel", mul(group, group_panels_));
    last_panel_ = nest_.let("last_panel", min(add(first_panel_, group_panels_), int_const(panels_)));
    const int64_t part_steps = part_depth_ / kStepDepth;
    for (int64_t step = 0; step < steps_; step += part_steps) {
      step_ = step;
      part_steps_ = std::min(part_steps, steps_ - step);
      split_rows_of_part();
      emit_products();
    }
    nest_.end_for();
    nest_.tile_release();
  }

  int lanes() const { return nest_.lanes(); }
  bool is_first() const { return step_ == 0; }
  bool is_last() const { return step_ + part_steps_ == steps_; }
  /// Elements of the rows in this part, without the padding.
  int64_t part_elements() const { return std::min(part_steps_ * kStepDepth, p_.weights.depth - step_ * kStepDepth); }
  Expr row_of(const Expr& block) const { return add(first_row_, mul(block, block_rows_)); }
  Expr operand_at(const Expr& row) const { return add(mul(row, p_.weights.depth), step_ * kStepDepth); }

  // Split rows lie as [block][step][part][row][pair], a pair of k and k + 16 of the step in a word.
  int64_t step_words() const { return parts_ * 2 * tile_rows_ * 16; }

  /// Masks over all elements that a block has met: true where one was below the safe range, and false where one was
  /// beyond it or no number.
  struct Watch {
    Expr small, tame;
  };

  void split_rows_of_part() {
    const Expr zero = nest_.let("zero", nest_.zero(lanes()));
    const Expr one = nest_.let("one", nest_.constant(1, lanes()));
    const Expr block = nest_.begin_for("block", int_const(0), blocks_);
    const Watch watch{nest_.variable("small", binary(Op::FLess, zero, zero)),
                      nest_.variable("tame", binary(Op::FEqual, zero, zero))};
    const Expr first = nest_.let("row", row_of(block));
    const Expr last = nest_.let("end", min(add(first, block_rows_), last_row_));
    const Expr row = nest_.begin_for("r", first, last);
    const Expr from = nest_.let("from", operand_at(row));
    const Expr to = nest_.let("to", add(mul(block, part_steps_ * step_words()), mul(sub(row, first), 16)));
    const int64_t whole = part_elements() / kStepDepth;
    if (whole > 0) {
      const Expr step = nest_.begin_for("step", int_const(0), int_const(whole));
      split_step(add(from, mul(step, kStepDepth)), add(to, mul(step, step_words())), kStepDepth, zero, watch);
      nest_.end_for();
    }
    if (const int64_t left = part_elements() % kStepDepth; left > 0) {
      split_step(add(from, whole * kStepDepth), add(to, whole * step_words()), left, zero, watch);
    }
    nest_.end_for();
    const Expr flags = select(watch.small, one, select(watch.tame, zero, one));
    Expr flag = unary(Op::ReduceMax, nest_.let("flags", flags));
    const Expr place = add(block, flags_);
    if (!is_first()) flag = binary(Op::FMax, flag, load(scratch_, place, 1));
    nest_.store(scratch_, place, flag);
    nest_.end_for();
  }

  void split_step(const Expr& from, const Expr& to, int64_t count, const Expr& zero, const Watch& watch) {
    std::vector<Expr> rest;
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t left = count - half * lanes();
      if (left <= 0) {
        rest.push_back(zero);
        continue;
      }
      const Expr mask = left < lanes() ? nest_.lanes_below(int_const(left)) : nullptr;
      const Expr x = nest_.let("x", load(a_, add(from, half * lanes()), lanes(), mask));
      const Expr size = nest_.let("size", binary(Op::BitAnd, x, nest_.constant_bits(0x7fffffff, lanes())));
      const Expr is_small = mask_op(Op::MaskAnd, binary(Op::FLess, zero, size),
                                    binary(Op::FLess, size, nest_.constant(p_.safe.least, lanes())));
      nest_.set(watch.small, mask_op(Op::MaskOr, watch.small, is_small));
      const Expr is_tame = binary(Op::FLess, size, nest_.constant(p_.safe.limit, lanes()));
      nest_.set(watch.tame, mask_op(Op::MaskAnd, watch.tame, is_tame));
      rest.push_back(x);
    }
    for (int part = 0; part < parts_; ++part) {
      std::vector<Expr> rounded;
      for (Expr& x : rest) {
        const Expr half_up = binary(Op::BitAdd, x, nest_.constant_bits(0x8000, lanes()));
        rounded.push_back(nest_.let("part", binary(Op::BitAnd, half_up, upper_)));
        if (part + 1 < parts_) x = nest_.let("rest", binary(Op::FSub, x, rounded.back()));
      }
      const Expr low = binary(Op::BitAnd, unary(Op::BitShr, rounded[0], 16), nest_.constant_bits(0xffff, lanes()));
      nest_.store(scratch_, add(to, part * 2 * tile_rows_ * 16), binary(Op::BitOr, low, rounded[1]));
    }
  }

  void emit_products() {
    const Expr panel = nest_.begin_for("panel", first_panel_, last_panel_);
    weights_ = nest_.let("w", add(mul(panel, panel_words()), step_ * panels_ * parts_ * kStepWords));
    const Expr block = nest_.begin_for("block", int_const(0), blocks_);
    Expr waiting;
    if (sums_wait_) {
      const Expr place = add(mul(sub(panel, first_panel_), chunk_blocks_), block);
      waiting = nest_.let("waiting", add(mul(place, block_rows_ * kPanelColumns), waiting_));
    }
    const Expr sums = sums_wait_ && is_first() ? waiting : int_const(sums_);
    const Expr flag = nest_.let("flag", load(scratch_, add(block, flags_), 1));
    const Expr none = nest_.let("none", nest_.zero(1));
    nest_.begin_if(binary(Op::FLessEq, flag, none));
    multiply_in_tiles(block, sums);
    nest_.end_if();
    nest_.begin_if(binary(Op::FLess, none, flag));
    multiply_unsplit(block, sums);
    nest_.end_if();
    if (is_last()) {
      store_sums(panel, block, waiting);
    } else if (!is_first()) {
      add_to_waiting(waiting);
    }
    nest_.end_for();
    nest_.end_for();
  }

  void add_to_waiting(const Expr& waiting) {
    const Expr at = nest_.begin_for("at", int_const(0), int_const(block_rows_ * kPanelColumns), lanes());
    const Expr place = add(waiting, at);
    const Expr sum = load(scratch_, add(at, sums_), lanes());
    nest_.store(scratch_, place, binary(Op::FAdd, load(scratch_, place, lanes()), sum));
    nest_.end_for();
  }

  int64_t panel_words() const { return part_steps_ * parts_ * kStepWords; }

  // Tiles 0 to 3 are the sums of a block [row tile][column tile], 4 and 5 a part of its rows, 6 and 7 of the weights.
  void multiply_in_tiles(const Expr& block, const Expr& sums) {
    const auto place = [&](int tile) {
      return add(sums, (tile / 2) * tile_rows_ * kPanelColumns + int64_t{tile % 2} * 16);
    };
    for (int tile = 0; tile < 4; ++tile) nest_.tile_zero(tile);
    const Expr rows = nest_.let("rows", mul(block, part_steps_ * step_words()));
    // The small products of all steps come first: each of them would round a large sum.
    Expr step = nest_.begin_for("step", int_const(0), int_const(part_steps_));
    prefetch_next(block, step);
    multiply_parts(small_products_, rows, step);
    nest_.end_for();
    step = nest_.begin_for("step", int_const(0), int_const(part_steps_));
    multiply_parts({{0, 0}}, rows, step);
    nest_.end_for();
    for (int tile = 0; tile < 4; ++tile) nest_.tile_store(tile, scratch_, place(tile), kPanelColumns);
  }

  void multiply_parts(const std::vector<PartProduct>& products, const Expr& rows, const Expr& step) {
    const Expr a = nest_.let("a", add(rows, mul(step, step_words())));
    const Expr b = nest_.let("b", add(weights_, mul(step, parts_ * kStepWords)));
    PartProduct held{-1, -1};
    for (const PartProduct& product : products) {
      for (int half = 0; half < 2; ++half) {
        if (product.row_part != held.row_part) {
          nest_.tile_load(4 + half, scratch_, add(a, (product.row_part * 2 + half) * tile_rows_ * 16), 16);
        }
        if (product.column_part != held.column_part) {
          nest_.tile_load(6 + half, w_, add(b, (product.column_part * 2 + half) * kTileWords), 16);
        }
      }
      held = product;
      for (int tile = 0; tile < 4; ++tile) nest_.tile_dot(tile, 4 + tile / 2, 6 + tile % 2);
    }
  }

  /// The next panel's weights, each block of rows its share: they come from far away.
  void prefetch_next(const Expr& block, const Expr& step) {
    if (!prefetches_) return;
    const int64_t lines = parts_ * kStepWords / kLineElements;  // per step
    const int64_t share = ceil_div(lines, std::min(chunk_blocks_, ceil_div(p_.rows, block_rows_)));
    const Expr at = add(add(weights_, panel_words()), mul(add(mul(block, part_steps_), step), share * kLineElements));
    const Expr next = nest_.let("next", at);
    for (int64_t line = 0; line < share; ++line) nest_.prefetch(w_, add(next, line * kLineElements));
  }

  /// One row after the other, k after k; what the block needs rarely may be slow.
  void multiply_unsplit(const Expr& block, const Expr& sums) {
    const Expr first = nest_.let("row", row_of(block));
    const Expr row = nest_.begin_for("r", first, min(add(first, block_rows_), last_row_));
    const Expr from = nest_.let("from", operand_at(row));
    const Expr to = nest_.let("to", add(sums, mul(sub(row, first), kPanelColumns)));
    std::vector<Expr> c;
    for (int64_t tile = 0; tile < 2; ++tile) c.push_back(nest_.variable("c", nest_.zero(lanes())));
    const Expr step = nest_.begin_for("step", int_const(0), int_const(part_steps_));
    for (int half = 0; half < 2; ++half) {
      const Expr begin = nest_.let("k", add(mul(step, kStepDepth), half * 16));
      const Expr end = min(add(begin, 16), int_const(part_elements()));
      const Expr k = nest_.begin_for("k", begin, end);
      const Expr a = nest_.let("a", splat(load(a_, add(from, k), 1), lanes()));
      const Expr pair = add(mul(step, parts_ * kStepWords), mul(sub(k, begin), 16));
      const Expr words = nest_.let("words", add(weights_, pair));
      for (int64_t tile = 0; tile < 2; ++tile) {
        Expr weight;
        for (int64_t part = 0; part < parts_; ++part) {
          const Expr word = load(w_, add(words, (part * 2 + tile) * kTileWords), lanes());
          const Expr value = half == 0 ? unary(Op::BitShl, word, 16) : binary(Op::BitAnd, word, upper_);
          weight = weight ? binary(Op::FAdd, weight, value) : value;
        }
        const Expr& sum = c[static_cast<size_t>(tile)];
        nest_.set(sum, fma(a, weight, sum));
      }
      nest_.end_for();
    }
    nest_.end_for();
    for (int64_t tile = 0; tile < 2; ++tile) nest_.store(scratch_, add(to, tile * 16), c[static_cast<size_t>(tile)]);
    nest_.end_for();
  }

  /// `waiting`: where the sums of the parts before are; null: there are none.
  void store_sums(const Expr& panel, const Expr& block, const Expr& waiting) {
    const int64_t left = p_.weights.columns - (panels_ - 1) * kPanelColumns;
    if (left == kPanelColumns) return store_panel(panel, block, waiting, left);
    if (panels_ > 1) {
      nest_.begin_if(less(panel, int_const(panels_ - 1)));
      store_panel(panel, block, waiting, kPanelColumns);
      nest_.end_if();
      nest_.begin_if(less(int_const(panels_ - 2), panel));
    }
    store_panel(panel, block, waiting, left);
    if (panels_ > 1) nest_.end_if();
  }

  void store_panel(const Expr& panel, const Expr& block, const Expr& waiting, int64_t columns) {
    const Expr mask =
        columns % lanes() == 0 ? nullptr : nest_.let("mask", nest_.lanes_below(int_const(columns % lanes())));
    const Expr first = nest_.let("row", row_of(block));
    const Expr row = nest_.begin_for("r", first, nest_.let("end", min(add(first, block_rows_), last_row_)));
    const Expr from = nest_.let("from", mul(sub(row, first), kPanelColumns));
    for (int64_t at = 0; at < columns; at += lanes()) {
      Expr sum = load(scratch_, add(from, sums_ + at), lanes());
      if (waiting) sum = binary(Op::FAdd, load(scratch_, add(add(waiting, from), at), lanes()), sum);
      sum = nest_.let("sum", sum);
      const Expr column = nest_.let("column", add(mul(panel, kPanelColumns), at));
      finish_(row, column, sum, columns - at < lanes() ? mask : nullptr);
    }
    nest_.end_for();
  }

  KernelBuilder& builder_;
  Nest& nest_;
  const AmxProduct& p_;
  const SumSink& finish_;
  std::vector<PartProduct> small_products_;
  int parts_ = 3;
  int64_t panels_ = 1;
  int64_t steps_ = 1;
  int64_t part_depth_ = kStepDepth;
  int64_t tile_rows_ = 16;
  int64_t block_rows_ = 32;
  int64_t chunk_blocks_ = 1;
  int64_t chunks_ = 1;
  int64_t groups_ = 1;
  int64_t group_panels_ = 1;
  bool prefetches_ = false;
  bool sums_wait_ = false;
  int64_t sums_ = 0;     ///< in scratch memory, as the next two
  int64_t waiting_ = 0;  ///< sums of earlier parts: [panel][block][row][column]
  int64_t flags_ = 0;    ///< 1: the block is not for tiles
  int64_t scratch_words_ = 0;
  int a_ = -1;
  int w_ = -1;
  int scratch_ = -1;
  Expr first_row_, last_row_, blocks_, first_panel_, last_panel_;  ///< of the task
  // The part of k that is being emitted.
  int64_t step_ = 0;
  int64_t part_steps_ = 1;
  Expr weights_, upper_;
};

}  // namespace

KernelSketch generate_amx_gemm(KernelBuilder& builder, const AmxProduct& product, const SumSink& finish) {
  return AmxGemm(builder, product, finish).run();
}

}  // namespace collage::codegen
