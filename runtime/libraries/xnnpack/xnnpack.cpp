// SPDX-License-Identifier: Apache-2.0
// XNNPACK as a library: program -> calls -> steps over buffers. A value has a buffer for each layout in which it is
// needed.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/core/layout.h"
#include "runtime/libraries/library.h"
#include "runtime/libraries/part_clock.h"
#include "runtime/libraries/xnnpack/call.h"
#include "runtime/libraries/xnnpack/thread_pool.h"
#include "runtime/libraries/xnnpack/version.h"

namespace collage::runtime {
namespace {

using xnnpack::Call;
using xnnpack::Operand;

/// XNNPACK reads up to XNN_EXTRA_BYTES after an operand, and ignores them.
bool may_read_behind(const std::byte* end) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::byte* last = end + XNN_EXTRA_BYTES - 1;
  if (reinterpret_cast<uintptr_t>(end - 1) / page == reinterpret_cast<uintptr_t>(last) / page) return true;
  std::byte copied{};
  const iovec to{&copied, 1}, from{const_cast<std::byte*>(last), 1};
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1;
}

const char* name_of(xnn_status status) {
  switch (status) {
    case xnn_status_success: return "success";
    case xnn_status_uninitialized: return "it is not initialised";
    case xnn_status_invalid_parameter: return "an invalid parameter";
    case xnn_status_invalid_state: return "an invalid state";
    case xnn_status_unsupported_parameter: return "a parameter that it does not support";
    case xnn_status_unsupported_hardware: return "a processor that it does not support";
    case xnn_status_out_of_memory: return "out of memory";
  }
  return "an unknown failure";
}

Status to_status(xnn_status status, const std::string& what) {
  return status == xnn_status_success ? Status::ok() : Status::error("XNNPACK, " + what + ": " + name_of(status));
}

using OwnedOperator = std::unique_ptr<xnn_operator, decltype(&xnn_delete_operator)>;

Result<OwnedOperator> make_operator(const Call& call) {
  xnn_operator_t made = nullptr;
  if (Status status = to_status(call.create(&made), call.text); !status) return status;
  return OwnedOperator(made, &xnn_delete_operator);
}

struct Buffer {
  enum class Kind {
    Input,     ///< the program's input `index`
    Output,    ///< its output `index`
    Constant,  ///< `constant`, as the model has it
    Scratch,   ///< private to the kernel
    View,      ///< the memory of the buffer `index`, whose elements stand in the same order
  };
  Kind kind = Kind::Scratch;
  size_t index = 0;
  Tensor constant{};
  Shape shape;
  std::string layout;

  size_t bytes() const { return static_cast<size_t>(element_count(shape)) * sizeof(float); }
};

/// A call, or a change of layout.
struct Step {
  std::vector<int> reads;
  int write = -1;
  int call = -1;         ///< -1: a change of layout
  bool at_load = false;  ///< of a constant
};

struct Steps {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
};

class StepBuilder {
 public:
  explicit StepBuilder(const LibraryProgram& program) : program_(program) {}

  Steps run(const std::vector<Call>& calls) {
    const auto define = [&](const std::vector<int>& ids, Buffer::Kind kind) {
      for (size_t i = 0; i < ids.size(); ++i) {
        const LibraryValue& value = program_.values[static_cast<size_t>(ids[i])];
        add({ids[i], value.shape, value.layout}, kind, i, {});
        if (kind == Buffer::Kind::Input) lies_[ids[i]] = value.layout;
      }
    };
    define(program_.inputs, Buffer::Kind::Input);
    define(program_.outputs, Buffer::Kind::Output);
    for (size_t c = 0; c < calls.size(); ++c) {
      Step step;
      for (const Operand& operand : calls[c].reads) step.reads.push_back(read(operand));
      const Operand write = as_wanted(calls[c].write);
      step.write = find_or_add(write);
      step.call = static_cast<int>(c);
      lies_[write.value] = write.layout;
      made_.steps.push_back(std::move(step));
    }
    for (int id : program_.outputs) {
      const LibraryValue& value = program_.values[static_cast<size_t>(id)];
      (void)read({id, value.shape, value.layout});
    }
    return std::move(made_);
  }

 private:
  using Key = std::tuple<int, Shape, std::string>;
  static Key key_of(const Operand& operand) { return {operand.value, operand.shape, operand.layout}; }

  int add(const Operand& operand, Buffer::Kind kind, size_t index, Tensor constant) {
    const int number = static_cast<int>(made_.buffers.size());
    made_.buffers.push_back({kind, index, std::move(constant), operand.shape, operand.layout});
    numbers_[key_of(operand)] = number;
    return number;
  }
  /// What is written in the layout of the program's output, where that is the same for its shape.
  Operand as_wanted(Operand write) const {
    const std::string& wanted = program_.values[static_cast<size_t>(write.value)].layout;
    if (lies_plainly(write.layout, write.shape) && lies_plainly(wanted, write.shape)) write.layout = wanted;
    return write;
  }
  int find_or_add(const Operand& operand) {
    const auto found = numbers_.find(key_of(operand));
    return found != numbers_.end() ? found->second : add(operand, Buffer::Kind::Scratch, 0, {});
  }

  /// The buffer of a value that exists, in this layout and with this shape.
  int read(const Operand& operand) {
    const LibraryValue& value = program_.values[static_cast<size_t>(operand.value)];
    Operand own{operand.value, value.shape, std::string(kPlainLayout)};
    if (value.constant.is_empty_handle()) {
      own.layout = lies_.at(operand.value);
    } else if (!numbers_.contains(key_of(own))) {
      add(own, Buffer::Kind::Constant, 0, value.constant);
    }
    if (operand.shape == value.shape) return convert(own, operand.layout);
    // 1s before the dimensions of a plain tensor change nothing.
    const int plain = convert(own, std::string(kPlainLayout));
    const Operand extended{operand.value, operand.shape, std::string(kPlainLayout)};
    if (!numbers_.contains(key_of(extended))) add(extended, Buffer::Kind::View, static_cast<size_t>(plain), {});
    return convert(extended, operand.layout);
  }

  int convert(const Operand& from, const std::string& layout) {
    const int source = numbers_.at(key_of(from));
    if (from.layout == layout) return source;
    const Operand to{from.value, from.shape, layout};
    const auto found = numbers_.find(key_of(to));
    const bool is_new = found == numbers_.end();
    if (is_new && lies_plainly(from.layout, from.shape) && lies_plainly(layout, from.shape))
      return add(to, Buffer::Kind::View, static_cast<size_t>(source), {});
    const int target = is_new ? add(to, Buffer::Kind::Scratch, 0, {}) : found->second;
    const auto writes = [&](const Step& step) { return step.write == target; };
    const bool is_view = made_.buffers[static_cast<size_t>(target)].kind == Buffer::Kind::View;
    if (!is_view && std::none_of(made_.steps.begin(), made_.steps.end(), writes)) {
      const bool is_constant = !program_.values[static_cast<size_t>(from.value)].constant.is_empty_handle();
      made_.steps.push_back({{source}, target, -1, is_constant});
    }
    return target;
  }

  const LibraryProgram& program_;
  Steps made_;
  std::map<int, std::string> lies_;  ///< the layout in which a value was made
  std::map<Key, int> numbers_;
};

class XnnpackKernel : public LibraryKernel {
 public:
  XnnpackKernel(std::vector<Call> calls, Steps steps, int threads)
      : calls_(std::move(calls)), steps_(std::move(steps)), pool_(xnnpack::make_pool(threads)) {}

  Status load() override {
    for (const Call& call : calls_) {
      Result<OwnedOperator> made = make_operator(call);
      if (!made) return made.status();
      operators_.push_back(std::move(*made));
    }
    padded_.resize(steps_.buffers.size());
    for (const Buffer& buffer : steps_.buffers) {
      memory_.push_back(buffer.kind == Buffer::Kind::Scratch ? padded_copy_of(buffer) : buffer.constant);
      addresses_.push_back(memory_.back().data());
    }
    share_addresses();
    for (const Step& step : steps_.steps) {
      if (step.at_load) change_layout(step);
    }
    return Status::ok();
  }

  Status run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) override {
    for (size_t b = 0; b < steps_.buffers.size(); ++b) {
      const Buffer& buffer = steps_.buffers[b];
      if (buffer.kind == Buffer::Kind::Input) addresses_[b] = inputs[buffer.index];
      if (buffer.kind == Buffer::Kind::Output) addresses_[b] = outputs[buffer.index];
    }
    share_addresses();
    pthreadpool_t pool = xnnpack::gets_our_pool() ? &pool_ : nullptr;
    PartClock clock(part_seconds());
    for (const Step& step : steps_.steps) {
      if (step.call >= 0) {
        if (Status status = call(step, pool); !status) return status;
      } else if (!step.at_load) {
        change_layout(step);
      }
      clock.next();
    }
    return Status::ok();
  }

  /// XNNPACK does not tell how large the copies are in which its operators keep their weights.
  std::optional<KeptConstants> kept() const override {
    KeptConstants kept;
    for (const Call& call : calls_) {
      for (const Tensor& weights : call.weights) {
        kept.as_given.push_back(weights);
        kept.packed += weights.bytes();
        kept.is_least = true;
      }
    }
    for (const Buffer& buffer : steps_.buffers) {
      if (buffer.kind == Buffer::Kind::Constant) kept.as_given.push_back(buffer.constant);
    }
    for (const Step& step : steps_.steps) {
      if (step.at_load) kept.packed += steps_.buffers[static_cast<size_t>(step.write)].bytes();
    }
    return kept;
  }

  std::vector<LibraryPart> parts() const override {
    std::vector<LibraryPart> parts;
    for (const Step& step : steps_.steps) {
      const Buffer& write = steps_.buffers[static_cast<size_t>(step.write)];
      if (step.call >= 0) {
        const Call& call = calls_[static_cast<size_t>(step.call)];
        parts.push_back({call.text, call.last_op});
      } else {
        const Buffer& read = steps_.buffers[static_cast<size_t>(step.reads[0])];
        parts.push_back(
            {"reorder " + read.layout + " -> " + write.layout + (step.at_load ? " at load" : ""), -1, step.at_load});
      }
    }
    return parts;
  }

 private:
  /// Memory for the buffer's elements and what XNNPACK reads after them.
  static Tensor padded_copy_of(const Buffer& buffer) {
    return {DType::U8, {static_cast<int64_t>(buffer.bytes() + XNN_EXTRA_BYTES)}};
  }

  /// A view comes after the buffer that it shows.
  void share_addresses() {
    for (size_t b = 0; b < steps_.buffers.size(); ++b) {
      if (steps_.buffers[b].kind == Buffer::Kind::View) addresses_[b] = addresses_[steps_.buffers[b].index];
    }
  }

  void change_layout(const Step& step) {
    const auto from = static_cast<size_t>(step.reads[0]), to = static_cast<size_t>(step.write);
    const Buffer &source = steps_.buffers[from], &target = steps_.buffers[to];
    reorder({DType::F32, source.shape, addresses_[from]}, source.layout, {DType::F32, target.shape, addresses_[to]},
            target.layout);
  }

  Status call(const Step& step, pthreadpool_t pool) {
    std::vector<const float*> reads;
    for (int buffer : step.reads) reads.push_back(readable(static_cast<size_t>(buffer)));
    auto* write = reinterpret_cast<float*>(addresses_[static_cast<size_t>(step.write)]);
    const Call& call = calls_[static_cast<size_t>(step.call)];
    xnn_operator_t op = operators_[static_cast<size_t>(step.call)].get();
    xnn_status status = call.setup(op, reads, write, pool);
    if (status == xnn_status_success) status = xnn_run_operator(op, pool);
    return to_status(status, call.text);
  }

  /// The buffer, or a copy of it where XNNPACK would read memory after it that is not there.
  const float* readable(size_t buffer) {
    const std::byte* data = addresses_[buffer];
    const size_t bytes = steps_.buffers[buffer].bytes();
    if (steps_.buffers[buffer].kind != Buffer::Kind::Scratch && !may_read_behind(data + bytes)) {
      if (padded_[buffer].is_empty_handle()) padded_[buffer] = padded_copy_of(steps_.buffers[buffer]);
      std::copy_n(data, bytes, padded_[buffer].data());
      data = padded_[buffer].data();
    }
    return reinterpret_cast<const float*>(data);
  }

  std::vector<Call> calls_;
  Steps steps_;
  pthreadpool pool_;
  std::vector<OwnedOperator> operators_;  ///< by call
  std::vector<Tensor> memory_;            ///< by buffer: constants and scratch
  std::vector<Tensor> padded_;            ///< by buffer: copies, as needed
  std::vector<std::byte*> addresses_;     ///< by buffer
};

Status initialize() {
  static const xnn_status status = xnn_initialize(nullptr);
  return to_status(status, "starting it");
}

}  // namespace

Result<std::unique_ptr<LibraryKernel>> prepare_xnnpack(const LibraryProgram& program, int threads) {
  if (Status status = initialize(); !status) return status;
  Result<std::vector<Call>> calls = xnnpack::make_calls(program);
  if (!calls) return calls.status();
  for (Call& call : *calls) {  // what it refuses is known now; operators with weights are made when these are loaded
    if (!call.weights.empty()) continue;
    if (Result<OwnedOperator> made = make_operator(call); !made) return made.status();
  }
  Steps steps = StepBuilder(program).run(*calls);
  return std::unique_ptr<LibraryKernel>(std::make_unique<XnnpackKernel>(std::move(*calls), std::move(steps), threads));
}

std::string version_of_xnnpack() {
  return xnnpack::build_id();
}

}  // namespace collage::runtime
