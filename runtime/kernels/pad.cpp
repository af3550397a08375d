// SPDX-License-Identifier: Apache-2.0
// Pad: per dimension, which input index an output index shows, or none for the constant border.
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"

namespace collage::runtime {
namespace {

constexpr int64_t kOutside = -1;

/// [begin, end) is what negative pads leave of the dimension: a border repeats nothing else.
int64_t source_index(int64_t index, int64_t begin, int64_t end, const std::string& mode) {
  if (index >= begin && index < end) return index;
  if (mode == "edge") return std::clamp<int64_t>(index, begin, end - 1);
  if (mode == "reflect") return index < begin ? 2 * begin - index : 2 * (end - 1) - index;
  if (mode == "wrap") {
    int64_t rest = (index - begin) % (end - begin);
    return begin + (rest < 0 ? rest + end - begin : rest);
  }
  return kOutside;
}

template <typename T>
Status pad(const KernelArgs& args) {
  const TensorView& from = args.inputs[0];
  const TensorView& to = args.outputs[0];
  size_t rank = from.shape.size();
  std::string mode = args.attrs.get_string("mode", "constant");
  T fill = args.input(2).is_absent() ? T(0) : args.input(2).as<T>()[0];
  std::vector<int64_t> strides = row_major_strides(from.shape);
  // Offset of the source element per dimension and output index; kOutside where there is none.
  std::vector<std::vector<int64_t>> sources(rank);
  for (size_t d = 0; d < rank; ++d) {
    int64_t begin = element_as_int(args.inputs[1], static_cast<int64_t>(d));
    int64_t end = element_as_int(args.inputs[1], static_cast<int64_t>(d + rank));
    for (int64_t i = 0; i < to.shape[d]; ++i) {
      int64_t source =
          source_index(i - begin, std::max<int64_t>(0, -begin), from.shape[d] + std::min<int64_t>(0, end), mode);
      sources[d].push_back(source == kOutside ? kOutside : source * strides[d]);
    }
  }
  const T* x = from.as<T>().data();
  auto y = to.as<T>();
  std::vector<size_t> position(rank, 0);
  for (T& element : y) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank && offset != kOutside; ++d) {
      int64_t source = sources[d][position[d]];
      offset = source == kOutside ? kOutside : offset + source;
    }
    element = offset == kOutside ? fill : x[offset];
    for (size_t d = rank; d-- > 0 && ++position[d] == sources[d].size();) position[d] = 0;
  }
  return Status::ok();
}

}  // namespace

Status kernel_Pad(const KernelArgs& args) {
  return with_width(args.outputs[0].dtype, [&]<typename T>(Type<T>) { return pad<T>(args); });
}

}  // namespace collage::runtime
