// SPDX-License-Identifier: Apache-2.0
// Conv over any number of spatial dimensions, and ConvTranspose.
//
// Sums are kept in double, one row (Conv) or plane (ConvTranspose) of output at a time, and rounded once. The inner
// loops run along the innermost spatial dimension over the range that lies inside the input, so that padding costs
// nothing. Each output element is summed in one order whatever the number of threads.
#include <algorithm>
#include <vector>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/window.h"

namespace collage::runtime {
namespace {

/// Output channels that share one pass over an input row.
constexpr int64_t kChannelBlock = 4;

struct Geometry {
  Window window;
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;   ///< per group
  int64_t out_channels = 0;  ///< per group
  int64_t input_size = 0;    ///< elements of one input channel
  int64_t output_size = 0;   ///< elements of one output channel
  int64_t taps = 0;          ///< elements of the kernel
};

/// Below this many multiply-accumulates, starting threads costs more than they save.
constexpr double kParallelMacs = 1e6;

double macs_of(const Geometry& g, int64_t spatial_size) {
  return static_cast<double>(g.batch * g.groups * spatial_size) *
         static_cast<double>(g.in_channels * g.out_channels * g.taps);
}

Shape spatial(const Shape& shape) {
  return Shape(shape.begin() + 2, shape.end());
}

Status make_geometry(const KernelArgs& args, bool transposed, Geometry* g) {
  const Shape& x = args.inputs[0].shape;
  const Shape& w = args.inputs[1].shape;
  auto problem = transposed ? resolve_transposed_window(spatial(x), spatial(w), args.attrs, &g->window)
                            : resolve_window(spatial(x), spatial(w), args.attrs, &g->window);
  if (problem) return Status::error(problem->message);
  g->groups = args.attrs.get_int("group", 1);
  g->batch = x[0];
  g->in_channels = x[1] / g->groups;
  g->out_channels = args.outputs[0].shape[1] / g->groups;
  g->input_size = element_count(g->window.input);
  g->output_size = element_count(g->window.output);
  g->taps = element_count(g->window.kernel);
  return Status::ok();
}

/// A 1x1 window with stride 1 and no pads sees its input as one long row.
void flatten_pointwise(Window& w) {
  auto all = [](const Ints& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == value; });
  };
  if (!all(w.kernel, 1) || !all(w.strides, 1) || !all(w.pads_begin, 0) || !all(w.pads_end, 0)) return;
  w.input = {element_count(w.input)};
  w.output = {element_count(w.output)};
  w.kernel = w.strides = w.dilations = {1};
  w.pads_begin = w.pads_end = {0};
}

/// One kernel position as seen from one row of a tensor: `offset` of the other tensor's element for index 0, and the
/// indices for which that element exists.
struct Tap {
  int64_t index = 0;
  int64_t offset = 0;
  IndexRange range;
};

/// The index of row `row` in each dimension but the last of `shape`.
void unflatten_row(const Shape& shape, int64_t row, Ints& position) {
  for (size_t d = shape.size() - 1; d-- > 0;) {
    position[d] = row % shape[d];
    row /= shape[d];
  }
}

/// Taps that touch the row at `position`, in kernel order. The row belongs to a tensor of spatial shape `from`, the
/// elements reached to one of shape `to`: o * stride + tap * dilation - pad.
void collect_taps(const Window& w, const Shape& from, const Shape& to, const Ints& position, std::vector<Tap>& taps) {
  taps.clear();
  size_t last = w.rank() - 1;
  int64_t count = element_count(w.kernel);
  Ints tap(w.rank(), 0);
  for (int64_t index = 0; index < count; ++index) {
    bool inside = true;
    int64_t offset = 0;
    for (size_t d = 0; d < last && inside; ++d) {
      int64_t at = position[d] * w.strides[d] + tap[d] * w.dilations[d] - w.pads_begin[d];
      inside = at >= 0 && at < to[d];
      offset = (offset + at) * to[d + 1];
    }
    int64_t shift = tap[last] * w.dilations[last] - w.pads_begin[last];
    IndexRange range = indices_inside(from[last], w.strides[last], shift, to[last]);
    if (inside && range.begin < range.end) taps.push_back({index, offset + shift, range});
    for (size_t d = w.rank(); d-- > 0 && ++tap[d] == w.kernel[d];) tap[d] = 0;
  }
}

/// A block of output channels that is being summed along one output row.
struct Sums {
  double* rows;  ///< kChannelBlock rows
  int64_t width;
  int64_t block;  ///< rows in use
};

/// sums[c][i] += weights[c] * x[i * stride], where weights of neighbouring channels are `weight_stride` apart.
template <typename T>
void accumulate_one(const T* x, int64_t stride, IndexRange range, const T* weights, int64_t weight_stride,
                    const Sums& sums) {
  for (int64_t c = 0; c < sums.block; ++c) {
    double weight = weights[c * weight_stride];
    double* row = sums.rows + c * sums.width;
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) row[i] += weight * static_cast<double>(x[i * stride]);
  }
}

/// The same for two input channels at once and a full block: sums, which stay in memory, are touched half as often.
template <typename T>
void accumulate_two(const T* x, const T* next_x, int64_t stride, IndexRange range, const T* weights,
                    const T* next_weights, int64_t weight_stride, const Sums& sums) {
  static_assert(kChannelBlock == 4);
  double w0 = weights[0], w1 = weights[weight_stride], w2 = weights[2 * weight_stride], w3 = weights[3 * weight_stride];
  double v0 = next_weights[0], v1 = next_weights[weight_stride], v2 = next_weights[2 * weight_stride],
         v3 = next_weights[3 * weight_stride];
  double *s0 = sums.rows, *s1 = s0 + sums.width, *s2 = s1 + sums.width, *s3 = s2 + sums.width;
#pragma omp simd
  for (int64_t i = range.begin; i < range.end; ++i) {
    double a = x[i * stride];
    double b = next_x[i * stride];
    s0[i] += w0 * a + v0 * b;
    s1[i] += w1 * a + v1 * b;
    s2[i] += w2 * a + v2 * b;
    s3[i] += w3 * a + v3 * b;
  }
}

template <typename T>
Status conv(const KernelArgs& args) {
  Geometry g;
  if (Status status = make_geometry(args, false, &g); !status) return status;
  flatten_pointwise(g.window);
  const T* x = args.inputs[0].as<T>().data();
  const T* w = args.inputs[1].as<T>().data();
  const T* bias = args.input(2).is_absent() ? nullptr : args.input(2).as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  int64_t width = g.window.output.back();
  if (g.batch == 0 || g.output_size == 0) return Status::ok();
  int64_t rows = g.output_size / width;
  int64_t blocks = (g.out_channels + kChannelBlock - 1) / kChannelBlock;
  int64_t weights_per_channel = g.in_channels * g.taps;
  int64_t stride = g.window.strides.back();
  int64_t jobs = g.batch * g.groups * blocks * rows;
#pragma omp parallel if (macs_of(g, g.output_size) > kParallelMacs)
  {
    std::vector<double> sums(static_cast<size_t>(kChannelBlock * width));
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
      std::fill(sums.begin(), sums.end(), 0.0);
      Sums block_sums{sums.data(), width, block};
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
        T* out = y + (image * g.groups * g.out_channels + channel + c) * g.output_size + row * width;
        double addend = bias == nullptr ? 0.0 : static_cast<double>(bias[channel + c]);
        for (int64_t i = 0; i < width; ++i) out[i] = static_cast<T>(sums[static_cast<size_t>(c * width + i)] + addend);
      }
    }
  }
  return Status::ok();
}

/// Scatters every input row into the plane of one output channel.
template <typename T>
Status conv_transpose(const KernelArgs& args) {
  Geometry g;
  if (Status status = make_geometry(args, true, &g); !status) return status;
  const T* x = args.inputs[0].as<T>().data();
  const T* w = args.inputs[1].as<T>().data();
  const T* bias = args.input(2).is_absent() ? nullptr : args.input(2).as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  int64_t width = g.window.input.back();
  int64_t rows = g.input_size == 0 ? 0 : g.input_size / width;
  int64_t stride = g.window.strides.back();
  // Which taps of a row reach the output is the same for every channel.
  std::vector<std::vector<Tap>> taps_of_row(static_cast<size_t>(rows));
  Ints position(g.window.rank(), 0);
  for (int64_t row = 0; row < rows; ++row) {
    unflatten_row(g.window.input, row, position);
    collect_taps(g.window, g.window.input, g.window.output, position, taps_of_row[static_cast<size_t>(row)]);
  }
  int64_t jobs = g.batch * g.groups * g.out_channels;
#pragma omp parallel if (macs_of(g, g.input_size) > kParallelMacs)
  {
    std::vector<double> sums(static_cast<size_t>(g.output_size));
#pragma omp for
    for (int64_t job = 0; job < jobs; ++job) {
      int64_t channel = job % g.out_channels;
      int64_t image_group = job / g.out_channels;
      int64_t group = image_group % g.groups;
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t c = 0; c < g.in_channels; ++c) {
        const T* plane = x + (image_group * g.in_channels + c) * g.input_size;
        const T* weights = w + ((group * g.in_channels + c) * g.out_channels + channel) * g.taps;
        for (int64_t row = 0; row < rows; ++row) {
          const T* from = plane + row * width;
          for (const Tap& tap : taps_of_row[static_cast<size_t>(row)]) {
            double weight = weights[tap.index];
            for (int64_t i = tap.range.begin; i < tap.range.end; ++i) {
              sums[static_cast<size_t>(tap.offset + i * stride)] += weight * static_cast<double>(from[i]);
            }
          }
        }
      }
      double addend = bias == nullptr ? 0.0 : static_cast<double>(bias[group * g.out_channels + channel]);
      T* out = y + job * g.output_size;
      for (int64_t i = 0; i < g.output_size; ++i) out[i] = static_cast<T>(sums[static_cast<size_t>(i)] + addend);
    }
  }
  return Status::ok();
}

}  // namespace

Status kernel_Conv(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return conv<T>(args); });
}

Status kernel_ConvTranspose(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return conv_transpose<T>(args); });
}

}  // namespace collage::runtime
