// SPDX-License-Identifier: Apache-2.0
// Patches of pictures: Col2Im adds them up, DeformConv convolves patches whose pixels have moved.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "runtime/kernels/contraction.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"
#include "runtime/kernels/window.h"

namespace collage::runtime {
namespace {

Ints ints_of(const TensorView& list) {
  Ints numbers;
  for (int64_t i = 0; i < list.count(); ++i) numbers.push_back(element_as_int(list, i));
  return numbers;
}

/// The next position in row-major order; false after the last.
bool advance_position(Ints* position, const Shape& shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++(*position)[d] < shape[d]) return true;
    (*position)[d] = 0;
  }
  return false;
}

/// y[pixel] += x[tap of the block, block] for every pixel that a block covers.
template <typename T>
void add_blocks(const Window& w, const T* x, T* y) {
  const int64_t blocks = element_count(w.output);
  std::vector<Accumulator<T>> sums(static_cast<size_t>(element_count(w.input)), 0);
  Ints tap(w.rank(), 0);
  do {
    Ints block(w.rank(), 0);
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t pixel = 0;
      bool is_inside = true;
      for (size_t d = 0; d < w.rank(); ++d) {
        int64_t at = block[d] * w.strides[d] + tap[d] * w.dilations[d] - w.pads_begin[d];
        is_inside = is_inside && at >= 0 && at < w.input[d];
        pixel = pixel * w.input[d] + at;
      }
      if (is_inside) {
        auto& sum = sums[static_cast<size_t>(pixel)];
        sum = wrapping_add(sum, static_cast<Accumulator<T>>(x[b]));
      }
      advance_position(&block, w.output);
    }
    x += blocks;
  } while (advance_position(&tap, w.kernel));
  for (size_t i = 0; i < sums.size(); ++i) y[i] = static_cast<T>(sums[i]);
}

/// The element at a place between pixels, by bilinear interpolation; 0 outside.
struct MovedPixel {
  std::array<int64_t, 4> pixels = {};
  std::array<double, 4> weights = {};
};

MovedPixel moved_pixel(double y, double x, int64_t height, int64_t width, double weight) {
  MovedPixel moved;
  // Also what is no number lies outside.
  if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width))) return moved;
  const double top = std::floor(y), left = std::floor(x);
  for (size_t k = 0; k < 4; ++k) {
    const int64_t row = static_cast<int64_t>(top) + static_cast<int64_t>(k / 2);
    const int64_t column = static_cast<int64_t>(left) + static_cast<int64_t>(k % 2);
    if (row < 0 || row >= height || column < 0 || column >= width) continue;
    const double down = k / 2 == 0 ? 1 - (y - top) : y - top;
    const double across = k % 2 == 0 ? 1 - (x - left) : x - left;
    moved.pixels[k] = row * width + column;
    moved.weights[k] = weight * down * across;
  }
  return moved;
}

template <typename T>
class DeformConvolution {
 public:
  DeformConvolution(const KernelArgs& args, Window window)
      : args_(args),
        window_(std::move(window)),
        channels_(args.inputs[0].shape[1]),
        taps_(element_count(window_.kernel)),
        places_(element_count(window_.output)),
        group_(args.attrs.get_int("group", 1)),
        offset_group_(args.attrs.get_int("offset_group", 1)) {
    for (T weight : args.inputs[1].as<T>()) weights_.push_back(static_cast<double>(weight));
  }

  void run() {
    patch_.resize(static_cast<size_t>(channels_ * taps_));
    for (int64_t n = 0; n < args_.inputs[0].shape[0]; ++n) {
      for (int64_t place = 0; place < places_; ++place) {
        read_patch(n, place);
        multiply(n, place);
      }
    }
  }

 private:
  /// patch[c, tap] = x[n, c] at the place to which the tap has moved, times the mask.
  void read_patch(int64_t n, int64_t place) {
    const int64_t plane = element_count(window_.input);
    const T* offsets = args_.inputs[2].as<T>().data() + n * offset_group_ * taps_ * 2 * places_ + place;
    const T* mask = args_.input(4).is_absent()
                        ? nullptr
                        : args_.input(4).as<T>().data() + n * offset_group_ * taps_ * places_ + place;
    const int64_t in_group = channels_ / offset_group_;
    const int64_t row = place / window_.output[1] * window_.strides[0] - window_.pads_begin[0];
    const int64_t column = place % window_.output[1] * window_.strides[1] - window_.pads_begin[1];
    for (int64_t g = 0; g < offset_group_; ++g) {
      for (int64_t tap = 0; tap < taps_; ++tap, offsets += 2 * places_) {
        const auto y = static_cast<double>(row + tap / window_.kernel[1] * window_.dilations[0]);
        const auto x = static_cast<double>(column + tap % window_.kernel[1] * window_.dilations[1]);
        const double weight = mask == nullptr ? 1.0 : static_cast<double>(mask[(g * taps_ + tap) * places_]);
        const MovedPixel moved =
            moved_pixel(y + static_cast<double>(offsets[0]), x + static_cast<double>(offsets[places_]),
                        window_.input[0], window_.input[1], weight);
        for (int64_t c = g * in_group; c < (g + 1) * in_group; ++c) {
          const T* picture = args_.inputs[0].as<T>().data() + (n * channels_ + c) * plane;
          double value = 0;
          for (size_t k = 0; k < 4; ++k) {
            if (moved.weights[k] != 0) value += moved.weights[k] * static_cast<double>(picture[moved.pixels[k]]);
          }
          patch_[static_cast<size_t>(c * taps_ + tap)] = value;
        }
      }
    }
  }

  /// y[n, o, place] = bias[o] + sum over c, tap of w[o, c, tap] patch[c, tap]
  void multiply(int64_t n, int64_t place) {
    const int64_t outputs = args_.inputs[1].shape[0] / group_;
    const int64_t depth = channels_ / group_ * taps_;
    T* y = args_.outputs[0].as<T>().data() + n * group_ * outputs * places_ + place;
    const T* bias = args_.input(3).is_absent() ? nullptr : args_.input(3).as<T>().data();
    sums_.resize(static_cast<size_t>(outputs));
    for (int64_t g = 0; g < group_; ++g) {
      const Matrix<double> weights{weights_.data() + g * outputs * depth, 1, depth};
      multiply_row(patch_.data() + g * depth, weights, depth, outputs, sums_.data());
      for (int64_t o = g * outputs; o < (g + 1) * outputs; ++o) {
        const double start = bias == nullptr ? 0.0 : static_cast<double>(bias[o]);
        y[o * places_] = static_cast<T>(start + sums_[static_cast<size_t>(o - g * outputs)]);
      }
    }
  }

  const KernelArgs& args_;
  const Window window_;
  const int64_t channels_;
  const int64_t taps_;
  const int64_t places_;
  const int64_t group_;
  const int64_t offset_group_;
  std::vector<double> weights_;
  std::vector<double> patch_;
  std::vector<double> sums_;
};

}  // namespace

Status kernel_Col2Im(const KernelArgs& args) {
  Window window;
  if (auto problem = resolve_window(ints_of(args.inputs[1]), ints_of(args.inputs[2]), args.attrs, &window)) {
    return Status::error(problem->message);
  }
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    const int64_t columns = element_count(window.kernel) * element_count(window.output);
    const int64_t pixels = element_count(window.input);
    const int64_t pictures = args.outputs[0].shape[0] * args.outputs[0].shape[1];
    const T* x = args.inputs[0].as<T>().data();
    T* y = args.outputs[0].as<T>().data();
    for (int64_t i = 0; i < pictures; ++i) add_blocks(window, x + i * columns, y + i * pixels);
    return Status::ok();
  });
}

Status kernel_DeformConv(const KernelArgs& args) {
  const Shape& x = args.inputs[0].shape;
  const Shape& w = args.inputs[1].shape;
  Window window;
  if (auto problem = resolve_window({x[2], x[3]}, {w[2], w[3]}, args.attrs, &window)) {
    return Status::error(problem->message);
  }
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    DeformConvolution<T>(args, std::move(window)).run();
    return Status::ok();
  });
}

}  // namespace collage::runtime
