// SPDX-License-Identifier: Apache-2.0
// Resize: nearest and linear interpolation, one dimension after the other. Each dimension has a table of the source
// indices and weights of every output index; a result is the product of the tables.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

/// One output index along one dimension: (1 - weight) * x[low] + weight * x[high].
struct Blend {
  int64_t low = 0;
  int64_t high = 0;
  double weight = 0;
};

/// With `align_corners`, the resized extent is scale * extent, not rounded down: ONNX's own tests expect that.
double source_coordinate(const std::string& mode, double index, double scale, int64_t from, int64_t to) {
  if (mode == "asymmetric") return index / scale;
  if (mode == "align_corners") {
    return to == 1 ? 0 : index * static_cast<double>(from - 1) / (static_cast<double>(from) * scale - 1);
  }
  if (mode == "pytorch_half_pixel" && to == 1) return 0;
  return (index + 0.5) / scale - 0.5;
}

int64_t nearest_index(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

std::vector<Blend> blends_of(const KernelArgs& args, size_t d) {
  int64_t from = args.inputs[0].shape[d];
  int64_t to = args.outputs[0].shape[d];
  TensorView scales = args.input(2);
  bool by_scale = !scales.is_absent() && scales.count() > 0;
  double scale = by_scale ? element_as_double(scales, static_cast<int64_t>(d))
                          : static_cast<double>(to) / static_cast<double>(from);
  std::string coordinates = args.attrs.get_string("coordinate_transformation_mode", "half_pixel");
  std::string rounding = args.attrs.get_string("nearest_mode", "round_prefer_floor");
  bool linear = args.attrs.get_string("mode", "nearest") == "linear";
  std::vector<Blend> blends(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    double x = source_coordinate(coordinates, static_cast<double>(i), scale, from, to);
    Blend& blend = blends[static_cast<size_t>(i)];
    if (linear) {
      x = std::clamp(x, 0.0, static_cast<double>(from - 1));
      blend.low = static_cast<int64_t>(x);
      blend.high = std::min(blend.low + 1, from - 1);
      blend.weight = x - static_cast<double>(blend.low);
    } else {
      x = std::clamp(x, -1.0, static_cast<double>(from));
      blend.low = blend.high = std::clamp<int64_t>(nearest_index(rounding, x), 0, from - 1);
    }
  }
  return blends;
}

template <typename T>
Status resize(const KernelArgs& args) {
  const Shape& from = args.inputs[0].shape;
  size_t rank = from.size();
  std::vector<int64_t> strides = row_major_strides(from);
  std::vector<std::vector<Blend>> blends(rank);
  auto y = args.outputs[0].as<T>();
  if (y.empty()) return Status::ok();
  for (size_t d = 0; d < rank; ++d) blends[d] = blends_of(args, d);
  const T* x = args.inputs[0].as<T>().data();
  std::vector<size_t> position(rank, 0);
  // Source elements of one result and their weights: doubled by every dimension that really blends.
  std::vector<std::pair<int64_t, double>> terms;
  for (T& element : y) {
    terms.assign(1, {0, 1.0});
    for (size_t d = 0; d < rank; ++d) {
      const Blend& blend = blends[d][position[d]];
      size_t count = terms.size();
      for (size_t k = 0; k < count; ++k) {
        auto [offset, weight] = terms[k];
        terms[k] = {offset + blend.low * strides[d], weight * (1 - blend.weight)};
        if (blend.weight != 0) terms.emplace_back(offset + blend.high * strides[d], weight * blend.weight);
      }
    }
    if (terms.size() == 1) {
      element = x[terms[0].first];
    } else {
      double sum = 0;
      for (auto [offset, weight] : terms) sum += weight * static_cast<double>(x[offset]);
      element = saturate_to<T>(sum);
    }
    for (size_t d = rank; d-- > 0 && ++position[d] == blends[d].size();) position[d] = 0;
  }
  return Status::ok();
}

}  // namespace

Status kernel_Resize(const KernelArgs& args) {
  return with_number(args.outputs[0].dtype, [&]<typename T>(Type<T>) { return resize<T>(args); });
}

}  // namespace collage::runtime
