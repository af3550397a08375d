// SPDX-License-Identifier: Apache-2.0
// Resize: nearest, linear and cubic interpolation. Each dimension has a table: for every output index the source
// indices and their weights. Dimensions are interpolated one after the other, in double.
//
// align_corners maps the last index of the result to the last of the source, as the standard's text, PyTorch and ONNX
// Runtime do. ONNX's reference implementation divides by extent * scale - 1 instead, also where the extent of the
// result was rounded down.
#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/interpolate.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

struct Tap {
  int64_t index = 0;
  double weight = 1;
};

/// One output index along one dimension.
struct Taps {
  std::vector<Tap> taps;
  bool is_outside = false;  ///< the result is the extrapolation value
};

/// How the indices of one dimension map to coordinates of the source.
struct Axis {
  std::string mode;
  int64_t from;
  int64_t to;
  double scale;
  double roi_start = 0;
  double roi_end = 1;
};

double source_coordinate(const Axis& axis, double index) {
  auto from = static_cast<double>(axis.from);
  auto to = static_cast<double>(axis.to);
  if (axis.mode == "asymmetric") return index / axis.scale;
  if (axis.mode == "align_corners") return axis.to == 1 ? 0 : index * (from - 1) / (to - 1);
  if (axis.mode == "tf_crop_and_resize") {
    if (axis.to == 1) return 0.5 * (axis.roi_start + axis.roi_end) * (from - 1);
    return axis.roi_start * (from - 1) + index * (axis.roi_end - axis.roi_start) * (from - 1) / (to - 1);
  }
  if (axis.mode == "tf_half_pixel_for_nn") return (index + 0.5) / axis.scale;
  if (axis.mode == "pytorch_half_pixel" && axis.to == 1) return 0;
  // Symmetric: what rounding the extent down cut off is taken from both ends.
  double shift = axis.mode == "half_pixel_symmetric" ? from / 2 * (1 - to / (axis.scale * from)) : 0;
  return shift + (index + 0.5) / axis.scale - 0.5;
}

int64_t nearest_index(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

std::vector<Tap> linear_taps(double x, int64_t extent) {
  x = std::clamp(x, 0.0, static_cast<double>(extent - 1));
  auto low = static_cast<int64_t>(x);
  double weight = x - static_cast<double>(low);
  if (weight == 0) return {{low, 1.0}};
  return {{low, 1 - weight}, {low + 1, weight}};
}

/// With antialiasing, a filter is as wide as the source elements that one result stands for: stretched by 1 / scale
/// where that is more than 1. `filter` is 0 outside [-radius, radius].
template <typename Filter>
std::vector<Tap> stretched_taps(double x, int64_t extent, double scale, double radius, bool exclude_outside,
                                Filter filter) {
  scale = std::min(scale, 1.0);
  double low = std::floor(x);
  auto reach = static_cast<int64_t>(std::ceil(radius / scale));
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t k = 1 - reach; k <= reach; ++k) {
    int64_t index = static_cast<int64_t>(low) + k;
    double weight = filter(std::abs(static_cast<double>(index) - x) * scale);
    if (exclude_outside && (index < 0 || index >= extent)) continue;
    sum += weight;
    if (weight != 0) taps.push_back({std::clamp<int64_t>(index, 0, extent - 1), weight});
  }
  for (Tap& tap : taps) tap.weight /= sum;
  if (taps.empty()) taps.push_back({std::clamp<int64_t>(static_cast<int64_t>(low), 0, extent - 1), 0.0});
  return taps;
}

std::vector<Tap> cubic_taps(double x, int64_t extent, double a, bool exclude_outside) {
  double low = std::floor(x);
  std::array<double, 4> weights = cubic_weights(x - low, a);
  std::vector<Tap> taps;
  for (int64_t k = 0; k < 4; ++k) taps.push_back({k - 1, weights[static_cast<size_t>(k)]});
  double sum = 0;
  for (Tap& tap : taps) {
    int64_t index = static_cast<int64_t>(low) + tap.index;
    if (exclude_outside && (index < 0 || index >= extent)) tap.weight = 0;
    tap.index = std::clamp<int64_t>(index, 0, extent - 1);
    sum += tap.weight;
  }
  for (Tap& tap : taps) tap.weight /= exclude_outside ? sum : 1;
  std::erase_if(taps, [](const Tap& tap) { return tap.weight == 0; });
  return taps;
}

Axis axis_of(const KernelArgs& args, size_t d) {
  Axis axis{args.attrs.get_string("coordinate_transformation_mode", "half_pixel"), args.inputs[0].shape[d],
            args.outputs[0].shape[d], 1};
  TensorView scales = args.input(2);
  bool by_scale = !scales.is_absent() && scales.count() > 0;
  axis.scale = by_scale ? element_as_double(scales, static_cast<int64_t>(d))
                        : static_cast<double>(axis.to) / static_cast<double>(axis.from);
  if (axis.mode == "tf_crop_and_resize") {
    auto rank = static_cast<int64_t>(args.inputs[0].shape.size());
    axis.roi_start = element_as_double(args.inputs[1], static_cast<int64_t>(d));
    axis.roi_end = element_as_double(args.inputs[1], static_cast<int64_t>(d) + rank);
  }
  return axis;
}

/// How the attributes interpolate.
struct Interpolation {
  std::string mode;
  std::string rounding;
  double cubic_a;
  bool exclude_outside;
  bool antialias;
};

std::vector<Tap> taps_of(double x, const Axis& axis, const Interpolation& how) {
  if (how.mode == "linear") {
    if (!how.antialias) return linear_taps(x, axis.from);
    return stretched_taps(x, axis.from, axis.scale, 1, how.exclude_outside,
                          [](double t) { return std::max(0.0, 1 - t); });
  }
  if (how.mode == "cubic") {
    if (!how.antialias) return cubic_taps(x, axis.from, how.cubic_a, how.exclude_outside);
    return stretched_taps(x, axis.from, axis.scale, 2, how.exclude_outside,
                          [&](double t) { return cubic_weight(t, how.cubic_a); });
  }
  return {{std::clamp<int64_t>(nearest_index(how.rounding, x), 0, axis.from - 1), 1.0}};
}

/// One dimension of the result.
struct AxisTable {
  std::vector<Taps> entries;
  bool is_kept = true;    ///< every element stays in its place
  bool is_copied = true;  ///< every result is one element of the source
  bool has_outside = false;
};

AxisTable table_of(const KernelArgs& args, size_t d, const Interpolation& how) {
  Axis axis = axis_of(args, d);
  auto last = static_cast<double>(axis.from - 1);
  AxisTable table;
  table.entries.resize(static_cast<size_t>(axis.to));
  bool is_kept = axis.from == axis.to && axis.scale == 1.0 && axis.mode != "tf_crop_and_resize";
  for (int64_t i = 0; i < axis.to; ++i) {
    Taps& entry = table.entries[static_cast<size_t>(i)];
    double x = is_kept ? static_cast<double>(i) : source_coordinate(axis, static_cast<double>(i));
    entry.is_outside = axis.mode == "tf_crop_and_resize" && !(x >= 0 && x <= last);
    // Far outside, every mode reads the edge only. Casts to int64_t stay legal, also for a region that is NaN.
    x = std::isnan(x) ? 0 : std::clamp(x, -3.0, last + 3);
    entry.taps = is_kept ? std::vector<Tap>{{i, 1.0}} : taps_of(x, axis, how);
    table.is_kept = table.is_kept && is_kept;
    table.is_copied = table.is_copied && entry.taps.size() == 1 && entry.taps[0].weight == 1.0;
    table.has_outside = table.has_outside || entry.is_outside;
  }
  return table;
}

/// y[o, i, :] = sum over taps of weight * x[o, index, :]. Only doubles are added up.
template <typename T>
void interpolate(const T* x, T* y, int64_t outer, int64_t from, int64_t inner, const AxisTable& table) {
  for (int64_t o = 0; o < outer; ++o) {
    for (const Taps& entry : table.entries) {
      if (table.is_copied) {
        std::copy_n(x + entry.taps[0].index * inner, inner, y);
      } else if constexpr (std::is_same_v<T, double>) {
        std::fill_n(y, inner, 0.0);
        for (const Tap& tap : entry.taps) {
          const T* source = x + tap.index * inner;
          for (int64_t i = 0; i < inner; ++i) y[i] += tap.weight * source[i];
        }
      }
      y += inner;
    }
    x += from * inner;
  }
}

/// Interpolates the dimensions from `first` on of one part of x, whose elements lie together.
template <typename T, typename Work>
std::vector<Work> interpolate_part(const T* x, const Shape& from, size_t first, const std::vector<AxisTable>& tables) {
  Shape shape(from.begin() + static_cast<std::ptrdiff_t>(first), from.end());
  std::vector<Work> values(x, x + element_count(shape));
  for (size_t d = 0; d < shape.size(); ++d) {
    const AxisTable& table = tables[first + d];
    if (table.is_kept) continue;
    AxisSplit split(shape, static_cast<int64_t>(d));
    shape[d] = static_cast<int64_t>(table.entries.size());
    std::vector<Work> next(static_cast<size_t>(element_count(shape)));
    interpolate(values.data(), next.data(), split.outer, split.extent, split.inner, table);
    values.swap(next);
  }
  return values;
}

/// Replaces the results whose coordinates lie outside of the source along some dimension.
template <typename T>
void extrapolate(const KernelArgs& args, const std::vector<AxisTable>& tables) {
  const T outside = saturate_to<T>(args.attrs.get_float("extrapolation_value", 0.0));
  std::vector<size_t> position(tables.size(), 0);
  for (T& element : args.outputs[0].as<T>()) {
    for (size_t d = 0; d < tables.size(); ++d) {
      if (tables[d].entries[position[d]].is_outside) element = outside;
    }
    for (size_t d = tables.size(); d-- > 0 && ++position[d] == tables[d].entries.size();) position[d] = 0;
  }
}

template <typename T>
Status resize(const KernelArgs& args) {
  const Shape& from = args.inputs[0].shape;
  size_t rank = from.size();
  const AttrMap& attrs = args.attrs;
  Interpolation how{attrs.get_string("mode", "nearest"), attrs.get_string("nearest_mode", "round_prefer_floor"),
                    attrs.get_float("cubic_coeff_a", -0.75), attrs.get_int("exclude_outside", 0) != 0,
                    attrs.get_int("antialias", 0) != 0};
  auto y = args.outputs[0].as<T>();
  if (y.empty()) return Status::ok();
  std::vector<AxisTable> tables;
  bool is_copied = true, has_outside = false;
  for (size_t d = 0; d < rank; ++d) {
    tables.push_back(table_of(args, d, how));
    is_copied = is_copied && tables[d].is_copied;
    has_outside = has_outside || tables[d].has_outside;
  }
  // Leading dimensions that stay are walked part by part, which keeps the values between two dimensions small.
  size_t first = 0;
  int64_t parts = 1;
  while (first < rank && tables[first].is_kept) parts *= from[first++];
  const T* x = args.inputs[0].as<T>().data();
  const int64_t part = element_count(Shape(from.begin() + static_cast<std::ptrdiff_t>(first), from.end()));
  T* to = y.data();
  for (int64_t p = 0; p < parts; ++p, x += part) {
    if (is_copied) {
      for (T value : interpolate_part<T, T>(x, from, first, tables)) *to++ = value;
    } else {
      for (double value : interpolate_part<T, double>(x, from, first, tables)) *to++ = saturate_to<T>(value);
    }
  }
  if (has_outside) extrapolate<T>(args, tables);
  return Status::ok();
}

}  // namespace

Status kernel_Resize(const KernelArgs& args) {
  return with_number(args.outputs[0].dtype, [&]<typename T>(Type<T>) { return resize<T>(args); });
}

}  // namespace collage::runtime
