// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin along one axis. The place of a NaN is that of the most extreme element, as in NumPy.
#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

Status arg_extreme(const KernelArgs& args, bool greatest) {
  AxisSplit split(args.inputs[0].shape, args.attrs.get_int("axis", 0));
  bool last = args.attrs.get_int("select_last_index", 0) != 0;
  return with_number(args.inputs[0].dtype, [&]<typename T>(Type<T>) {
    const T* x = args.inputs[0].as<T>().data();
    auto y = args.outputs[0].as<int64_t>();
    for (int64_t o = 0; o < split.outer; ++o) {
      for (int64_t i = 0; i < split.inner; ++i) {
        const T* line = x + o * split.extent * split.inner + i;
        int64_t best = 0;
        for (int64_t k = 1; k < split.extent; ++k) {
          T candidate = line[k * split.inner];
          T champion = line[best * split.inner];
          if (last ? !is_more_extreme(champion, candidate, greatest) : is_more_extreme(candidate, champion, greatest)) {
            best = k;
          }
        }
        y[static_cast<size_t>(o * split.inner + i)] = best;
      }
    }
    return Status::ok();
  });
}

}  // namespace

Status kernel_ArgMax(const KernelArgs& args) {
  return arg_extreme(args, true);
}
Status kernel_ArgMin(const KernelArgs& args) {
  return arg_extreme(args, false);
}

}  // namespace collage::runtime
