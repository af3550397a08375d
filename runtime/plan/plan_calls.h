// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "runtime/plan/plan.h"

namespace collage::runtime {

/// Calls `visit` with every call of a compiled kernel in the plan.
template <typename Visit>
void for_each_kernel_call(const Plan& plan, const Visit& visit) {
  for (const Step& step : plan.steps) {
    if (const auto* convert = std::get_if<ConvertStep>(&step); convert != nullptr && convert->kernel)
      visit(*convert->kernel);
    const auto* host = std::get_if<HostStep>(&step);
    if (host == nullptr) continue;
    for (const HostCall& call : host->calls) {
      if (const auto* kernel = std::get_if<KernelCall>(&call)) visit(*kernel);
    }
  }
}

/// Calls `visit` with every call of a library in the plan, after the partition that makes it.
template <typename Visit>
void for_each_library_call(const Plan& plan, const Visit& visit) {
  for (const Step& step : plan.steps) {
    if (const auto* library = std::get_if<LibraryStep>(&step)) visit(library->partition, library->call);
    const auto* host = std::get_if<HostStep>(&step);
    if (host == nullptr) continue;
    for (const HostCall& call : host->calls) {
      if (const auto* library = std::get_if<LibraryCall>(&call)) visit(host->partition, *library);
    }
  }
}

/// Calls `visit` with the name of every library that the plan needs, as often as it is named.
template <typename Visit>
void for_each_library(const Plan& plan, const Visit& visit) {
  for_each_library_call(plan, [&](int, const LibraryCall& call) { visit(call.library); });
}

}  // namespace collage::runtime
