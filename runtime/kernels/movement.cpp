// SPDX-License-Identifier: Apache-2.0
// Kernels that move elements by strides: one strided copy with strides to read and to write.
#include <algorithm>
#include <vector>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/row_walk.h"
#include "runtime/kernels/slice_range.h"

namespace collage::runtime {
namespace {

/// A tensor as seen by a copy: element offsets from its start.
struct Strided {
  RowWalk::Strides strides;
  int64_t offset = 0;
};

Status strided_copy(const TensorView& from, const Strided& read, const TensorView& to, const Strided& write,
                    const Shape& space) {
  return with_width(to.dtype, [&]<typename T>(Type<T>) {
    const T* x = from.as<T>().data();
    T* y = to.as<T>().data();
    for (RowWalk walk(space, {read.strides, write.strides}, {read.offset, write.offset}); walk.more(); walk.advance()) {
      const T* row = x + walk.offset(0);
      T* out = y + walk.offset(1);
      if (walk.stride(0) == 1 && walk.stride(1) == 1) {
        std::copy(row, row + walk.length(), out);
      } else {
        for (int64_t i = 0; i < walk.length(); ++i) out[i * walk.stride(1)] = row[i * walk.stride(0)];
      }
    }
    return Status::ok();
  });
}

/// Reads by strides, writes all of the dense result.
Status gather_copy(const KernelArgs& args, const Strided& read) {
  const TensorView& to = args.outputs[0];
  return strided_copy(args.inputs[0], read, to, {row_major_strides(to.shape)}, to.shape);
}

/// The input seen as `shape`, then with its dimensions in the order `perm`.
Status permuted_copy(const KernelArgs& args, const Shape& shape, const Ints& perm) {
  RowWalk::Strides own = row_major_strides(shape);
  RowWalk::Strides read;
  Shape space;
  for (int64_t axis : perm) {
    read.push_back(own[static_cast<size_t>(axis)]);
    space.push_back(shape[static_cast<size_t>(axis)]);
  }
  return strided_copy(args.inputs[0], {read}, args.outputs[0], {row_major_strides(space)}, space);
}

}  // namespace

Status kernel_Transpose(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  auto rank = static_cast<int64_t>(shape.size());
  Ints perm = args.attrs.get_ints("perm");
  if (!args.attrs.has("perm")) {
    for (int64_t d = rank; d-- > 0;) perm.push_back(d);
  }
  for (int64_t& axis : perm) axis += axis < 0 ? rank : 0;
  return permuted_copy(args, shape, perm);
}

/// DCR: [N, b, b, C, H, W] -> [N, C, H, b, W, b]; CRD: [N, C, b, b, H, W] likewise.
Status kernel_DepthToSpace(const KernelArgs& args) {
  const Shape& x = args.inputs[0].shape;
  int64_t b = args.attrs.get_int("blocksize", 1);
  int64_t channels = x[1] / (b * b);
  if (args.attrs.get_string("mode", "DCR") == "CRD") {
    return permuted_copy(args, {x[0], channels, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
  }
  return permuted_copy(args, {x[0], b, b, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
}

/// [N, C, H, b, W, b] -> [N, b, b, C, H, W]
Status kernel_SpaceToDepth(const KernelArgs& args) {
  const Shape& x = args.inputs[0].shape;
  int64_t b = args.attrs.get_int("blocksize", 1);
  return permuted_copy(args, {x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

Status kernel_Expand(const KernelArgs& args) {
  return gather_copy(args, {broadcast_strides(args.inputs[0].shape, args.outputs[0].shape)});
}

/// Each dimension becomes two: the repeat, which reads the same elements, and the dimension itself.
Status kernel_Tile(const KernelArgs& args) {
  const Shape& from = args.inputs[0].shape;
  RowWalk::Strides own = row_major_strides(from);
  RowWalk::Strides read;
  Shape space;
  for (size_t d = 0; d < from.size(); ++d) {
    space.push_back(from[d] == 0 ? 0 : args.outputs[0].shape[d] / from[d]);
    space.push_back(from[d]);
    read.push_back(0);
    read.push_back(own[d]);
  }
  return strided_copy(args.inputs[0], {read}, args.outputs[0], {row_major_strides(space)}, space);
}

Status kernel_Slice(const KernelArgs& args) {
  const Shape& shape = args.inputs[0].shape;
  Strided read{row_major_strides(shape)};
  RowWalk::Strides own = read.strides;
  TensorView axes = args.input(3);
  TensorView steps = args.input(4);
  Shape result = shape;
  for (int64_t i = 0; i < args.inputs[1].count(); ++i) {
    int64_t axis = axes.is_absent() ? i : element_as_int(axes, i);
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    auto d = static_cast<size_t>(axis);
    SliceRange range = slice_range(shape[d], element_as_int(args.inputs[1], i), element_as_int(args.inputs[2], i),
                                   steps.is_absent() ? 1 : element_as_int(steps, i));
    result[d] = range.count;
    if (range.count == 0) continue;
    read.offset += range.start * own[d];
    // A single element is never stepped from, and its step may be as large as an int64 can be.
    read.strides[d] = range.count == 1 ? 0 : range.step * own[d];
  }
  if (result != args.outputs[0].shape)
    return Status::error("slice bounds are not those that the shape was inferred from");
  return gather_copy(args, read);
}

Status kernel_Concat(const KernelArgs& args) {
  const TensorView& to = args.outputs[0];
  RowWalk::Strides write = row_major_strides(to.shape);
  int64_t axis = args.attrs.get_int("axis", 0);
  auto d = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(to.shape.size()) : axis);
  int64_t done = 0;
  for (const TensorView& part : args.inputs) {
    Status status = strided_copy(part, {row_major_strides(part.shape)}, to, {write, done * write[d]}, part.shape);
    if (!status) return status;
    done += part.shape[d];
  }
  return Status::ok();
}

Status kernel_Split(const KernelArgs& args) {
  const TensorView& from = args.inputs[0];
  int64_t axis = args.attrs.get_int("axis", 0);
  AxisSplit split(from.shape, axis);
  auto d = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(from.shape.size()) : axis);
  RowWalk::Strides own = row_major_strides(from.shape);
  TensorView sizes = args.input(1);
  int64_t done = 0;
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    const TensorView& part = args.outputs[i];
    int64_t size = sizes.is_absent() ? split.extent / static_cast<int64_t>(args.outputs.size())
                                     : element_as_int(sizes, static_cast<int64_t>(i));
    if (!part.is_absent()) {
      Status status = strided_copy(from, {own, done * own[d]}, part, {row_major_strides(part.shape)}, part.shape);
      if (!status) return status;
    }
    done += size;
  }
  return Status::ok();
}

}  // namespace collage::runtime
