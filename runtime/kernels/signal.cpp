// SPDX-License-Identifier: Apache-2.0
// Spectra of signals: DFT, STFT; windows and filter banks for them: HannWindow, HammingWindow, BlackmanWindow,
// MelWeightMatrix.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <vector>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/fourier.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

using Line = FourierTransform::Line;

/// The spectrum has the symmetry of that of a real signal: y[N - k] is the conjugate of y[k].
void complete_spectrum(Line* line) {
  const size_t n = line->size();
  line->front() = line->front().real();
  if (n % 2 == 0) (*line)[n / 2] = (*line)[n / 2].real();
  for (size_t k = n / 2 + 1; k < n; ++k) (*line)[k] = std::conj((*line)[n - k]);
}

/// Transforms the lines of an axis; numbers lie in the last dimension, one if they are real and two if complex. Lines
/// are cut, or filled with zeros, to the length of the transform.
template <typename T>
void transform_axis(const KernelArgs& args, int64_t length, int64_t axis, bool inverse, bool onesided) {
  const TensorView& x_view = args.inputs[0];
  const TensorView& y_view = args.outputs[0];
  const AxisSplit from(x_view.shape, axis), to(y_view.shape, axis);
  const int64_t x_parts = x_view.shape.back(), y_parts = y_view.shape.back();
  const int64_t lines = from.inner / x_parts;
  const bool is_symmetric = inverse && onesided;
  const int64_t read = std::min(from.extent, is_symmetric ? length / 2 + 1 : length);
  const double scale = inverse ? 1 / static_cast<double>(length) : 1;
  const FourierTransform transform(static_cast<size_t>(length), inverse);
  const T* x = x_view.as<T>().data();
  T* y = y_view.as<T>().data();
  Line line;
  for (int64_t o = 0; o < from.outer; ++o) {
    for (int64_t i = 0; i < lines; ++i) {
      line.assign(static_cast<size_t>(length), 0.0);
      for (int64_t k = 0; k < read; ++k) {
        const T* number = x + (o * from.extent + k) * from.inner + i * x_parts;
        line[static_cast<size_t>(k)] = {static_cast<double>(number[0]),
                                        x_parts == 2 ? static_cast<double>(number[1]) : 0.0};
      }
      if (is_symmetric) complete_spectrum(&line);
      transform.apply(&line);
      for (int64_t k = 0; k < to.extent; ++k) {
        T* number = y + (o * to.extent + k) * to.inner + i * y_parts;
        const std::complex<double> value = line[static_cast<size_t>(k)] * scale;
        number[0] = static_cast<T>(value.real());
        if (y_parts == 2) number[1] = static_cast<T>(value.imag());
      }
    }
  }
}

/// x: [batch, samples, 1 or 2]. Frame f is x from f * step on, times the window.
template <typename T>
void transform_frames(const KernelArgs& args, int64_t step, int64_t length) {
  const TensorView& x_view = args.inputs[0];
  const Shape& shape = args.outputs[0].shape;
  const int64_t parts = x_view.shape[2];
  const T* window = args.input(2).is_absent() ? nullptr : args.input(2).as<T>().data();
  const FourierTransform transform(static_cast<size_t>(length), false);
  T* y = args.outputs[0].as<T>().data();
  Line line(static_cast<size_t>(length));
  for (int64_t b = 0; b < shape[0]; ++b) {
    const T* signal = x_view.as<T>().data() + b * x_view.shape[1] * parts;
    for (int64_t f = 0; f < shape[1]; ++f) {
      for (int64_t k = 0; k < length; ++k) {
        const T* number = signal + (f * step + k) * parts;
        const double weight = window == nullptr ? 1.0 : static_cast<double>(window[k]);
        line[static_cast<size_t>(k)] = {weight * static_cast<double>(number[0]),
                                        parts == 2 ? weight * static_cast<double>(number[1]) : 0.0};
      }
      transform.apply(&line);
      for (int64_t k = 0; k < shape[2]; ++k) {
        *y++ = static_cast<T>(line[static_cast<size_t>(k)].real());
        *y++ = static_cast<T>(line[static_cast<size_t>(k)].imag());
      }
    }
  }
}

/// y[n] = value(2 pi n / N), N the period: the size itself, or one less where the window is symmetric.
template <typename Value>
Status window_of(const KernelArgs& args, Value value) {
  const bool is_periodic = args.attrs.get_int("periodic", 1) != 0;
  const int64_t size = args.outputs[0].shape[0];
  const double period = static_cast<double>(is_periodic ? size : size - 1);
  return with_number(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    auto y = args.outputs[0].as<T>();
    for (size_t n = 0; n < y.size(); ++n) {
      // A symmetric window of one element has no period; that element is its middle.
      const double turn = period == 0 ? 0.5 : static_cast<double>(n) / period;
      y[n] = saturate_to<T>(value(2 * std::numbers::pi * turn));
    }
    return Status::ok();
  });
}

double mel_of(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}

double hertz_of(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

/// Triangles over the bins of a spectrum, whose corners lie equally far from each other in mel.
template <typename T>
Status mel_weights(const KernelArgs& args, double length, double rate, double low, double high) {
  const int64_t bins = args.outputs[0].shape[0], bands = args.outputs[0].shape[1];
  auto y = args.outputs[0].as<T>();
  std::fill(y.begin(), y.end(), T(0));
  const double step = (mel_of(high) - mel_of(low)) / static_cast<double>(bands + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double bin = std::floor((length + 1) * hertz_of(static_cast<double>(i) * step + mel_of(low)) / rate);
    if (!(bin >= 0 && bin < static_cast<double>(bins))) {
      return Status::error("the band " + std::to_string(i) + " begins outside of the spectrum");
    }
    corners.push_back(static_cast<int64_t>(bin));
  }
  for (int64_t band = 0; band < bands; ++band) {
    const int64_t left = corners[static_cast<size_t>(band)];
    const int64_t center = corners[static_cast<size_t>(band) + 1], right = corners[static_cast<size_t>(band) + 2];
    auto weight = [&](int64_t bin) -> T& { return y[static_cast<size_t>(bin * bands + band)]; };
    if (left == center) weight(center) = T(1);
    for (int64_t bin = left; left < center && bin <= center; ++bin) {
      weight(bin) = saturate_to<T>(static_cast<double>(bin - left) / static_cast<double>(center - left));
    }
    for (int64_t bin = center; bin < right; ++bin) {
      weight(bin) = saturate_to<T>(static_cast<double>(right - bin) / static_cast<double>(right - center));
    }
  }
  return Status::ok();
}

}  // namespace

Status kernel_DFT(const KernelArgs& args) {
  const bool inverse = args.attrs.get_int("inverse", 0) != 0;
  const bool onesided = args.attrs.get_int("onesided", 0) != 0;
  const int64_t axis = args.attrs.get_int("axis", 1);
  const AxisSplit split(args.inputs[0].shape, axis);
  int64_t length = inverse && onesided ? 2 * (split.extent - 1) : split.extent;
  if (!args.input(1).is_absent()) length = element_as_int(args.inputs[1], 0);
  if (args.outputs[0].count() == 0) return Status::ok();
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    transform_axis<T>(args, length, axis, inverse, onesided);
    return Status::ok();
  });
}

Status kernel_STFT(const KernelArgs& args) {
  int64_t length = args.input(2).is_absent() ? args.inputs[0].shape[1] : args.inputs[2].count();
  if (!args.input(3).is_absent()) length = element_as_int(args.inputs[3], 0);
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    transform_frames<T>(args, element_as_int(args.inputs[1], 0), length);
    return Status::ok();
  });
}

Status kernel_HannWindow(const KernelArgs& args) {
  return window_of(args, [](double angle) { return std::sin(angle / 2) * std::sin(angle / 2); });
}
Status kernel_HammingWindow(const KernelArgs& args) {
  return window_of(args, [](double angle) { return 25.0 / 46.0 - 21.0 / 46.0 * std::cos(angle); });
}
Status kernel_BlackmanWindow(const KernelArgs& args) {
  return window_of(args, [](double angle) { return 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle); });
}

/// Operands: bands, length of the transform, samples per second, lower and upper frequency.
Status kernel_MelWeightMatrix(const KernelArgs& args) {
  auto number = [&](size_t i) { return element_as_double(args.inputs[i], 0); };
  return with_number(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    return mel_weights<T>(args, number(1), number(2), number(3), number(4));
  });
}

}  // namespace collage::runtime
