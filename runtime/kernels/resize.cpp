// SPDX-License-Identifier: Apache-2.0
// Resize: nearest, linear and cubic interpolation. Each dimension has a table: for every output index the source
// indices and their weights. A result is the sum over the product of the tables.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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

std::vector<Taps> taps_of(const KernelArgs& args, size_t d) {
  Axis axis = axis_of(args, d);
  std::string mode = args.attrs.get_string("mode", "nearest");
  std::string rounding = args.attrs.get_string("nearest_mode", "round_prefer_floor");
  auto last = static_cast<double>(axis.from - 1);
  std::vector<Taps> table(static_cast<size_t>(axis.to));
  bool is_kept = axis.from == axis.to && axis.scale == 1.0 && axis.mode != "tf_crop_and_resize";
  for (int64_t i = 0; i < axis.to; ++i) {
    Taps& entry = table[static_cast<size_t>(i)];
    double x = is_kept ? static_cast<double>(i) : source_coordinate(axis, static_cast<double>(i));
    entry.is_outside = axis.mode == "tf_crop_and_resize" && !(x >= 0 && x <= last);
    // Far outside, every mode reads the edge only. Casts to int64_t stay legal, also for a region that is NaN.
    x = std::isnan(x) ? 0 : std::clamp(x, -3.0, last + 3);
    if (is_kept) {
      entry.taps = {{i, 1.0}};
    } else if (mode == "linear") {
      entry.taps = linear_taps(x, axis.from);
    } else if (mode == "cubic") {
      entry.taps = cubic_taps(x, axis.from, args.attrs.get_float("cubic_coeff_a", -0.75),
                              args.attrs.get_int("exclude_outside", 0) != 0);
    } else {
      entry.taps = {{std::clamp<int64_t>(nearest_index(rounding, x), 0, axis.from - 1), 1.0}};
    }
  }
  return table;
}

template <typename T>
Status resize(const KernelArgs& args) {
  const Shape& from = args.inputs[0].shape;
  size_t rank = from.size();
  std::vector<int64_t> strides = row_major_strides(from);
  std::vector<std::vector<Taps>> tables(rank);
  auto y = args.outputs[0].as<T>();
  if (y.empty()) return Status::ok();
  for (size_t d = 0; d < rank; ++d) tables[d] = taps_of(args, d);
  T outside = saturate_to<T>(args.attrs.get_float("extrapolation_value", 0.0));
  const T* x = args.inputs[0].as<T>().data();
  std::vector<size_t> position(rank, 0);
  // Source offsets of one result and their weights: multiplied by every dimension that really blends.
  std::vector<Tap> terms, next;
  for (T& element : y) {
    bool is_outside = false;
    terms.assign(1, {0, 1.0});
    for (size_t d = 0; d < rank; ++d) {
      const Taps& entry = tables[d][position[d]];
      is_outside = is_outside || entry.is_outside;
      next.clear();
      for (const Tap& term : terms) {
        for (const Tap& tap : entry.taps) {
          next.push_back({term.index + tap.index * strides[d], term.weight * tap.weight});
        }
      }
      terms.swap(next);
    }
    if (is_outside) {
      element = outside;
    } else if (terms.size() == 1 && terms[0].weight == 1.0) {
      element = x[terms[0].index];
    } else {
      double sum = 0;
      for (const Tap& term : terms) sum += term.weight * static_cast<double>(x[term.index]);
      element = saturate_to<T>(sum);
    }
    for (size_t d = rank; d-- > 0 && ++position[d] == tables[d].size();) position[d] = 0;
  }
  return Status::ok();
}

}  // namespace

Status kernel_Resize(const KernelArgs& args) {
  return with_number(args.outputs[0].dtype, [&]<typename T>(Type<T>) { return resize<T>(args); });
}

}  // namespace collage::runtime
