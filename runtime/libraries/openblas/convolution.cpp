// SPDX-License-Identifier: Apache-2.0
// Convolution as matrix products (im2col): for each image and group
//
//     result[out, positions] = weights[out, in * taps] * columns[in * taps, positions] + bias
//
// where columns holds what each tap reads at each position, 0 in the padding. A pointwise convolution of stride 1 needs
// no columns: the image is that matrix.
#include <algorithm>

#include "runtime/kernels/window.h"
#include "runtime/libraries/openblas/call.h"
#include "runtime/pool/pool.h"

namespace collage::runtime::openblas {
namespace {

struct Geometry {
  Window window;
  int64_t images = 0, groups = 1, channels = 0;  ///< channels of one group
  int64_t taps = 1, pixels = 1, positions = 1;
  int threads = 1;
  Product product;

  bool is_pointwise() const {
    auto all = [](const Ints& values, int64_t wanted) {
      return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == wanted; });
    };
    return taps == 1 && all(window.strides, 1) && all(window.pads_begin, 0) && pixels == positions;
  }
};

/// Row (channel, tap) of the columns.
void gather(const Geometry& g, const float* channel, int64_t tap, float* row) {
  const Window& w = g.window;
  size_t rank = w.rank();
  Ints offset(rank);  // input position of the tap at output position 0
  for (size_t d = rank; d-- > 0; tap /= w.kernel[d]) offset[d] = tap % w.kernel[d] * w.dilations[d] - w.pads_begin[d];
  int64_t stride = w.strides[rank - 1], width = w.output[rank - 1];
  IndexRange inside = indices_inside(width, stride, offset[rank - 1], w.input[rank - 1]);
  for (int64_t line = 0; line < g.positions / width; ++line, row += width) {
    int64_t rest = line, start = 0, scale = w.input[rank - 1];
    bool is_inside = inside.begin < inside.end;
    for (size_t d = rank - 1; d-- > 0; rest /= w.output[d]) {
      int64_t at = rest % w.output[d] * w.strides[d] + offset[d];
      is_inside &= at >= 0 && at < w.input[d];
      start += at * scale;
      scale *= w.input[d];
    }
    if (!is_inside) {
      std::fill(row, row + width, 0.0F);
      continue;
    }
    std::fill(row, row + inside.begin, 0.0F);
    for (int64_t i = inside.begin; i < inside.end; ++i) row[i] = channel[start + i * stride + offset[rank - 1]];
    std::fill(row + inside.end, row + width, 0.0F);
  }
}

Status convolve(const Geometry& g, const Addresses& at, float* columns) {
  int64_t out = g.product.rows;
  const float* bias = at.inputs.size() > 2 ? at.inputs[2] : nullptr;
  for (int64_t i = 0; i < g.images * g.groups; ++i) {
    int64_t group = i % g.groups;
    const float* image = at.inputs[0] + i * g.channels * g.pixels;
    float* result = at.output + i * out * g.positions;
    if (bias != nullptr) {
      for (int64_t c = 0; c < out; ++c)
        std::fill(result + c * g.positions, result + (c + 1) * g.positions, bias[group * out + c]);
    }
    const float* matrix = image;
    if (columns != nullptr) {
      Status status = parallel_for(g.channels * g.taps, 1, g.threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row)
          gather(g, image + row / g.taps * g.pixels, row % g.taps, columns + row * g.positions);
      });
      if (!status) return status;
      matrix = columns;
    }
    g.product.run(at.inputs[1] + group * out * g.channels * g.taps, matrix, bias != nullptr ? 1.0F : 0.0F, result);
  }
  return Status::ok();
}

}  // namespace

Result<Call> make_convolution(const LibraryProgram& program, const LibraryOp& op, int threads) {
  const Shape& x = program.values[static_cast<size_t>(op.inputs[0])].shape;
  const Shape& w = program.values[static_cast<size_t>(op.inputs[1])].shape;
  const Shape& y = program.values[static_cast<size_t>(op.outputs[0])].shape;
  if (x.size() < 3 || w.size() != x.size() || y.size() != x.size()) return Status::error("illegal ranks");
  Geometry g;
  g.groups = op.attrs.get_int("group", 1);
  if (g.groups < 1 || w[0] % g.groups != 0 || w[1] * g.groups != x[1]) return Status::error("illegal groups");
  if (auto problem = resolve_window({x.begin() + 2, x.end()}, {w.begin() + 2, w.end()}, op.attrs, &g.window))
    return Status::error(problem->message);
  if (Shape{y.begin() + 2, y.end()} != g.window.output) return Status::error("its result has another shape");
  g.images = x[0];
  g.channels = w[1];
  g.threads = threads;
  g.taps = element_count(g.window.kernel);
  g.pixels = element_count(g.window.input);
  g.positions = element_count(g.window.output);
  int64_t out = w[0] / g.groups, inner = g.channels * g.taps;
  if (!fits_int({out, inner, g.positions})) return Status::error("a dimension that BLAS cannot count");
  g.product.rows = static_cast<int>(out);
  g.product.inner = static_cast<int>(inner);
  g.product.columns = static_cast<int>(g.positions);
  std::string text = g.product.text();
  if (g.images * g.groups > 1) text += " x " + std::to_string(g.images * g.groups);
  if (g.is_pointwise()) return Call{[g](const Addresses& at) { return convolve(g, at, nullptr); }, text, 0};
  auto columns = static_cast<size_t>(inner * g.positions);
  return Call{[g](const Addresses& at) { return convolve(g, at, at.scratch); }, "im2col + " + text, columns};
}

}  // namespace collage::runtime::openblas
