// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/print_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/host_space.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::plan {
namespace {

using runtime::BufferId;

class Printer {
 public:
  explicit Printer(const runtime::Plan& plan) : plan_(plan) {}

  std::string run() {
    line("plan @{} predicted {}{}", plan_.model, to_string(plan_.predicted), plan_.is_concurrent ? " concurrent" : "");
    print_spaces();
    for (size_t i = 0; i < plan_.buffers.size(); ++i) print_buffer(i);
    for (const runtime::PlanPort& port : plan_.inputs) line("input %{}: {}", port.name, name(port.buffer));
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      std::visit([&](const auto& step) { print_step(i, step); }, plan_.steps[i]);
      if (!plan_.lanes.empty() && plan_.lanes[i] > 0) line("  lane {}", plan_.lanes[i]);
    }
    // The events that a part waits for are not in the part.
    if (plan_.is_concurrent && plan_.part.hosts == 1) {
      print_timeline([](size_t step) { return fmt::format("step {}", step); });
    }
    for (const runtime::PlanPort& port : plan_.outputs) line("output %{}: {}", port.name, name(port.buffer));
    return std::move(text_);
  }

  /// The timeline alone, of steps without numbers.
  std::string timeline() {
    print_timeline([&](size_t step) { return describe(plan_.steps[step]); });
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  static std::string name(BufferId id) { return id < 0 ? "_" : fmt::format("b{}", id); }
  static std::string names(const std::vector<BufferId>& ids) {
    std::vector<std::string> parts;
    for (BufferId id : ids) parts.push_back(name(id));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  void print_spaces() {
    for (const runtime::MemorySpace& space : plan_.spaces) {
      std::string capacity = space.capacity == 0 ? "" : fmt::format(", {} capacity", space.capacity);
      line("space {}: {} arena, {} constants{}", space.name, space.arena_bytes, space.constant_bytes, capacity);
    }
    for (const runtime::DeviceSpec& device : plan_.devices) {
      line("device {}: {}", device.space, device.kind);
      for (const auto& [attr, value] : device.attrs) line("  {} = {}", attr, to_string(value));
      for (const auto& link : device.links) {
        std::string over;
        for (size_t i = 1; i < link.hops.size(); ++i) over += (i == 1 ? " over " : ", ") + link.hops[i].from;
        line("  link {}: {} B/s, {}{}", link.to, link.bytes_per_second, to_string(link.latency), over);
      }
    }
  }

  void print_buffer(size_t i) {
    const runtime::Buffer& buffer = plan_.buffers[i];
    std::string layout = buffer.tensor.form.layout == "plain" ? "" : " " + buffer.tensor.form.layout;
    if (buffer.tensor.form.storage) layout += " " + runtime::to_string(*buffer.tensor.form.storage);
    std::string encoding = buffer.tensor.is_encoded()
                               ? fmt::format(" as {}, {} bytes", buffer.tensor.encoding, buffer.tensor.encoded_bytes)
                               : "";
    line("buffer b{} %{}: {}{} {}{} {} {}{}", i, buffer.name, plan_.spaces[static_cast<size_t>(buffer.space)].name,
         layout, name_of(buffer.tensor.dtype), runtime::to_string(buffer.tensor.shape),
         buffer.is_constant ? "constant at" : "at", buffer.offset, encoding);
  }

  std::string where(int partition) const {
    if (partition < 0) return "no partition";
    const runtime::PlanPartition& described = plan_.partitions[static_cast<size_t>(partition)];
    return fmt::format("{} on {}({})", described.name, described.backend, described.instance);
  }

  void print_op(const runtime::OpCall& call) {
    std::string attrs;
    for (const auto& [attr, value] : call.attrs) {
      attrs += fmt::format("{}{} = {}", attrs.empty() ? " {" : ", ", attr, to_string(value));
    }
    if (!attrs.empty()) attrs += "}";
    line("  {}({}) -> {}{}", call.op, names(call.inputs), names(call.outputs), attrs);
  }

  void print_calls(const std::vector<runtime::LoweringCall>& calls, std::string_view prefix) {
    for (const runtime::LoweringCall& call : calls) line("  lower {}: {}", call.rule, to_string(call, prefix));
  }

  void print_step(size_t i, const runtime::HostStep& step) {
    line("step {}: {}", i, where(step.partition));
    for (const runtime::HostCall& any : step.calls) {
      if (const auto* op = std::get_if<runtime::OpCall>(&any)) {
        print_op(*op);
        continue;
      }
      if (const auto* library = std::get_if<runtime::LibraryCall>(&any)) {
        line("  {}({}) -> {}", library->library, names(library->inputs), names(library->outputs));
        print_calls(library->program.calls, "v");
        for (const std::string& call : library->text) line("    {}", call);
        continue;
      }
      const auto& kernel = std::get<runtime::KernelCall>(any);
      std::string scratch = kernel.scratch_bytes == 0 ? "" : fmt::format(", {} scratch", kernel.scratch_bytes);
      line("  kernel {}({}) over {} by {}{}", kernel.symbol, names(kernel.buffers), kernel.extent, kernel.grain,
           scratch);
    }
  }

  void print_step(size_t i, const runtime::LibraryStep& step) {
    const auto& [library, program, inputs, outputs, text] = step.call;
    line("step {}: {} by {}({}) -> {}", i, where(step.partition), library, names(inputs), names(outputs));
    for (const std::string& call : text) line("  {}", call);
    print_calls(program.calls, "v");
  }

  void print_step(size_t i, const runtime::DeviceStep& step) {
    line("step {}: {} takes {}", i, where(step.partition), to_string(step.duration));
    print_calls(step.calls, "b");
    for (const runtime::OpCall& op : step.ops) print_op(op);
  }

  void print_step(size_t i, const runtime::ConvertStep& step) {
    line("step {}: convert {} -> {} cost {}{}", i, name(step.from), name(step.to), to_string(step.cost),
         step.kernel ? " by " + step.kernel->symbol : "");
  }

  /// When each step is predicted to run, and what it holds meanwhile.
  template <typename Name>
  void print_timeline(Name&& name_of_step) {
    runtime::Machine machine = runtime::machine_of(plan_.devices);
    runtime::Timeline timeline;
    size_t step = 0;
    for (const runtime::Task& task : runtime::tasks_of(plan_, machine)) {
      const runtime::Slot& slot = timeline.add(task);
      std::vector<std::string> held;
      for (int resource : task.resources) held.push_back(machine.names()[static_cast<size_t>(resource)]);
      line("at {} to {}: {} on {}", to_string(slot.start), to_string(slot.finish), name_of_step(step++),
           fmt::join(held, ", "));
    }
  }

  std::string describe(const runtime::Step& step) const {
    if (const auto* convert = std::get_if<runtime::ConvertStep>(&step)) {
      const runtime::Buffer& from = plan_.buffers[static_cast<size_t>(convert->from)];
      const runtime::Buffer& to = plan_.buffers[static_cast<size_t>(convert->to)];
      return fmt::format("convert %{} from {} to {}", from.name, plan_.spaces[static_cast<size_t>(from.space)].name,
                         plan_.spaces[static_cast<size_t>(to.space)].name);
    }
    const int partition = partition_of(step);
    return partition < 0 ? "no partition" : plan_.partitions[static_cast<size_t>(partition)].name;
  }

  const runtime::Plan& plan_;
  std::string text_;
};

}  // namespace

std::string print_plan(const runtime::Plan& plan) {
  return Printer(plan).run();
}

std::string print_parts(const runtime::Plan& whole, const std::vector<BuiltPlan>& parts) {
  std::string text;
  for (const BuiltPlan& part : parts) {
    text += fmt::format("// {}\n{}", runtime::host_space(part.plan.part.host), print_plan(part.plan));
  }
  if (whole.is_concurrent) text += "// all hosts\n" + Printer(whole).timeline();
  return text;
}

}  // namespace collage::plan
