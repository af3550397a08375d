// SPDX-License-Identifier: Apache-2.0
// Convolution over any number of spatial dimensions, for every element type: `convolve` sums, the caller stores.
//
// Sums are kept one row of output at a time: floats in double, to be rounded once; integers modulo 2^32, which is i32
// arithmetic that may overflow. The inner loops run along the innermost spatial dimension over the range that lies
// inside the input, so that padding costs nothing. Each output element is summed in one order whatever the number of
// threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/kernels/window.h"

namespace collage::runtime {

struct ConvGeometry {
  Window window;
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;   ///< per group
  int64_t out_channels = 0;  ///< per group
  int64_t input_size = 0;    ///< elements of one input channel
  int64_t output_size = 0;   ///< elements of one output channel
  int64_t taps = 0;          ///< elements of the kernel
};

Status make_geometry(const Shape& x, const Shape& w, int64_t out_channels, const AttrMap& attrs, bool transposed,
                     ConvGeometry* geometry);

/// Below this many multiply-accumulates, starting threads costs more than they save.
inline constexpr double kParallelMacs = 1e6;

double macs_of(const ConvGeometry& g, int64_t spatial_size);

/// A 1x1 window with stride 1 and no pads sees its input as one long row.
void flatten_pointwise(Window& w);

/// One kernel position as seen from one row of a tensor: `offset` of the other tensor's element for index 0, and the
/// indices for which that element exists.
struct Tap {
  int64_t index = 0;
  int64_t offset = 0;
  IndexRange range;
};

/// The index of row `row` in each dimension but the last of `shape`.
void unflatten_row(const Shape& shape, int64_t row, Ints& position);

/// Taps that touch the row at `position`, in kernel order. The row belongs to a tensor of spatial shape `from`, the
/// elements reached to one of shape `to`: o * stride + tap * dilation - pad.
void collect_taps(const Window& w, const Shape& from, const Shape& to, const Ints& position, std::vector<Tap>& taps);

/// What sums of products of T are computed in.
template <typename T>
using ConvSum = std::conditional_t<std::is_floating_point_v<T>, double, uint32_t>;

/// Output channels that share one pass over an input row.
inline constexpr int64_t kChannelBlock = 4;

/// A block of output channels that is being summed along one output row.
template <typename T>
struct ConvSums {
  ConvSum<T>* rows;  ///< kChannelBlock rows
  int64_t width;
  int64_t block;  ///< rows in use
};

/// sums[c][i] += weights[c] * x[i * stride], where weights of neighbouring channels are `weight_stride` apart.
template <typename T>
void accumulate_one(const T* x, int64_t stride, IndexRange range, const T* weights, int64_t weight_stride,
                    const ConvSums<T>& sums) {
  for (int64_t c = 0; c < sums.block; ++c) {
    auto weight = static_cast<ConvSum<T>>(weights[c * weight_stride]);
    ConvSum<T>* row = sums.rows + c * sums.width;
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) row[i] += weight * static_cast<ConvSum<T>>(x[i * stride]);
  }
}

/// The same for two input channels at once and a full block: sums, which stay in memory, are touched half as often.
template <typename T>
void accumulate_two(const T* x, const T* next_x, int64_t stride, IndexRange range, const T* weights,
                    const T* next_weights, int64_t weight_stride, const ConvSums<T>& sums) {
  static_assert(kChannelBlock == 4);
  using Sum = ConvSum<T>;
  auto at = [weight_stride](const T* first, int64_t c) { return static_cast<Sum>(first[c * weight_stride]); };
  Sum w0 = at(weights, 0), w1 = at(weights, 1), w2 = at(weights, 2), w3 = at(weights, 3);
  Sum v0 = at(next_weights, 0), v1 = at(next_weights, 1), v2 = at(next_weights, 2), v3 = at(next_weights, 3);
  Sum *s0 = sums.rows, *s1 = s0 + sums.width, *s2 = s1 + sums.width, *s3 = s2 + sums.width;
#pragma omp simd
  for (int64_t i = range.begin; i < range.end; ++i) {
    auto a = static_cast<Sum>(x[i * stride]);
    auto b = static_cast<Sum>(next_x[i * stride]);
    s0[i] += w0 * a + v0 * b;
    s1[i] += w1 * a + v1 * b;
    s2[i] += w2 * a + v2 * b;
    s3[i] += w3 * a + v3 * b;
  }
}

/// Calls store(output channel, first element in y, elements, their sums) for every row of the result, from several
/// threads.
template <typename T, typename Store>
void convolve(ConvGeometry g, const T* x, const T* w, Store store) {
  flatten_pointwise(g.window);
  int64_t width = g.window.output.back();
  if (g.batch == 0 || g.output_size == 0) return;
  int64_t rows = g.output_size / width;
  int64_t blocks = (g.out_channels + kChannelBlock - 1) / kChannelBlock;
  int64_t weights_per_channel = g.in_channels * g.taps;
  int64_t stride = g.window.strides.back();
  int64_t jobs = g.batch * g.groups * blocks * rows;
#pragma omp parallel if (macs_of(g, g.output_size) > kParallelMacs)
  {
    std::vector<ConvSum<T>> sums(static_cast<size_t>(kChannelBlock * width));
    std::vector<Tap> taps;
    Ints position(g.window.rank(), 0);
#pragma omp for
    for (int64_t job = 0; job < jobs; ++job) {
      int64_t row = job % rows;
      int64_t first = job / rows % blocks * kChannelBlock;
      int64_t group = job / rows / blocks % g.groups;
      int64_t image = job / rows / blocks / g.groups;
      int64_t block = std::min(kChannelBlock, g.out_channels - first);
      int64_t channel = group * g.out_channels + first;
      unflatten_row(g.window.output, row, position);
      collect_taps(g.window, g.window.output, g.window.input, position, taps);
      std::fill(sums.begin(), sums.end(), ConvSum<T>(0));
      ConvSums<T> block_sums{sums.data(), width, block};
      const T* image_x = x + (image * g.groups + group) * g.in_channels * g.input_size;
      const T* block_w = w + channel * weights_per_channel;
      int64_t pairs = block == kChannelBlock ? g.in_channels / 2 : 0;
      for (int64_t c = 0; c < 2 * pairs; c += 2) {
        const T* plane = image_x + c * g.input_size;
        const T* weights = block_w + c * g.taps;
        for (const Tap& tap : taps) {
          accumulate_two(plane + tap.offset, plane + g.input_size + tap.offset, stride, tap.range, weights + tap.index,
                         weights + g.taps + tap.index, weights_per_channel, block_sums);
        }
      }
      for (int64_t c = 2 * pairs; c < g.in_channels; ++c) {
        for (const Tap& tap : taps) {
          accumulate_one(image_x + c * g.input_size + tap.offset, stride, tap.range, block_w + c * g.taps + tap.index,
                         weights_per_channel, block_sums);
        }
      }
      for (int64_t c = 0; c < block; ++c) {
        int64_t first_element = (image * g.groups * g.out_channels + channel + c) * g.output_size + row * width;
        store(channel + c, first_element, width, sums.data() + c * width);
      }
    }
  }
}

}  // namespace collage::runtime
