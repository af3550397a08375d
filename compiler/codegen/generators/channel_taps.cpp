// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/channel_taps.h"

#include <algorithm>

#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {
namespace {

/// Registers for operands.
constexpr int64_t kOperandRegisters = 4;
constexpr int64_t kTapPositions = 14;
constexpr int64_t kHeavyTapPositions = 4;

}  // namespace

runtime::Tensor in_whole_vectors(const runtime::Tensor& list, int64_t lanes) {
  const int64_t count = list.count();
  runtime::Tensor made(runtime::DType::F32, {round_up(count, lanes)});
  std::copy_n(list.as<float>().data(), count, made.as<float>().data());
  return made;
}

runtime::Tensor weights_by_tap(const ConvProblem& p, const runtime::Tensor& weights, int64_t lanes) {
  const int64_t padded = round_up(p.groups, lanes);
  runtime::Tensor packed(runtime::DType::F32, {p.taps(), padded});
  const float* from = weights.as<float>().data();
  float* to = packed.as<float>().data();
  for (int64_t c = 0; c < p.groups; ++c) {
    for (int64_t tap = 0; tap < p.taps(); ++tap) to[tap * padded + c] = *from++;
  }
  return packed;
}

RowSplit blocks_in_registers(int64_t positions, int registers, bool is_epilogue_heavy) {
  const int64_t most = is_epilogue_heavy ? kHeavyTapPositions : kTapPositions;
  return split_rows(positions, std::min<int64_t>(most, registers - kOperandRegisters));
}

std::vector<Expr> step_over_taps(Nest& nest, const ConvProblem& p, int64_t channels, const BlockVector& at,
                                 const TapBuffers& buffers, const Expr& start, const TapStep& step) {
  std::vector<Expr> results;
  for (int64_t r = 0; r < at.run.height; ++r) results.push_back(nest.variable("r", start));
  const OutputRow::UnderTap under = at.row.begin_taps(at.position);
  const Expr x = add(under.x, at.channel);
  const int64_t padded = round_up(channels, nest.lanes());
  const bool has_weights = buffers.weights >= 0;
  const Expr w = has_weights ? nest.let("w", add(mul(under.tap, p.kernel[2] * padded), at.channel)) : nullptr;
  for (int64_t t = 0; t < p.kernel[2]; ++t) {
    const PositionRange& range = at.run.taps[static_cast<size_t>(t)];
    if (range.is_empty()) continue;
    const Expr weight =
        has_weights ? nest.let("weight", load(buffers.weights, add(w, t * padded), nest.lanes())) : nullptr;
    for (int64_t r = range.first; r < range.last; ++r) {
      const int64_t distance = (t * p.dilations[2] + r * p.strides[2]) * p.x_strides[4];
      const Expr& result = results[static_cast<size_t>(r)];
      nest.set(result, step(result, load(buffers.x, add(x, distance), nest.lanes(), at.mask), weight));
    }
  }
  at.row.end_taps();
  return results;
}

}  // namespace collage::codegen
