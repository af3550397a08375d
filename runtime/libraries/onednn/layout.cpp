// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/onednn/layout.h"

#include <algorithm>
#include <numeric>

namespace collage::runtime::onednn {
namespace {

const dnnl_blocking_desc_t& blocking(const Desc& desc) {
  return desc.data.format_desc.blocking;
}

bool is_strided(const Desc& desc) {
  return desc.data.format_kind == dnnl_blocked && blocking(desc).inner_nblks == 0 && desc.data.extra.flags == 0 &&
         std::equal(desc.data.dims, desc.data.dims + desc.data.ndims, desc.data.padded_dims);
}

/// Dimensions that only differ in how a run of elements is counted form a group, `from` and `dims` alike. A group can
/// be counted anew where its elements lie evenly. Dimensions of extent 1 belong to none and get the stride that they
/// have in a row-major tensor: primitives compare strides, of these too.
///
///     [2, 6, 1, 1] with strides 6, 1, 6, 6 as [12, 1]   =>   1, 1
std::optional<Dims> reshaped_strides(const Desc& desc, const Dims& dims) {
  Dims from, steps;
  for (int d = 0; d < desc.data.ndims; ++d) {
    if (desc.data.dims[d] == 1) continue;
    from.push_back(desc.data.dims[d]);
    steps.push_back(blocking(desc).strides[d]);
  }
  Dims strides(dims.size(), 0);
  size_t i = from.size(), j = dims.size();
  while (true) {
    while (j > 0 && dims[j - 1] == 1) --j;
    if (i == 0 || j == 0) break;
    int64_t step = steps[i - 1], left = from[i - 1], right = dims[j - 1];
    strides[j - 1] = step;
    --i, --j;
    while (left != right) {
      if (left < right) {
        if (i == 0 || steps[i - 1] != step * left) return std::nullopt;
        left *= from[--i];
      } else {
        if (j == 0) return std::nullopt;
        strides[j - 1] = step * right;
        right *= dims[--j];
      }
    }
  }
  if (i != j) return std::nullopt;  // another number of elements
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 1) strides[d] = d + 1 < dims.size() ? strides[d + 1] * dims[d + 1] : 1;
  }
  return strides;
}

}  // namespace

Desc plain_desc(const Shape& shape) {
  Dims dims(shape.begin(), shape.end());
  if (dims.empty()) dims.push_back(1);
  return {dims, dnnl::memory::data_type::f32, row_major_strides(dims)};
}

Desc any_desc(const Dims& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

Desc desc_of(const Shape& shape, std::string_view layout) {
  std::optional<std::vector<int>> lies = layout_permutation(layout, shape.size());
  if (layout == kPlainLayout || !lies) return plain_desc(shape);
  Dims dims(shape.begin(), shape.end()), strides(shape.size());
  int64_t stride = 1;
  for (size_t i = lies->size(); i-- > 0;) {
    auto logical = static_cast<size_t>((*lies)[i]);
    strides[logical] = stride;
    stride *= dims[logical];
  }
  return {dims, dnnl::memory::data_type::f32, strides};
}

namespace {

/// Primitives compare strides, also those of extents of 1, which are arbitrary: made plain or channels last if
/// possible.
Desc canonical(const Desc& desc) {
  for (std::string_view layout : {kPlainLayout, kChannelsLast}) {
    Desc known = desc_of(desc.dims(), layout_of_rank(layout, static_cast<size_t>(desc.data.ndims)));
    if (same_layout(desc, known)) return known;
  }
  return desc;
}

}  // namespace

std::optional<Desc> reshaped(const Desc& desc, const Dims& dims) {
  if (desc.dims() == dims) return desc;
  if (is_strided(desc)) {
    std::optional<Dims> strides = reshaped_strides(desc, dims);
    if (!strides) return std::nullopt;
    Desc view(dims, dnnl::memory::data_type::f32, *strides);
    view.data.offset0 = desc.data.offset0;
    return canonical(view);
  }
  // oneDNN drops a blocked dimension of extent 1 with its padding.
  bool is_padded = !std::equal(desc.data.dims, desc.data.dims + desc.data.ndims, desc.data.padded_dims);
  if (is_padded || desc.data.format_kind != dnnl_blocked) return std::nullopt;
  Desc view = desc.reshape(dims, true);
  if (view.is_zero()) return std::nullopt;
  return view;
}

Desc transposed(const Desc& desc, const std::vector<int64_t>& order) {
  std::vector<int> to(order.size());  // oneDNN expects the target position of each dimension
  for (size_t d = 0; d < order.size(); ++d) to[static_cast<size_t>(order[d])] = static_cast<int>(d);
  return canonical(desc.permute_axes(to));
}

bool same_layout(const Desc& a, const Desc& b) {
  if (a == b) return true;
  if (!is_strided(a) || !is_strided(b) || a.dims() != b.dims() || a.data.data_type != b.data.data_type ||
      a.data.offset0 != b.data.offset0) {
    return false;
  }
  for (int d = 0; d < a.data.ndims; ++d) {
    if (a.data.dims[d] > 1 && blocking(a).strides[d] != blocking(b).strides[d]) return false;
  }
  return true;
}

std::string layout_text(const Desc& desc) {
  if (desc.data.format_kind != dnnl_blocked) return "packed";
  const dnnl_blocking_desc_t& blocks = blocking(desc);
  std::vector<int> order(static_cast<size_t>(desc.data.ndims));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return blocks.strides[a] > blocks.strides[b]; });
  std::string text;
  for (int d : order) {
    bool is_blocked = std::find(blocks.inner_idxs, blocks.inner_idxs + blocks.inner_nblks, d) !=
                      blocks.inner_idxs + blocks.inner_nblks;
    text += static_cast<char>((is_blocked ? 'A' : 'a') + d);
  }
  for (int b = 0; b < blocks.inner_nblks; ++b) {
    text += std::to_string(blocks.inner_blks[b]) + static_cast<char>('a' + blocks.inner_idxs[b]);
  }
  return text;
}

}  // namespace collage::runtime::onednn
