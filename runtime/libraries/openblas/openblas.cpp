// SPDX-License-Identifier: Apache-2.0
// OpenBLAS as a library: each operator is one call, nothing is fused, weights are used unchanged.
//
// The OpenMP build takes its threads from the one pool. Their number is global to the process: runs with equal numbers
// go on at once, others wait for them.
#include <cblas.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "runtime/libraries/library.h"
#include "runtime/libraries/openblas/call.h"
#include "runtime/libraries/part_clock.h"
#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

using openblas::Addresses;
using openblas::Call;

/// Guards the number of threads of OpenBLAS.
class ThreadNumber {
 public:
  static ThreadNumber& of_process() {
    static ThreadNumber number;
    return number;
  }

  void take(int threads) {
    std::unique_lock lock(mutex_);
    free_.wait(lock, [&] { return runs_ == 0 || threads_ == threads; });
    if (runs_++ > 0) return;
    threads_ = threads;
    openblas_set_num_threads(threads);
  }
  void leave() {
    std::lock_guard lock(mutex_);
    if (--runs_ == 0) free_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  int threads_ = 0;
  int runs_ = 0;
};

/// While it lives, OpenBLAS has this many threads.
class ThreadNumberScope {
 public:
  explicit ThreadNumberScope(int threads) { ThreadNumber::of_process().take(threads); }
  ~ThreadNumberScope() { ThreadNumber::of_process().leave(); }
  ThreadNumberScope(const ThreadNumberScope&) = delete;
  ThreadNumberScope& operator=(const ThreadNumberScope&) = delete;
};

/// What no run changes.
struct Loaded {
  LibraryProgram program;
  std::vector<Call> calls;
};

class Kernel : public LibraryKernel {
 public:
  Kernel(std::shared_ptr<const Loaded> loaded, int threads) : loaded_(std::move(loaded)), threads_(threads) {}

  Status load() override {
    const LibraryProgram& program = loaded_->program;
    std::vector<bool> is_boundary(program.values.size(), false);
    for (const auto* boundary : {&program.inputs, &program.outputs}) {
      for (int id : *boundary) is_boundary[static_cast<size_t>(id)] = true;
    }
    for (size_t v = 0; v < program.values.size(); ++v) {
      const LibraryValue& value = program.values[v];
      bool is_inside = value.constant.is_empty_handle() && !is_boundary[v];
      memory_.push_back(is_inside ? Tensor(value.dtype, value.shape) : value.constant);
    }
    size_t most = 0;
    for (const Call& call : loaded_->calls) most = std::max(most, call.scratch_elements);
    scratch_ = Tensor(DType::F32, {static_cast<int64_t>(most)});
    return Status::ok();
  }

  bool shares() const override { return true; }
  Result<std::unique_ptr<LibraryKernel>> share() const override {
    std::unique_ptr<LibraryKernel> other = std::make_unique<Kernel>(loaded_, threads_);
    if (Status status = other->load(); !status) return status;
    return other;
  }

  Status run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) override {
    ThreadScope scope(threads_);
    ThreadNumberScope number(threads_);
    const LibraryProgram& program = loaded_->program;
    std::vector<float*> at;
    for (const Tensor& tensor : memory_) at.push_back(reinterpret_cast<float*>(tensor.data()));
    auto set = [&](int value, std::byte* data) { at[static_cast<size_t>(value)] = reinterpret_cast<float*>(data); };
    for (size_t i = 0; i < inputs.size(); ++i) set(program.inputs[i], inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i) set(program.outputs[i], outputs[i]);
    PartClock clock(part_seconds());
    for (size_t i = 0; i < loaded_->calls.size(); ++i) {
      Addresses addresses;
      for (int id : program.ops[i].inputs) addresses.inputs.push_back(id < 0 ? nullptr : at[static_cast<size_t>(id)]);
      addresses.scratch = scratch_.as<float>().data();
      addresses.output = at[static_cast<size_t>(program.ops[i].outputs[0])];
      if (Status status = loaded_->calls[i].run(addresses); !status) return status;
      clock.next();
    }
    return Status::ok();
  }

  std::optional<KeptConstants> kept() const override {
    KeptConstants kept;
    for (const LibraryValue& value : loaded_->program.values) {
      if (!value.constant.is_empty_handle()) kept.as_given.push_back(value.constant);
    }
    return kept;
  }

  std::vector<LibraryPart> parts() const override {
    std::vector<LibraryPart> parts;
    for (const Call& call : loaded_->calls) parts.push_back({call.text, static_cast<int>(parts.size())});
    return parts;
  }

 private:
  std::shared_ptr<const Loaded> loaded_;
  int threads_;
  std::vector<Tensor> memory_;  ///< by value: constants, and values that stay inside; boundary values are given
  Tensor scratch_;
};

/// Legal operands: at least two, f32, with elements.
Status check(const LibraryProgram& program, const LibraryOp& op) {
  if (op.inputs.size() < 2 || op.inputs[0] < 0 || op.inputs[1] < 0 || op.outputs.size() != 1 || op.outputs[0] < 0)
    return Status::error("it lacks operands");
  std::vector<int> all = op.inputs;
  all.push_back(op.outputs[0]);
  for (int id : all) {
    if (id < 0) continue;
    const LibraryValue& value = program.values[static_cast<size_t>(id)];
    if (value.dtype != DType::F32)
      return Status::error("dtype " + std::string(name_of(value.dtype)) + ", only f32 is supported");
    if (element_count(value.shape) == 0) return Status::error("a tensor without elements");
  }
  return Status::ok();
}

Result<Call> make_call(const LibraryProgram& program, const LibraryOp& op, int threads) {
  if (op.op != "Gemm" && op.op != "MatMul" && op.op != "Conv") return Status::error("no routine computes it");
  if (Status status = check(program, op); !status) return status;
  return op.op == "Conv" ? openblas::make_convolution(program, op, threads) : openblas::make_product(program, op);
}

}  // namespace

Result<std::unique_ptr<LibraryKernel>> prepare_openblas(const LibraryProgram& program, int threads) {
  std::vector<Call> calls;
  for (const LibraryOp& op : program.ops) {
    Result<Call> call = make_call(program, op, threads);
    if (!call) return Status::error("`" + op.op + "`: " + call.message());
    calls.push_back(std::move(*call));
  }
  auto loaded = std::make_shared<const Loaded>(Loaded{program, std::move(calls)});
  return std::unique_ptr<LibraryKernel>(std::make_unique<Kernel>(std::move(loaded), threads));
}

std::string version_of_openblas() {
  return openblas_get_config();
}

}  // namespace collage::runtime
