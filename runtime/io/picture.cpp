// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/io/file_bytes.h"
#include "runtime/io/picture_formats.h"

namespace collage::runtime {
namespace {

/// How much each pixel of the old row adds to one of the new row.
struct Tap {
  int64_t from = 0;
  double weight = 0;
};

/// Resampling of one axis, pixel centres at half numbers: a triangle of half-width max(1, old / new). Growing, that is
/// bilinear; shrinking, a mean over about the covered area.
std::vector<std::vector<Tap>> resample_taps(int64_t old_size, int64_t new_size) {
  double step = static_cast<double>(old_size) / static_cast<double>(new_size);
  double reach = std::max(1.0, step);
  std::vector<std::vector<Tap>> taps(static_cast<size_t>(new_size));
  for (int64_t i = 0; i < new_size; ++i) {
    double centre = (static_cast<double>(i) + 0.5) * step - 0.5;
    auto first = static_cast<int64_t>(std::ceil(centre - reach));
    auto last = static_cast<int64_t>(std::floor(centre + reach));
    double total = 0;
    std::vector<Tap>& row = taps[static_cast<size_t>(i)];
    for (int64_t j = first; j <= last; ++j) {
      double weight = 1.0 - std::abs(static_cast<double>(j) - centre) / reach;
      if (weight <= 0) continue;
      row.push_back({std::clamp<int64_t>(j, 0, old_size - 1), weight});
      total += weight;
    }
    for (Tap& tap : row) tap.weight /= total;
  }
  return taps;
}

/// One plane of [height, width].
std::vector<double> resize(const std::vector<double>& plane, int64_t height, int64_t width, int64_t new_height,
                           int64_t new_width) {
  if (height == new_height && width == new_width) return plane;
  std::vector<double> narrow(static_cast<size_t>(height * new_width));
  auto column_taps = resample_taps(width, new_width);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < new_width; ++x) {
      double sum = 0;
      for (const Tap& tap : column_taps[static_cast<size_t>(x)]) {
        sum += tap.weight * plane[static_cast<size_t>(y * width + tap.from)];
      }
      narrow[static_cast<size_t>(y * new_width + x)] = sum;
    }
  }
  std::vector<double> result(static_cast<size_t>(new_height * new_width));
  auto row_taps = resample_taps(height, new_height);
  for (int64_t y = 0; y < new_height; ++y) {
    for (const Tap& tap : row_taps[static_cast<size_t>(y)]) {
      for (int64_t x = 0; x < new_width; ++x) {
        result[static_cast<size_t>(y * new_width + x)] +=
            tap.weight * narrow[static_cast<size_t>(tap.from * new_width + x)];
      }
    }
  }
  return result;
}

}  // namespace

Result<Tensor> read_picture(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.status();
  std::string_view view = *bytes;
  Result<Tensor> picture = Status::error("neither a PNG, a JPEG, a PGM nor a PPM");
  if (view.starts_with("\x89PNG")) picture = decode_png(view);
  if (view.starts_with("\xFF\xD8\xFF")) picture = decode_jpeg(view);
  bool is_pnm =
      view.size() > 2 && view[0] == 'P' && (view[1] == '2' || view[1] == '3' || view[1] == '5' || view[1] == '6');
  if (is_pnm) picture = decode_pnm(view);
  if (!picture) return Status::error(path + ": " + picture.message());
  return picture;
}

Result<Tensor> picture_to_input(const Tensor& picture, const Shape& shape, double scale) {
  size_t rank = shape.size();
  bool fits = rank >= 2 && rank <= 4 && (rank < 4 || shape[0] == 1) && shape[rank - 1] >= 1 && shape[rank - 2] >= 1;
  int64_t channels = fits && rank > 2 ? shape[rank - 3] : 1;
  if (!fits || (channels != 1 && channels != 3)) {
    return Status::error("a picture does not fit an input of shape " + to_string(shape) +
                         ": need [1, C, H, W], [C, H, W] or [H, W] with 1 or 3 channels");
  }
  int64_t new_height = shape[rank - 2], new_width = shape[rank - 1];
  if (new_width > kMostPixels || new_height > kMostPixels / new_width) return Status::error("the input is too large");
  int64_t height = picture.shape()[0], width = picture.shape()[1], depth = picture.shape()[2];
  auto pixels = picture.as<uint8_t>();
  Tensor input(DType::F32, shape);
  auto out = input.as<float>();
  auto plane_size = static_cast<size_t>(height * width);
  for (int64_t c = 0; c < channels; ++c) {
    std::vector<double> plane(plane_size);
    for (size_t i = 0; i < plane_size; ++i) {
      const uint8_t* pixel = &pixels[i * static_cast<size_t>(depth)];
      bool to_grey = depth == 3 && channels == 1;
      plane[i] = to_grey ? 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2] : pixel[depth == 3 ? c : 0];
    }
    std::vector<double> sized = resize(plane, height, width, new_height, new_width);
    for (size_t i = 0; i < sized.size(); ++i) {
      out[static_cast<size_t>(c) * sized.size() + i] = static_cast<float>(sized[i] * scale);
    }
  }
  return input;
}

}  // namespace collage::runtime
