// SPDX-License-Identifier: Apache-2.0
// `load` gives every slot its memory, creates the primitives and packs the weights; `run` only executes.
//
// Scratch slots share one arena: a slot takes the lowest gap between those that live at the same stages. Primitives
// share one piece of temporary memory, the largest that any of them needs.
#include "runtime/libraries/onednn/kernel.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/core/checked_size.h"
#include "runtime/libraries/onednn/builder.h"
#include "runtime/pool/pool.h"

namespace collage::runtime::onednn {
namespace {

struct Lifetime {
  int first = -1;  ///< stage; -1: never used
  int last = -1;
};

struct Call {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
};

/// Memory of a boundary value: its address is known at each run.
struct Boundary {
  bool is_output = false;
  size_t index = 0;
  dnnl::memory memory;
};

class Kernel : public LibraryKernel {
 public:
  Kernel(Schedule schedule, int threads) : schedule_(std::move(schedule)), threads_(threads) {}

  Status load() override;
  Status run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) override;
  std::vector<std::string> describe() const override;

 private:
  void allocate();
  std::byte* address(int slot) const { return addresses_[static_cast<size_t>(slot)]; }
  Call bind(const Stage& stage);

  Schedule schedule_;
  int threads_;
  Tensor arena_;
  Tensor temporary_;
  std::vector<Tensor> packed_;
  std::vector<std::byte*> addresses_;  ///< by slot; null: boundary
  std::vector<Boundary> boundary_;
  std::vector<Call> calls_;
  dnnl::stream stream_;
};

std::vector<Lifetime> lifetimes(const Schedule& schedule) {
  std::vector<Lifetime> lives(schedule.slots.size());
  for (size_t s = 0; s < schedule.stages.size(); ++s) {
    for (const Argument& argument : schedule.stages[s].arguments) {
      Lifetime& life = lives[static_cast<size_t>(argument.memory.slot)];
      if (life.first < 0) life.first = static_cast<int>(s);
      life.last = static_cast<int>(s);
    }
  }
  return lives;
}

Tensor bytes(size_t count) {
  return {DType::U8, {static_cast<int64_t>(count)}};
}

void Kernel::allocate() {
  std::vector<Lifetime> lives = lifetimes(schedule_);
  std::vector<size_t> order, offsets(schedule_.slots.size(), 0);
  for (size_t s = 0; s < schedule_.slots.size(); ++s) {
    if (schedule_.slots[s].kind == Slot::Kind::Scratch && lives[s].first >= 0) order.push_back(s);
  }
  auto size_of_slot = [&](size_t s) { return align_up(schedule_.slots[s].bytes, kTensorAlignment); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return size_of_slot(a) > size_of_slot(b); });
  size_t total = 0;
  std::vector<size_t> placed;  // by offset
  for (size_t s : order) {
    size_t at = 0;
    for (size_t other : placed) {
      if (lives[s].first > lives[other].last || lives[other].first > lives[s].last) continue;
      if (offsets[other] >= at + size_of_slot(s)) break;
      at = std::max(at, offsets[other] + size_of_slot(other));
    }
    offsets[s] = at;
    total = std::max(total, at + size_of_slot(s));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), s, [&](size_t a, size_t b) { return offsets[a] < offsets[b]; }),
        s);
  }
  arena_ = bytes(total);
  size_t most = 0;
  for (const Stage& stage : schedule_.stages)
    most = std::max(most, stage.primitive.query_md(dnnl::query::scratchpad_md, 0).get_size());
  temporary_ = bytes(most);

  addresses_.assign(schedule_.slots.size(), nullptr);
  for (size_t s = 0; s < schedule_.slots.size(); ++s) {
    const Slot& slot = schedule_.slots[s];
    if (slot.kind == Slot::Kind::Scratch) addresses_[s] = arena_.data() + offsets[s];
    if (slot.kind == Slot::Kind::Constant) addresses_[s] = slot.constant.data();
    if (slot.kind == Slot::Kind::Packed) addresses_[s] = packed_.emplace_back(bytes(slot.bytes)).data();
  }
}

Call Kernel::bind(const Stage& stage) {
  Call call;
  call.primitive = dnnl::primitive(stage.primitive.get());
  for (const Argument& argument : stage.arguments) {
    const Slot& slot = schedule_.slots[static_cast<size_t>(argument.memory.slot)];
    dnnl::memory memory(argument.memory.desc, cpu_engine(), address(argument.memory.slot));
    bool is_output = slot.kind == Slot::Kind::Output;
    if (is_output || slot.kind == Slot::Kind::Input) boundary_.push_back({is_output, slot.index, memory});
    call.arguments.emplace(argument.name, std::move(memory));
  }
  Desc temporary = stage.primitive.query_md(dnnl::query::scratchpad_md, 0);
  if (temporary.get_size() > 0)
    call.arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(temporary, cpu_engine(), temporary_.data()));
  return call;
}

Status Kernel::load() {
  try {
    ThreadScope scope(threads_);
    allocate();
    stream_ = dnnl::stream(cpu_engine());
    for (const Stage& stage : schedule_.stages) {
      Call call = bind(stage);
      if (!stage.at_load) {
        calls_.push_back(std::move(call));
        continue;
      }
      call.primitive.execute(stream_, call.arguments);
      stream_.wait();
    }
    // Constants that only were packed are not needed any more.
    std::vector<bool> is_read(schedule_.slots.size(), false);
    for (const Stage& stage : schedule_.stages) {
      for (const Argument& argument : stage.arguments)
        if (!stage.at_load) is_read[static_cast<size_t>(argument.memory.slot)] = true;
    }
    for (size_t s = 0; s < schedule_.slots.size(); ++s) {
      if (!is_read[s]) schedule_.slots[s].constant = Tensor();
    }
    return Status::ok();
  } catch (const dnnl::error& error) {
    return Status::error(std::string("onednn: ") + error.message);
  }
}

Status Kernel::run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) {
  try {
    ThreadScope scope(threads_);
    for (Boundary& value : boundary_) {
      std::byte* at = value.is_output ? outputs[value.index] : inputs[value.index];
      if (value.memory.get_data_handle() != at) value.memory.set_data_handle(at);
    }
    for (Call& call : calls_) call.primitive.execute(stream_, call.arguments);
    stream_.wait();
    return Status::ok();
  } catch (const dnnl::error& error) {
    return Status::error(std::string("onednn: ") + error.message);
  }
}

std::vector<std::string> Kernel::describe() const {
  std::vector<std::string> lines;
  for (const Stage& stage : schedule_.stages) {
    if (!stage.at_load) lines.push_back(stage.text);
  }
  return lines;
}

}  // namespace

std::unique_ptr<LibraryKernel> make_kernel(Schedule schedule, int threads) {
  return std::make_unique<Kernel>(std::move(schedule), threads);
}

}  // namespace collage::runtime::onednn
