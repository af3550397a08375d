// SPDX-License-Identifier: Apache-2.0
// Elements read and written by index tensors: GatherElements, GatherND, ScatterElements, ScatterND, TensorScatter,
// OneHot.
// Negative indices count from the end; one out of range is a failed Status.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"
#include "runtime/kernels/row_walk.h"

namespace collage::runtime {
namespace {

Status out_of_range(int64_t index, int64_t extent) {
  return Status::error("index " + std::to_string(index) + " is out of range for an axis of extent " +
                       std::to_string(extent));
}

/// Element offsets into `data` for every element of `indices`: its own position, with the index at `axis`.
Status element_offsets(const TensorView& data, const TensorView& indices, int64_t axis, std::vector<int64_t>* offsets) {
  auto rank = static_cast<int64_t>(data.shape.size());
  auto at_axis = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  RowWalk::Strides strides = row_major_strides(data.shape);
  int64_t extent = data.shape[at_axis];
  int64_t stride = strides[at_axis];
  strides[at_axis] = 0;
  offsets->reserve(static_cast<size_t>(indices.count()));
  return with_integer(indices.dtype, [&]<typename I>(Type<I>) {
    const I* next = indices.as<I>().data();
    for (RowWalk walk(indices.shape, {strides}); walk.more(); walk.advance()) {
      int64_t offset = walk.offset(0);
      for (int64_t i = 0; i < walk.length(); ++i, offset += walk.stride(0)) {
        auto index = static_cast<int64_t>(*next++);
        if (index < -extent || index >= extent) return out_of_range(index, extent);
        offsets->push_back(offset + (index < 0 ? index + extent : index) * stride);
      }
    }
    return Status::ok();
  });
}

/// Element offsets into `data` for every index tuple; `*part` is the number of elements after each.
Status tuple_offsets(const TensorView& data, const TensorView& indices, size_t batch, std::vector<int64_t>* offsets,
                     int64_t* part) {
  RowWalk::Strides strides = row_major_strides(data.shape);
  auto depth = static_cast<size_t>(indices.shape.back());
  int64_t tuples = element_count(Shape(indices.shape.begin(), indices.shape.end() - 1));
  int64_t batches = element_count(Shape(data.shape.begin(), data.shape.begin() + static_cast<std::ptrdiff_t>(batch)));
  *part = element_count(Shape(data.shape.begin() + static_cast<std::ptrdiff_t>(batch + depth), data.shape.end()));
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t offset = batch == 0 ? 0 : t / (tuples / batches) * strides[batch - 1];
    for (size_t d = 0; d < depth; ++d) {
      int64_t extent = data.shape[batch + d];
      int64_t index = element_as_int(indices, t * static_cast<int64_t>(depth) + static_cast<int64_t>(d));
      if (index < -extent || index >= extent) return out_of_range(index, extent);
      offset += (index < 0 ? index + extent : index) * strides[batch + d];
    }
    offsets->push_back(offset);
  }
  return Status::ok();
}

/// y = x, then y[offset + i] = old reduced with the next update, in order.
template <typename T, typename F>
void update(const KernelArgs& args, const std::vector<int64_t>& offsets, int64_t part, F reduce) {
  auto x = args.inputs[0].as<T>();
  auto y = args.outputs[0].as<T>();
  std::copy(x.begin(), x.end(), y.begin());
  const T* next = args.inputs[2].as<T>().data();
  for (int64_t offset : offsets) {
    for (int64_t i = 0; i < part; ++i) {
      T& element = y[static_cast<size_t>(offset + i)];
      element = reduce(element, *next++);
    }
  }
}

Status scatter(const KernelArgs& args, const std::vector<int64_t>& offsets, int64_t part) {
  std::string how = args.attrs.get_string("reduction", "none");
  if (how == "none") {
    return with_width(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
      update<T>(args, offsets, part, [](T, T fresh) { return fresh; });
      return Status::ok();
    });
  }
  return with_number(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    if (how == "add") update<T>(args, offsets, part, [](T old, T fresh) { return wrapping_add(old, fresh); });
    if (how == "mul") update<T>(args, offsets, part, [](T old, T fresh) { return wrapping_mul(old, fresh); });
    if (how == "max") update<T>(args, offsets, part, [](T old, T fresh) { return maximum(fresh, old); });
    if (how == "min") update<T>(args, offsets, part, [](T old, T fresh) { return minimum(fresh, old); });
    return Status::ok();
  });
}

/// y = the parts of x at the offsets, one after the other.
Status collect(const KernelArgs& args, const std::vector<int64_t>& offsets, int64_t part) {
  if (part == 1) {
    return with_width(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
      const T* x = args.inputs[0].as<T>().data();
      T* y = args.outputs[0].as<T>().data();
      for (int64_t offset : offsets) *y++ = x[offset];
      return Status::ok();
    });
  }
  size_t width = size_of(args.inputs[0].dtype);
  std::byte* to = args.outputs[0].data;
  size_t bytes = static_cast<size_t>(part) * width;
  for (int64_t offset : offsets) {
    if (bytes > 0) std::memcpy(to, args.inputs[0].data + static_cast<size_t>(offset) * width, bytes);
    to += bytes;
  }
  return Status::ok();
}

}  // namespace

Status kernel_GatherElements(const KernelArgs& args) {
  std::vector<int64_t> offsets;
  Status status = element_offsets(args.inputs[0], args.inputs[1], args.attrs.get_int("axis", 0), &offsets);
  return status ? collect(args, offsets, 1) : status;
}

Status kernel_ScatterElements(const KernelArgs& args) {
  std::vector<int64_t> offsets;
  Status status = element_offsets(args.inputs[0], args.inputs[1], args.attrs.get_int("axis", 0), &offsets);
  return status ? scatter(args, offsets, 1) : status;
}

Status kernel_GatherND(const KernelArgs& args) {
  std::vector<int64_t> offsets;
  int64_t part;
  auto batch = static_cast<size_t>(args.attrs.get_int("batch_dims", 0));
  Status status = tuple_offsets(args.inputs[0], args.inputs[1], batch, &offsets, &part);
  return status ? collect(args, offsets, part) : status;
}

Status kernel_ScatterND(const KernelArgs& args) {
  std::vector<int64_t> offsets;
  int64_t part;
  Status status = tuple_offsets(args.inputs[0], args.inputs[1], 0, &offsets, &part);
  return status ? scatter(args, offsets, part) : status;
}

/// y = x with the update's entries in the place of entries `write_indices[batch]` on, around the end if circular.
Status kernel_TensorScatter(const KernelArgs& args) {
  const TensorView& x = args.inputs[0];
  const TensorView& update = args.inputs[1];
  const bool is_circular = args.attrs.get_string("mode", "linear") == "circular";
  const AxisSplit split(x.shape, args.attrs.get_int("axis", -2));
  const int64_t steps = AxisSplit(update.shape, args.attrs.get_int("axis", -2)).extent;
  const size_t bytes = static_cast<size_t>(split.inner) * size_of(x.dtype);
  if (x.bytes() == 0) return Status::ok();
  std::memcpy(args.outputs[0].data, x.data, x.bytes());
  for (int64_t o = 0; o < split.outer; ++o) {
    const int64_t batch = o / (split.outer / x.shape[0]);
    const int64_t first = args.input(2).is_absent() ? 0 : element_as_int(args.inputs[2], batch);
    if (first < 0 || first >= split.extent + (steps == 0) || (!is_circular && steps > split.extent - first)) {
      return Status::error(std::to_string(steps) + " entries from index " + std::to_string(first) +
                           " on do not fit an axis of extent " + std::to_string(split.extent));
    }
    for (int64_t i = 0; i < steps && bytes > 0; ++i) {
      const int64_t place = (first + i) % split.extent;
      std::memcpy(args.outputs[0].data + static_cast<size_t>(o * split.extent + place) * bytes,
                  update.data + static_cast<size_t>(o * steps + i) * bytes, bytes);
    }
  }
  return Status::ok();
}

/// An index outside [-depth, depth) switches nothing on.
Status kernel_OneHot(const KernelArgs& args) {
  const TensorView& indices = args.inputs[0];
  const TensorView& y_view = args.outputs[0];
  AxisSplit split(y_view.shape, args.attrs.get_int("axis", -1));
  return with_width(y_view.dtype, [&]<typename T>(Type<T>) {
    auto off_on = args.inputs[2].as<T>();
    auto y = y_view.as<T>();
    std::fill(y.begin(), y.end(), off_on[0]);
    for (int64_t k = 0; k < indices.count(); ++k) {
      double index = std::trunc(element_as_double(indices, k));
      auto extent = static_cast<double>(split.extent);
      if (!(index >= -extent && index < extent)) continue;
      int64_t place = static_cast<int64_t>(index) + (index < 0 ? split.extent : 0);
      y[static_cast<size_t>((k / split.inner * split.extent + place) * split.inner + k % split.inner)] = off_on[1];
    }
    return Status::ok();
  });
}

}  // namespace collage::runtime
