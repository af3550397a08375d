// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/memory_caps.h"

#include <algorithm>
#include <charconv>

#include "compiler/sema/rules/check_expr.h"
#include "runtime/core/host_space.h"

namespace collage::request {

std::optional<size_t> parse_size(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit_text(end, text.data() + text.size());
  while (unit_text.starts_with(' ')) unit_text.remove_prefix(1);
  ir::Unit unit = ir::Unit::None;
  const double bytes = sema::si_value(number, unit_text.empty() ? "B" : unit_text, &unit);
  if (unit != ir::Unit::Bytes || !(bytes >= 1) || bytes > 0x1p62) return std::nullopt;
  return static_cast<size_t>(bytes);
}

std::optional<std::vector<place::MemoryLimit>> read_memory_caps(const std::vector<std::string>& options,
                                                                const plan::PlanTargets& targets,
                                                                support::Diagnostics& diags) {
  std::vector<place::MemoryLimit> caps;
  bool good = true;
  for (const std::string& option : options) {
    const size_t equals = option.find('=');
    const std::string name = option.substr(0, equals);
    if (equals == std::string::npos) {
      good = diags.error_at(support::Code::BadOption, "--memory", "`{}` is not `DEVICE=SIZE`", option)
                 .note("`--memory npu[0]=4MiB`");
      continue;
    }
    const std::string size = option.substr(equals + 1);
    const std::optional<size_t> bytes = parse_size(size);
    if (!bytes) {
      good = diags.error_at(support::Code::BadOption, "--memory", "`{}` is no size of a memory: want `{}=4MiB`", size,
                            name);
      continue;
    }
    std::vector<std::string> known;
    bool found = false;
    for (const auto* memories : {&targets.devices, &targets.hosts}) {
      for (const plan::DeviceTarget& memory : *memories) {
        const std::string& space = memory.spec.space;
        known.push_back(space);
        const bool is_first_host = runtime::host_number(name) == 0 && runtime::host_number(space) == 0;
        if (space != name && !is_first_host && space.substr(0, space.find('[')) != name) continue;
        caps.push_back({space, *bytes});
        found = true;
      }
    }
    if (found) continue;
    auto error =
        diags.error_at(support::Code::BadOption, "--memory", "no active rule file declares a device `{}`", name);
    if (runtime::is_host_space(name) && targets.hosts.empty()) {
      error.note("the memory of the only host has no limit; a cluster says what its hosts have");
    } else {
      error.did_you_mean(support::closest(name, known));
    }
    good = false;
  }
  if (!good) return std::nullopt;
  return caps;
}

void apply_memory_caps(const std::vector<place::MemoryLimit>& caps, plan::PlanTargets& targets) {
  for (const place::MemoryLimit& cap : caps) {
    for (auto* memories : {&targets.devices, &targets.hosts}) {
      for (plan::DeviceTarget& memory : *memories) {
        if (memory.spec.space != cap.instance) continue;
        memory.capacity = memory.capacity == 0 ? cap.bytes : std::min(memory.capacity, cap.bytes);
      }
    }
  }
}

}  // namespace collage::request
