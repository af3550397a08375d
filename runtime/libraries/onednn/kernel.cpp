// SPDX-License-Identifier: Apache-2.0
// `load` gives every slot its memory, creates the primitives and packs the weights; `run` only executes. Kernels that
// share have the primitives and the weights in common.
//
// Scratch slots share one arena: a slot takes the lowest gap between those that live at the same stages. Primitives
// share one piece of temporary memory, the largest that any of them needs.
#include "runtime/libraries/onednn/kernel.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/core/checked_size.h"
#include "runtime/libraries/onednn/builder.h"
#include "runtime/libraries/part_clock.h"
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

/// What no run changes.
struct Loaded {
  Schedule schedule;
  std::vector<Tensor> packed{};               ///< by slot; empty: not packed
  std::vector<dnnl::primitive> primitives{};  ///< by stage
  std::vector<size_t> offsets{};              ///< of scratch slots in the arena
  size_t arena_bytes = 0, temporary_bytes = 0;
};

class Kernel : public LibraryKernel {
 public:
  Kernel(std::shared_ptr<Loaded> loaded, int threads) : loaded_(std::move(loaded)), threads_(threads) {}

  Status load() override;
  bool shares() const override { return true; }
  Result<std::unique_ptr<LibraryKernel>> share() const override;
  Status run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) override;
  std::optional<KeptConstants> kept() const override;
  std::vector<LibraryPart> parts() const override;

 private:
  void allocate();
  Call bind(size_t stage);

  std::shared_ptr<Loaded> loaded_;
  int threads_;
  Tensor arena_;
  Tensor temporary_;
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

/// By slot: whether a run reads it.
std::vector<bool> read_in_runs(const Schedule& schedule) {
  std::vector<bool> is_read(schedule.slots.size(), false);
  for (const Stage& stage : schedule.stages) {
    for (const Argument& argument : stage.arguments)
      if (!stage.at_load) is_read[static_cast<size_t>(argument.memory.slot)] = true;
  }
  return is_read;
}

Tensor bytes(size_t count) {
  return {DType::U8, {static_cast<int64_t>(count)}};
}

/// Places scratch slots in the arena.
void place_scratch(Loaded* loaded) {
  const Schedule& schedule = loaded->schedule;
  std::vector<Lifetime> lives = lifetimes(schedule);
  std::vector<size_t> order, offsets(schedule.slots.size(), 0);
  for (size_t s = 0; s < schedule.slots.size(); ++s) {
    if (schedule.slots[s].kind == Slot::Kind::Scratch && lives[s].first >= 0) order.push_back(s);
  }
  auto size_of_slot = [&](size_t s) { return align_up(schedule.slots[s].bytes, kTensorAlignment); };
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
  loaded->offsets = std::move(offsets);
  loaded->arena_bytes = total;
  for (const Stage& stage : schedule.stages) {
    const size_t bytes = stage.primitive.query_md(dnnl::query::scratchpad_md, 0).get_size();
    loaded->temporary_bytes = std::max(loaded->temporary_bytes, bytes);
  }
}

void Kernel::allocate() {
  const std::vector<Slot>& slots = loaded_->schedule.slots;
  arena_ = bytes(loaded_->arena_bytes);
  temporary_ = bytes(loaded_->temporary_bytes);
  addresses_.assign(slots.size(), nullptr);
  for (size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].kind == Slot::Kind::Scratch) addresses_[s] = arena_.data() + loaded_->offsets[s];
    if (slots[s].kind == Slot::Kind::Constant) addresses_[s] = slots[s].constant.data();
    if (slots[s].kind == Slot::Kind::Packed) addresses_[s] = loaded_->packed[s].data();
  }
}

Call Kernel::bind(size_t index) {
  const Stage& stage = loaded_->schedule.stages[index];
  Call call;
  call.primitive = loaded_->primitives[index];
  for (const Argument& argument : stage.arguments) {
    const auto number = static_cast<size_t>(argument.memory.slot);
    const Slot& slot = loaded_->schedule.slots[number];
    dnnl::memory memory(argument.memory.desc, cpu_engine(), addresses_[number]);
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
    Schedule& schedule = loaded_->schedule;
    place_scratch(loaded_.get());
    loaded_->packed.resize(schedule.slots.size());
    for (size_t s = 0; s < schedule.slots.size(); ++s) {
      if (schedule.slots[s].kind == Slot::Kind::Packed) loaded_->packed[s] = bytes(schedule.slots[s].bytes);
    }
    for (const Stage& stage : schedule.stages) loaded_->primitives.emplace_back(stage.primitive.get());
    allocate();
    stream_ = dnnl::stream(cpu_engine());
    for (size_t s = 0; s < schedule.stages.size(); ++s) {
      Call call = bind(s);
      if (!schedule.stages[s].at_load) {
        calls_.push_back(std::move(call));
        continue;
      }
      call.primitive.execute(stream_, call.arguments);
      stream_.wait();
    }
    // What was only packed is not needed any more.
    const std::vector<bool> is_read = read_in_runs(schedule);
    for (size_t s = 0; s < schedule.slots.size(); ++s) {
      if (is_read[s]) continue;
      schedule.slots[s].constant = Tensor();
      loaded_->packed[s] = Tensor();
    }
    return Status::ok();
  } catch (const dnnl::error& error) {
    return Status::error(std::string("onednn: ") + error.message);
  }
}

Result<std::unique_ptr<LibraryKernel>> Kernel::share() const {
  try {
    auto other = std::make_unique<Kernel>(loaded_, threads_);
    other->allocate();
    other->stream_ = dnnl::stream(cpu_engine());
    const std::vector<Stage>& stages = loaded_->schedule.stages;
    for (size_t s = 0; s < stages.size(); ++s) {
      if (!stages[s].at_load) other->calls_.push_back(other->bind(s));
    }
    return std::unique_ptr<LibraryKernel>(std::move(other));
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
    PartClock clock(part_seconds());
    for (Call& call : calls_) {
      call.primitive.execute(stream_, call.arguments);
      clock.next();
    }
    stream_.wait();
    return Status::ok();
  } catch (const dnnl::error& error) {
    return Status::error(std::string("onednn: ") + error.message);
  }
}

std::optional<KeptConstants> Kernel::kept() const {
  const Schedule& schedule = loaded_->schedule;
  const std::vector<bool> is_read = read_in_runs(schedule);
  KeptConstants kept;
  for (size_t s = 0; s < schedule.slots.size(); ++s) {
    const Slot& slot = schedule.slots[s];
    if (!is_read[s]) continue;
    if (slot.kind == Slot::Kind::Constant) kept.as_given.push_back(slot.constant);
    if (slot.kind == Slot::Kind::Packed) kept.packed += slot.bytes;
  }
  return kept;
}

std::vector<LibraryPart> Kernel::parts() const {
  std::vector<LibraryPart> parts;
  for (const Stage& stage : loaded_->schedule.stages) {
    if (!stage.at_load) parts.push_back({stage.text, stage.op});
  }
  return parts;
}

}  // namespace

std::unique_ptr<LibraryKernel> make_kernel(Schedule schedule, int threads) {
  auto loaded = std::make_shared<Loaded>();
  loaded->schedule = std::move(schedule);
  return std::make_unique<Kernel>(std::move(loaded), threads);
}

}  // namespace collage::runtime::onednn
