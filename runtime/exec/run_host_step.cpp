// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/run_host_step.h"

#include <algorithm>
#include <chrono>

#include "runtime/core/external_functions.h"
#include "runtime/devices/run_reference.h"
#include "runtime/kernels/kernel.h"
#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

Status run_call(const BoundKernel& kernel, const HostThreads& threads) {
  const auto body = [&](int64_t begin, int64_t end, int part) {
    kernel.function(kernel.buffers[static_cast<size_t>(part)].data(), external_table(), begin, end);
  };
  return parallel_for(kernel.extent, kernel.grain, threads.count, body, threads.workers);
}

/// The failure of a check names the operator whose index is wrong.
Status run_call(const BoundOp& op, const HostThreads&) {
  if (op.call->checked.empty()) return run_reference(op.call->op, op.call->attrs, op.inputs, op.outputs);
  Status status = find_reference_kernel(op.call->op)({op.inputs, op.outputs, op.call->attrs});
  return status ? status : Status::error("`" + op.call->checked + "`: " + status.message());
}

Status run_call(const BoundLibrary& library, const HostThreads&) {
  return library.kernel->run(library.inputs, library.outputs);
}

Status run_call(const BoundRewrite& change, const HostThreads&) {
  const StoredTensor& from = change.from->tensor;
  if (element_count(from.shape) > 0) {
    rewrite(from.dtype, from.shape, change.source, from.form, change.target, change.to->tensor.form);
  }
  return Status::ok();
}

}  // namespace

bool uses_openmp(const BoundHostStep& step) {
  return std::any_of(step.calls.begin(), step.calls.end(), [](const auto& call) {
    const auto* op = std::get_if<BoundOp>(&call);
    return std::holds_alternative<BoundLibrary>(call) || (op != nullptr && op->call->checked.empty());
  });
}

Status run_host_step(const BoundHostStep& step, const HostThreads& threads, std::vector<double>* call_seconds) {
  using Clock = std::chrono::steady_clock;
  for (const auto& any : step.calls) {
    const Clock::time_point start = call_seconds != nullptr ? Clock::now() : Clock::time_point();
    Status status = std::visit([&](const auto& call) { return run_call(call, threads); }, any);
    if (!status) return status;
    if (call_seconds != nullptr) {
      call_seconds->push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
  }
  return Status::ok();
}

}  // namespace collage::runtime
