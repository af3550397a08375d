// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/widen.h"

#include <algorithm>
#include <vector>

#include "runtime/core/storage.h"

namespace collage::runtime {
namespace {

bool is_narrow(const TensorView& view) {
  return !view.is_absent() && is_narrow_float(view.dtype);
}

/// `storage` is how a narrow tensor lies in memory, seen as a tensor of f32.
Storage storage_of(const TensorView& narrow) {
  return {*storage_type_of(narrow.dtype)};
}

}  // namespace

bool has_narrow_floats(const KernelArgs& args) {
  return std::any_of(args.inputs.begin(), args.inputs.end(), is_narrow) ||
         std::any_of(args.outputs.begin(), args.outputs.end(), is_narrow);
}

Status run_widened(ReferenceKernel::Function kernel, const KernelArgs& args) {
  std::vector<Tensor> wide;  // owns the copies
  const auto views = [&wide](std::span<const TensorView> given, bool is_read) {
    std::vector<TensorView> seen(given.begin(), given.end());
    for (TensorView& view : seen) {
      if (!is_narrow(view)) continue;
      const TensorView narrow = view;
      view = wide.emplace_back(DType::F32, narrow.shape).view();
      if (is_read) convert_storage(DType::F32, narrow.count(), narrow.data, storage_of(narrow), view.data, {});
    }
    return seen;
  };
  const std::vector<TensorView> inputs = views(args.inputs, true);
  const std::vector<TensorView> outputs = views(args.outputs, false);
  Status status = kernel({inputs, outputs, args.attrs});
  if (!status) return status;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& narrow = args.outputs[i];
    if (!is_narrow(narrow)) continue;
    convert_storage(DType::F32, narrow.count(), outputs[i].data, {}, narrow.data, storage_of(narrow));
  }
  return Status::ok();
}

}  // namespace collage::runtime
