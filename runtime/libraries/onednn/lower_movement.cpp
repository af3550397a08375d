// SPDX-License-Identifier: Apache-2.0
// Other shapes and orders of the same elements. Where the layout permits they cost nothing: the result is a view.
#include <algorithm>

#include "runtime/libraries/onednn/lowering.h"

namespace collage::runtime::onednn {

/// Reshape and its kin: inference knows the result's shape already.
Status lower_reshape(Builder& b, int index) {
  int x = b.input(index, 0);
  const Shape& to = b.shape(b.op(index).outputs[0]);
  if (element_count(to) != element_count(b.shape(x))) return Status::error("its result has another size");
  b.define_view(index, b.viewed(x, plain_desc(to).dims()));
  return Status::ok();
}

Status lower_transpose(Builder& b, int index) {
  int x = b.input(index, 0);
  size_t rank = b.shape(x).size();
  Ints order = b.op(index).attrs.get_ints("perm");
  if (order.empty()) {
    for (size_t d = rank; d-- > 0;) order.push_back(static_cast<int64_t>(d));
  }
  std::vector<bool> seen(rank, false);
  bool is_permutation = order.size() == rank && std::all_of(order.begin(), order.end(), [&](int64_t d) {
                          if (d < 0 || static_cast<size_t>(d) >= rank || seen[static_cast<size_t>(d)]) return false;
                          seen[static_cast<size_t>(d)] = true;
                          return true;
                        });
  if (!is_permutation) return Status::error("`perm` is no permutation");
  Stored source = b.stored(x);
  if (rank > 1) source.desc = transposed(source.desc, order);
  b.define_view(index, source);
  return Status::ok();
}

/// All parts in one layout: that of the first if every part has it, otherwise plain.
Status lower_concat(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  const Shape& to = b.shape(op.outputs[0]);
  auto rank = static_cast<int64_t>(to.size());
  int64_t axis = op.attrs.get_int("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return Status::error("`axis` is out of range");
  std::vector<Stored> parts;
  for (int id : op.inputs) {
    if (id < 0 || b.value(id).dtype != DType::F32) return Status::error("a part that is no f32 tensor");
    parts.push_back(b.stored(id));
  }
  std::string layout = layout_text(parts[0].desc);
  bool is_common = std::all_of(parts.begin(), parts.end(), [&](const Stored& part) {
    return layout_text(part.desc) == layout &&
           std::equal(part.desc.data.dims, part.desc.data.dims + part.desc.data.ndims, part.desc.data.padded_dims);
  });
  for (Stored& part : parts) {
    if (!is_common) part = b.converted(part, plain_desc(part.desc.dims()));
  }
  std::vector<Desc> sources;
  for (const Stored& part : parts) sources.push_back(part.desc);
  Head head;
  head.name = "concat";
  head.dims = to;
  head.fuses = false;
  head.reference_ok = true;
  head.make = [=](const Desc&, const dnnl::primitive_attr& attr) -> dnnl::primitive_desc_base {
    return dnnl::concat::primitive_desc(static_cast<int>(axis), sources, cpu_engine(), attr);
  };
  head.operands = [=](const dnnl::primitive_desc_base&) {
    std::vector<Argument> arguments;
    for (size_t i = 0; i < parts.size(); ++i)
      arguments.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), parts[i]});
    return arguments;
  };
  return b.emit(index, head);
}

/// Each part is copied out of the whole, so that what reads it finds dense memory.
Status lower_split(Builder& b, int index) {
  const LibraryOp& op = b.op(index);
  int x = b.input(index, 0);
  auto rank = static_cast<int64_t>(b.shape(x).size());
  int64_t axis = op.attrs.get_int("axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return Status::error("`axis` is out of range");
  Stored whole = b.plain(x);
  Dims at(static_cast<size_t>(rank), 0);
  std::vector<Stored> parts;
  for (int id : op.outputs) {
    if (id < 0) return Status::error("a part that is not named");
    Dims dims = b.shape(id);
    Desc part = whole.desc.submemory_desc(dims, at);
    parts.push_back(b.converted({whole.slot, part}, plain_desc(dims)));
    at[static_cast<size_t>(axis)] += dims[static_cast<size_t>(axis)];
  }
  b.define_views(index, parts);
  return Status::ok();
}

}  // namespace collage::runtime::onednn
