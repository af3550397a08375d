// SPDX-License-Identifier: Apache-2.0
// GridSample: y[n, c, p] = x[n, c] interpolated at the place grid[n, p], whose coordinates come last dimension first
// and run from -1 to 1 over the picture: over the centres of its corner pixels with align_corners, otherwise over their
// outer edges. AffineGrid makes such a grid: grid[n, p] = theta[n] (p, 1), p the places of the pixels.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/interpolate.h"
#include "runtime/kernels/kernels.h"

namespace collage::runtime {
namespace {

enum class SampleMode { Nearest, Linear, Cubic };
enum class SamplePadding { Zeros, Border, Reflection };

struct Sampling {
  SampleMode mode;
  SamplePadding padding;
  bool align_corners;
};

Sampling sampling_of(const AttrMap& attrs) {
  const std::string mode = attrs.get_string("mode", "bilinear");
  const std::string padding = attrs.get_string("padding_mode", "zeros");
  return {mode == "nearest"                        ? SampleMode::Nearest
          : mode == "bilinear" || mode == "linear" ? SampleMode::Linear
                                                   : SampleMode::Cubic,
          padding == "border"       ? SamplePadding::Border
          : padding == "reflection" ? SamplePadding::Reflection
                                    : SamplePadding::Zeros,
          attrs.get_int("align_corners", 0) != 0};
}

/// A pixel index and its weight; index -1: outside, where the picture is 0.
struct PixelTap {
  int64_t index;
  double weight;
};

/// The taps along one dimension.
struct PixelTaps {
  std::array<PixelTap, 4> taps;
  size_t count = 0;
  void add(int64_t index, double weight) { taps[count++] = {index, weight}; }
};

/// Back and forth between the first and the last place of the picture.
double reflect(double x, double low, double high) {
  double span = high - low;
  if (span <= 0) return low;
  double past = std::fmod(std::abs(x - low), 2 * span);
  return low + (past > span ? 2 * span - past : past);
}

/// The pixel that shows at `index`, wherever that is.
int64_t pixel_at(double index, int64_t extent, const Sampling& s) {
  auto last = static_cast<double>(extent - 1);
  if (s.padding == SamplePadding::Border) index = std::clamp(index, 0.0, last);
  if (s.padding == SamplePadding::Reflection) {
    index = s.align_corners ? reflect(index, 0, last) : reflect(index, -0.5, last + 0.5);
    index = std::clamp(std::nearbyint(index), 0.0, last);
  }
  return index >= 0 && index <= last ? static_cast<int64_t>(index) : -1;
}

/// Taps along one dimension. A position that is NaN or infinite counts as outside.
PixelTaps taps_at(double place, int64_t extent, const Sampling& s) {
  auto size = static_cast<double>(extent);
  double x = s.align_corners ? (place + 1) / 2 * (size - 1) : ((place + 1) * size - 1) / 2;
  if (!std::isfinite(x)) x = -1e9;
  // Between pixels at the border linear weights do not show; cubic ones do, so that there each pixel is moved by
  // itself.
  if (s.padding == SamplePadding::Border && s.mode != SampleMode::Cubic) x = std::clamp(x, 0.0, size - 1);
  if (s.padding == SamplePadding::Reflection) {
    x = s.align_corners ? reflect(x, 0, size - 1) : reflect(x, -0.5, size - 0.5);
  }
  PixelTaps taps;
  double low = std::floor(x);
  double t = x - low;
  switch (s.mode) {
    case SampleMode::Nearest: taps.add(pixel_at(std::nearbyint(x), extent, s), 1.0); break;
    case SampleMode::Linear:
      taps.add(pixel_at(low, extent, s), 1 - t);
      taps.add(pixel_at(low + 1, extent, s), t);
      break;
    case SampleMode::Cubic: {
      std::array<double, 4> weights = cubic_weights(t, -0.75);
      for (size_t k = 0; k < 4; ++k) taps.add(pixel_at(low - 1 + static_cast<double>(k), extent, s), weights[k]);
    }
  }
  return taps;
}

/// All pixels that one place of the grid blends: the products over the dimensions, without those outside.
void pixels_at(const std::vector<PixelTaps>& dimensions, const Shape& extents, std::vector<PixelTap>* pixels) {
  pixels->assign(1, {0, 1.0});
  std::vector<PixelTap> next;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    next.clear();
    for (const PixelTap& so_far : *pixels) {
      for (size_t k = 0; k < dimensions[d].count; ++k) {
        const PixelTap& tap = dimensions[d].taps[k];
        if (tap.index >= 0) next.push_back({so_far.index * extents[d] + tap.index, so_far.weight * tap.weight});
      }
    }
    pixels->swap(next);
  }
}

template <typename T>
void grid_sample(const KernelArgs& args, const Sampling& s) {
  const Shape& x_shape = args.inputs[0].shape;
  const Shape& y_shape = args.outputs[0].shape;
  const Shape extents(x_shape.begin() + 2, x_shape.end());
  const int64_t plane = element_count(extents);
  const int64_t places = element_count(Shape(y_shape.begin() + 2, y_shape.end()));
  const size_t rank = extents.size();
  const T* x = args.inputs[0].as<T>().data();
  const T* place = args.inputs[1].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  std::vector<PixelTaps> dimensions(rank);
  std::vector<PixelTap> pixels;
  for (int64_t n = 0; n < y_shape[0]; ++n) {
    for (int64_t i = 0; i < places; ++i, place += rank) {
      for (size_t d = 0; d < rank; ++d) {
        dimensions[d] = taps_at(static_cast<double>(place[rank - 1 - d]), extents[d], s);
      }
      pixels_at(dimensions, extents, &pixels);
      for (int64_t c = n * y_shape[1]; c < (n + 1) * y_shape[1]; ++c) {
        double sum = 0;
        for (const PixelTap& pixel : pixels) sum += pixel.weight * static_cast<double>(x[c * plane + pixel.index]);
        y[c * places + i] = static_cast<T>(sum);
      }
    }
  }
}

/// The place of pixel `index` of a dimension. A single pixel lies in the middle.
double pixel_place(int64_t index, int64_t extent, bool align_corners) {
  auto i = static_cast<double>(index);
  auto size = static_cast<double>(extent);
  if (!align_corners) return (2 * i + 1) / size - 1;
  return extent == 1 ? 0 : 2 * i / (size - 1) - 1;
}

template <typename T>
void affine_grid(const KernelArgs& args) {
  const Shape& shape = args.outputs[0].shape;
  const Shape extents(shape.begin() + 1, shape.end() - 1);
  const size_t rank = extents.size();
  const int64_t places = element_count(extents);
  const bool align_corners = args.attrs.get_int("align_corners", 0) != 0;
  const T* theta = args.inputs[0].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  std::vector<double> place(rank + 1, 1.0);
  for (int64_t n = 0; n < shape[0]; ++n, theta += rank * (rank + 1)) {
    for (int64_t i = 0; i < places; ++i) {
      int64_t rest = i;
      for (size_t d = rank; d-- > 0; rest /= extents[d]) {
        place[rank - 1 - d] = pixel_place(rest % extents[d], extents[d], align_corners);
      }
      for (size_t row = 0; row < rank; ++row) {
        double sum = 0;
        for (size_t k = 0; k <= rank; ++k) sum += static_cast<double>(theta[row * (rank + 1) + k]) * place[k];
        *y++ = static_cast<T>(sum);
      }
    }
  }
}

}  // namespace

Status kernel_GridSample(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    grid_sample<T>(args, sampling_of(args.attrs));
    return Status::ok();
  });
}

Status kernel_AffineGrid(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    affine_grid<T>(args);
    return Status::ok();
  });
}

}  // namespace collage::runtime
