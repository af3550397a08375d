// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/kernel.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

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

struct DataDependentRow {
  std::string_view name;
  DataDependentKernel kernel;
};

constexpr DataDependentRow kDataDependentRows[] = {
#define KERNEL(name)
#define DATA_DEPENDENT_KERNEL(name) {#name, results_of_##name},
#include "runtime/kernels/kernels.def"
#undef KERNEL
};

/// Writes the results into outputs that were allocated before. They may have other shapes if the operands are not the
/// constants that inference saw.
Status write_results(DataDependentKernel kernel, const KernelArgs& args) {
  Result<std::vector<Tensor>> results = kernel(args.inputs, args.attrs);
  if (!results) return results.status();
  for (size_t i = 0; i < results->size(); ++i) {
    const TensorView output = args.output(i);
    const Tensor& result = (*results)[i];
    if (output.is_absent()) continue;
    if (result.dtype() != output.dtype || result.shape() != output.shape) {
      return Status::error("result " + std::to_string(i) + " has shape " + to_string(result.shape()) + ", not " +
                           to_string(output.shape) + " as with the operands that were known before");
    }
    if (result.bytes() > 0) std::memcpy(output.data, result.data(), result.bytes());
  }
  return Status::ok();
}

}  // namespace

Status ReferenceKernel::operator()(const KernelArgs& args) const {
  return !sees_narrow_ && has_narrow_floats(args) ? run_widened(function_, args) : function_(args);
}

#define KERNEL(name)
#define DATA_DEPENDENT_KERNEL(name)                \
  Status kernel_##name(const KernelArgs& args) {   \
    return write_results(results_of_##name, args); \
  }
#include "runtime/kernels/kernels.def"
#undef KERNEL

DataDependentKernel find_data_dependent_kernel(std::string_view op) {
  const DataDependentRow* row = std::ranges::find(kDataDependentRows, op, &DataDependentRow::name);
  return row != std::end(kDataDependentRows) ? row->kernel : nullptr;
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
