// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/layout/layout_classes.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/layout.h"

namespace collage::codegen {

using ir::ValueId;
using runtime::Status;

void LayoutClasses::tie(ValueId a, ValueId b) {
  const ValueId x = root(a), y = root(b);
  if (x != y) parents_[std::max(x, y)] = std::min(x, y);
}

Status LayoutClasses::resolve(const std::vector<ValueId>& boundary, const std::vector<ValueId>& inside) {
  for (ValueId value : plain_) {
    if (Status status = assign(value, std::string(runtime::kPlainLayout)); !status) return status;
  }
  for (ValueId value : boundary) {
    if (is_free(value)) continue;
    const auto given = given_.find(value);
    const std::string layout = given == given_.end() ? std::string(runtime::kPlainLayout) : given->second;
    if (Status status = assign(value, layout); !status) return status;
  }
  for (ValueId value : inside) {
    const size_t rank = graph_.value(value).type.shape.size();
    if (of_class_.contains(root(value)) || rank < 3 || rank > 5) continue;
    of_class_[root(value)] = runtime::layout_of_rank(runtime::kChannelsLast, rank);
  }
  return Status::ok();
}

bool LayoutClasses::is_free(ValueId value) const {
  const ir::Shape& shape = graph_.value(value).type.shape;
  return shape.size() >= 3 && shape.size() <= 5 &&
         runtime::lies_plainly(runtime::layout_of_rank(runtime::kChannelsLast, shape.size()), shape);
}

std::string LayoutClasses::of(ValueId value) const {
  const auto found = of_class_.find(root(value));
  return found == of_class_.end() ? std::string(runtime::kPlainLayout) : found->second;
}

ValueId LayoutClasses::root(ValueId value) const {
  auto parent = parents_.find(value);
  while (parent != parents_.end()) {
    value = parent->second;
    parent = parents_.find(value);
  }
  return value;
}

Status LayoutClasses::assign(ValueId value, const std::string& layout) {
  const auto [found, is_new] = of_class_.emplace(root(value), layout);
  if (is_new || found->second == layout) return Status::ok();
  return Status::error(
      fmt::format("`%{}` is {} and would have to be {}", graph_.value(value).name, layout, found->second));
}

}  // namespace collage::codegen
