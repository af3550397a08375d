// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/convolution.h"

#include <algorithm>

namespace collage::runtime {
namespace {

Shape spatial(const Shape& shape) {
  return Shape(shape.begin() + 2, shape.end());
}

}  // namespace

Status make_geometry(const Shape& x, const Shape& w, int64_t out_channels, const AttrMap& attrs, bool transposed,
                     ConvGeometry* g) {
  auto problem = transposed ? resolve_transposed_window(spatial(x), spatial(w), attrs, &g->window)
                            : resolve_window(spatial(x), spatial(w), attrs, &g->window);
  if (problem) return Status::error(problem->message);
  g->groups = attrs.get_int("group", 1);
  g->batch = x[0];
  g->in_channels = x[1] / g->groups;
  g->out_channels = out_channels / g->groups;
  g->input_size = element_count(g->window.input);
  g->output_size = element_count(g->window.output);
  g->taps = element_count(g->window.kernel);
  return Status::ok();
}

double macs_of(const ConvGeometry& g, int64_t spatial_size) {
  return static_cast<double>(g.batch * g.groups * spatial_size) *
         static_cast<double>(g.in_channels * g.out_channels * g.taps);
}

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

void unflatten_row(const Shape& shape, int64_t row, Ints& position) {
  for (size_t d = shape.size() - 1; d-- > 0;) {
    position[d] = row % shape[d];
    row /= shape[d];
  }
}

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

}  // namespace collage::runtime
