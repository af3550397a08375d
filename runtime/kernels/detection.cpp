// SPDX-License-Identifier: Apache-2.0
// Operators of detectors, on boxes: RoiAlign, MaxRoiPool, NonMaxSuppression.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

/// Most samples across a bin where their number follows from the size of the region.
constexpr double kMostSamples = 4096;

/// The four pixels around a sample, by their place in a plane. Outside of the picture all weights are 0.
template <typename T>
struct Sample {
  std::array<int64_t, 4> pixels = {};
  std::array<T, 4> weights = {};
};

template <typename T>
Sample<T> sample_at(T y, T x, int64_t height, int64_t width) {
  Sample<T> sample;
  if (!(y >= T(-1) && y <= static_cast<T>(height) && x >= T(-1) && x <= static_cast<T>(width))) return sample;
  y = std::max(y, T(0));
  x = std::max(x, T(0));
  auto top = std::min(static_cast<int64_t>(y), height - 1);
  auto left = std::min(static_cast<int64_t>(x), width - 1);
  int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  T down = bottom == top ? T(0) : y - static_cast<T>(top);
  T across = right == left ? T(0) : x - static_cast<T>(left);
  sample.pixels = {top * width + left, top * width + right, bottom * width + left, bottom * width + right};
  sample.weights = {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across};
  return sample;
}

/// How one region is divided along one dimension.
template <typename T>
struct Bins {
  T start;
  T size;           ///< of one bin
  int64_t samples;  ///< across one bin

  T place(int64_t bin, int64_t sample) const {
    return start + static_cast<T>(bin) * size + (static_cast<T>(sample) + T(0.5)) * size / static_cast<T>(samples);
  }
};

template <typename T>
class RoiAligner {
 public:
  explicit RoiAligner(const KernelArgs& args)
      : args_(args),
        x_shape_(args.inputs[0].shape),
        y_shape_(args.outputs[0].shape),
        half_pixel_(args.attrs.get_string("coordinate_transformation_mode", "half_pixel") == "half_pixel"),
        takes_max_(args.attrs.get_string("mode", "avg") == "max"),
        ratio_(args.attrs.get_int("sampling_ratio", 0)),
        scale_(static_cast<T>(args.attrs.get_float("spatial_scale", 1.0))) {}

  Status run() {
    for (int64_t roi = 0; roi < y_shape_[0]; ++roi) {
      int64_t picture = element_as_int(args_.inputs[2], roi);
      if (picture < 0 || picture >= x_shape_[0]) {
        return Status::error("picture " + std::to_string(picture) + " of " + std::to_string(x_shape_[0]));
      }
      const T* corners = args_.inputs[1].as<T>().data() + roi * 4;
      Bins<T> across = bins(corners[0], corners[2], y_shape_[3]);
      Bins<T> down = bins(corners[1], corners[3], y_shape_[2]);
      if (across.samples < 0 || down.samples < 0) {
        return Status::error("region " + std::to_string(roi) + " needs too many samples");
      }
      pool(roi, picture, down, across);
    }
    return Status::ok();
  }

 private:
  /// `samples` is -1 where there would be too many.
  Bins<T> bins(T start, T end, int64_t count) const {
    const T shift = half_pixel_ ? T(0.5) : T(0);
    start = start * scale_ - shift;
    T extent = end * scale_ - shift - start;
    if (!half_pixel_) extent = std::max(extent, T(1));
    Bins<T> bins{start, extent / static_cast<T>(count), ratio_};
    if (ratio_ > 0) return bins;
    const double samples = std::ceil(static_cast<double>(bins.size));
    bins.samples = samples <= kMostSamples ? static_cast<int64_t>(std::max(samples, 0.0)) : -1;
    return bins;
  }

  void pool(int64_t roi, int64_t picture, const Bins<T>& down, const Bins<T>& across) {
    const int64_t channels = x_shape_[1], plane = x_shape_[2] * x_shape_[3], bins = y_shape_[2] * y_shape_[3];
    const T* x = args_.inputs[0].as<T>().data() + picture * channels * plane;
    T* y = args_.outputs[0].as<T>().data() + roi * channels * bins;
    for (int64_t bin = 0; bin < bins; ++bin) {
      samples_.clear();
      for (int64_t i = 0; i < down.samples; ++i) {
        for (int64_t j = 0; j < across.samples; ++j) {
          samples_.push_back(sample_at(down.place(bin / y_shape_[3], i), across.place(bin % y_shape_[3], j),
                                       x_shape_[2], x_shape_[3]));
        }
      }
      for (int64_t c = 0; c < channels; ++c)
        y[c * bins + bin] = takes_max_ ? greatest(x + c * plane) : mean(x + c * plane);
    }
  }

  T mean(const T* plane) const {
    double sum = 0;
    for (const Sample<T>& sample : samples_) {
      for (size_t k = 0; k < 4; ++k) {
        if (sample.weights[k] != 0)
          sum += static_cast<double>(sample.weights[k]) * static_cast<double>(plane[sample.pixels[k]]);
      }
    }
    return static_cast<T>(sum / static_cast<double>(std::max<size_t>(1, samples_.size())));
  }

  /// The greatest of the weighted pixels, not of the interpolated samples, as the operator is defined. NaN if one of
  /// them is; a pixel without weight counts as 0, whatever it is.
  T greatest(const T* plane) const {
    if (samples_.empty()) return 0;
    T best = -std::numeric_limits<T>::infinity();
    for (const Sample<T>& sample : samples_) {
      for (size_t k = 0; k < 4; ++k) {
        best = maximum(best, sample.weights[k] == 0 ? T(0) : sample.weights[k] * plane[sample.pixels[k]]);
      }
    }
    return best;
  }

  const KernelArgs& args_;
  const Shape& x_shape_;
  const Shape& y_shape_;
  const bool half_pixel_;
  const bool takes_max_;
  const int64_t ratio_;
  const T scale_;
  std::vector<Sample<T>> samples_;
};

/// A region along one dimension: its pixels start .. end - 1, in whole numbers, divided into bins that may overlap by
/// one pixel:
///
///     bin b = floor(b * extent / bins) .. ceil((b + 1) * extent / bins), then cut to the picture
template <typename T>
struct PixelBins {
  int64_t start;
  T size;  ///< of one bin

  PixelBins(T from, T to, T scale, int64_t bins) : start(saturate_to<int32_t>(std::round(from * scale))) {
    const int64_t end = int64_t{saturate_to<int32_t>(std::round(to * scale))} + 1;
    size = static_cast<T>(std::max<int64_t>(end - start, 1)) / static_cast<T>(bins);
  }

  std::pair<int64_t, int64_t> pixels(int64_t bin, int64_t extent) const {
    const auto at = [&](T place) { return std::clamp<int64_t>(start + static_cast<int64_t>(place), 0, extent); };
    return {at(std::floor(static_cast<T>(bin) * size)), at(std::ceil(static_cast<T>(bin + 1) * size))};
  }
};

/// The greatest pixel of each bin, NaN if one is; 0 where a bin lies outside of its picture.
template <typename T>
Status max_roi_pool(const KernelArgs& args) {
  const Shape& x_shape = args.inputs[0].shape;
  const Shape& y_shape = args.outputs[0].shape;
  const auto scale = static_cast<T>(args.attrs.get_float("spatial_scale", 1.0));
  const int64_t channels = x_shape[1], height = x_shape[2], width = x_shape[3];
  T* y = args.outputs[0].as<T>().data();
  for (int64_t roi = 0; roi < y_shape[0]; ++roi) {
    const T* region = args.inputs[1].as<T>().data() + roi * 5;
    if (!(region[0] > T(-1) && region[0] < static_cast<T>(x_shape[0]))) {
      return Status::error("picture " + std::to_string(region[0]) + " of " + std::to_string(x_shape[0]));
    }
    const T* planes = args.inputs[0].as<T>().data() + static_cast<int64_t>(region[0]) * channels * height * width;
    const PixelBins<T> across(region[1], region[3], scale, y_shape[3]);
    const PixelBins<T> down(region[2], region[4], scale, y_shape[2]);
    for (int64_t c = 0; c < channels; ++c) {
      const T* plane = planes + c * height * width;
      for (int64_t bin = 0; bin < y_shape[2] * y_shape[3]; ++bin) {
        const auto [top, bottom] = down.pixels(bin / y_shape[3], height);
        const auto [left, right] = across.pixels(bin % y_shape[3], width);
        T best = bottom > top && right > left ? -std::numeric_limits<T>::infinity() : T(0);
        for (int64_t row = top; row < bottom; ++row) {
          for (int64_t column = left; column < right; ++column) best = maximum(best, plane[row * width + column]);
        }
        *y++ = best;
      }
    }
  }
  return Status::ok();
}

/// A box as intervals.
struct Box {
  double left, right, top, bottom;
  double area() const { return (right - left) * (bottom - top); }
};

/// By two opposite corners (y, x), in any order, or by its centre (x, y) and its size.
template <typename T>
Box box_at(const T* numbers, bool by_center) {
  auto at = [numbers](size_t i) { return static_cast<double>(numbers[i]); };
  if (by_center) {
    return {at(0) - at(2) / 2, at(0) + at(2) / 2, at(1) - at(3) / 2, at(1) + at(3) / 2};
  }
  return {std::min(at(1), at(3)), std::max(at(1), at(3)), std::min(at(0), at(2)), std::max(at(0), at(2))};
}

/// Whether the common area is more than `most` of the area that both cover.
bool overlap_too_much(const Box& a, const Box& b, double most) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return false;
  const double common = width * height;
  const double covered = a.area() + b.area() - common;
  return a.area() > 0 && b.area() > 0 && covered > 0 && common / covered > most;
}

struct SuppressionLimits {
  int64_t most_boxes = 0;
  double most_overlap = 0;
  bool has_least_score = false;
  double least_score = 0;
};

/// Boxes in the order of their scores, each kept if it does not overlap a kept one too much; of equal scores the first
/// box is the first.
template <typename T>
std::vector<int64_t> keep_boxes(const std::vector<Box>& boxes, const T* scores, const SuppressionLimits& limits) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < boxes.size(); ++i) {
    // A score that is no number is no candidate.
    const bool is_candidate =
        limits.has_least_score ? static_cast<double>(scores[i]) > limits.least_score : scores[i] == scores[i];
    if (is_candidate) order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> kept;
  for (int64_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= limits.most_boxes) break;
    const Box& box = boxes[static_cast<size_t>(candidate)];
    if (std::none_of(kept.begin(), kept.end(), [&](int64_t other) {
          return overlap_too_much(box, boxes[static_cast<size_t>(other)], limits.most_overlap);
        })) {
      kept.push_back(candidate);
    }
  }
  return kept;
}

template <typename T>
std::vector<int64_t> suppress(std::span<const TensorView> inputs, const SuppressionLimits& limits, bool by_center) {
  const int64_t classes = inputs[1].shape[1], count = inputs[1].shape[2];
  std::vector<int64_t> selected;
  std::vector<Box> boxes(static_cast<size_t>(count));
  for (int64_t picture = 0; picture < inputs[1].shape[0]; ++picture) {
    const T* corners = inputs[0].as<T>().data() + picture * count * 4;
    for (size_t i = 0; i < boxes.size(); ++i) boxes[i] = box_at(corners + i * 4, by_center);
    for (int64_t c = 0; c < classes; ++c) {
      const T* scores = inputs[1].as<T>().data() + (picture * classes + c) * count;
      for (int64_t box : keep_boxes(boxes, scores, limits)) selected.insert(selected.end(), {picture, c, box});
    }
  }
  return selected;
}

bool is_given(std::span<const TensorView> inputs, size_t i) {
  return i < inputs.size() && !inputs[i].is_absent() && inputs[i].count() > 0;
}

}  // namespace

Status kernel_RoiAlign(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return RoiAligner<T>(args).run(); });
}

Status kernel_MaxRoiPool(const KernelArgs& args) {
  return with_float(args.inputs[0].dtype, [&]<typename T>(Type<T>) { return max_roi_pool<T>(args); });
}

Result<std::vector<Tensor>> results_of_NonMaxSuppression(std::span<const TensorView> inputs, const AttrMap& attrs) {
  SuppressionLimits limits;
  if (is_given(inputs, 2)) limits.most_boxes = element_as_int(inputs[2], 0);
  if (is_given(inputs, 3)) limits.most_overlap = element_as_double(inputs[3], 0);
  limits.has_least_score = is_given(inputs, 4);
  if (limits.has_least_score) limits.least_score = element_as_double(inputs[4], 0);
  std::vector<int64_t> selected;
  Status status = with_float(inputs[0].dtype, [&]<typename T>(Type<T>) {
    selected = suppress<T>(inputs, limits, attrs.get_int("center_point_box", 0) != 0);
    return Status::ok();
  });
  if (!status) return status;
  Tensor result(DType::I64, {static_cast<int64_t>(selected.size()) / 3, 3});
  std::copy(selected.begin(), selected.end(), result.as<int64_t>().begin());
  return std::vector<Tensor>{std::move(result)};
}

}  // namespace collage::runtime
