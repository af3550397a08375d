// SPDX-License-Identifier: Apache-2.0
// GridSample: y[n, c, h, w] = x[n, c] interpolated at the place grid[n, h, w] = (across, down), both from -1 to 1 over
// the picture: over the centres of its corner pixels with align_corners, otherwise over their outer edges.
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

struct Sampling {
  std::string mode;
  std::string padding;
  bool align_corners;
};

/// A pixel index and its weight; index -1: outside, where the picture is 0.
struct PixelTap {
  int64_t index;
  double weight;
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
  if (s.padding == "border") index = std::clamp(index, 0.0, last);
  if (s.padding == "reflection") {
    index = s.align_corners ? reflect(index, 0, last) : reflect(index, -0.5, last + 0.5);
    index = std::clamp(std::nearbyint(index), 0.0, last);
  }
  return index >= 0 && index <= last ? static_cast<int64_t>(index) : -1;
}

/// Taps along one axis. A position that is NaN or infinite counts as outside.
std::vector<PixelTap> taps_at(double place, int64_t extent, const Sampling& s) {
  auto size = static_cast<double>(extent);
  double x = s.align_corners ? (place + 1) / 2 * (size - 1) : ((place + 1) * size - 1) / 2;
  if (!std::isfinite(x)) x = -1e9;
  if (s.padding == "border") x = std::clamp(x, 0.0, size - 1);
  if (s.padding == "reflection") {
    x = s.align_corners ? reflect(x, 0, size - 1) : reflect(x, -0.5, size - 0.5);
  }
  std::vector<PixelTap> taps;
  if (s.mode == "nearest") return {{pixel_at(std::nearbyint(x), extent, s), 1.0}};
  double low = std::floor(x);
  double t = x - low;
  if (s.mode == "bilinear" || s.mode == "linear") {
    return {{pixel_at(low, extent, s), 1 - t}, {pixel_at(low + 1, extent, s), t}};
  }
  std::array<double, 4> weights = cubic_weights(t, -0.75);
  for (size_t k = 0; k < 4; ++k) taps.push_back({pixel_at(low - 1 + static_cast<double>(k), extent, s), weights[k]});
  return taps;
}

template <typename T>
void grid_sample(const KernelArgs& args, const Sampling& s) {
  const Shape& x_shape = args.inputs[0].shape;
  const Shape& y_shape = args.outputs[0].shape;
  int64_t height = x_shape[2], width = x_shape[3];
  int64_t places = y_shape[2] * y_shape[3];
  const T* x = args.inputs[0].as<T>().data();
  const T* grid = args.inputs[1].as<T>().data();
  T* y = args.outputs[0].as<T>().data();
  for (int64_t n = 0; n < y_shape[0]; ++n) {
    for (int64_t i = 0; i < places; ++i) {
      const T* place = grid + (n * places + i) * 2;
      std::vector<PixelTap> across = taps_at(static_cast<double>(place[0]), width, s);
      std::vector<PixelTap> down = taps_at(static_cast<double>(place[1]), height, s);
      for (int64_t c = 0; c < y_shape[1]; ++c) {
        const T* plane = x + (n * y_shape[1] + c) * height * width;
        double sum = 0;
        for (const PixelTap& row : down) {
          for (const PixelTap& column : across) {
            if (row.index < 0 || column.index < 0) continue;
            sum += row.weight * column.weight * static_cast<double>(plane[row.index * width + column.index]);
          }
        }
        y[(n * y_shape[1] + c) * places + i] = static_cast<T>(sum);
      }
    }
  }
}

}  // namespace

Status kernel_GridSample(const KernelArgs& args) {
  Sampling sampling{args.attrs.get_string("mode", "bilinear"), args.attrs.get_string("padding_mode", "zeros"),
                    args.attrs.get_int("align_corners", 0) != 0};
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    grid_sample<T>(args, sampling);
    return Status::ok();
  });
}

}  // namespace collage::runtime
