// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/kernel.h"

#include <algorithm>
#include <iterator>

#include "runtime/kernels/kernels.h"

namespace collage::runtime {
namespace {

struct Row {
  std::string_view name;
  ReferenceKernel kernel;
};

constexpr Row kRows[] = {
#define KERNEL(name) {#name, kernel_##name},
#include "runtime/kernels/kernels.def"
#undef KERNEL
};

static_assert(std::ranges::is_sorted(kRows, {}, &Row::name), "kernels.def is sorted by name");

}  // namespace

ReferenceKernel find_reference_kernel(std::string_view op) {
  const Row* row = std::ranges::lower_bound(kRows, op, {}, &Row::name);
  return row != std::end(kRows) && row->name == op ? row->kernel : nullptr;
}

std::vector<std::string_view> reference_kernel_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace collage::runtime
