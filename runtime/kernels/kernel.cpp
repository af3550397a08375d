// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/kernel.h"

#include <algorithm>
#include <iterator>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/widen.h"

namespace collage::runtime {
namespace {

struct Row {
  std::string_view name;
  ReferenceKernel::Function function;
  bool sees_narrow;
};

constexpr Row kRows[] = {
#define KERNEL(name) {#name, kernel_##name, false},
#define RAW_KERNEL(name) {#name, kernel_##name, true},
#include "runtime/kernels/kernels.def"
#undef KERNEL
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::name), "kernels.def is sorted by name");

}  // namespace

Status ReferenceKernel::operator()(const KernelArgs& args) const {
  return !sees_narrow_ && has_narrow_floats(args) ? run_widened(function_, args) : function_(args);
}

ReferenceKernel find_reference_kernel(std::string_view op) {
  const Row* row = std::ranges::lower_bound(kRows, op, {}, &Row::name);
  if (row == std::end(kRows) || row->name != op) return {};
  return {row->function, row->sees_narrow};
}

std::vector<std::string_view> reference_kernel_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace collage::runtime
