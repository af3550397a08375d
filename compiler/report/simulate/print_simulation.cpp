// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/simulate/print_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "compiler/place/problem/cost.h"
#include "compiler/report/figures.h"
#include "compiler/report/json_text.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"
#include "runtime/support/size_text.h"

namespace collage::report {
namespace {

using nlohmann::ordered_json;
using runtime::counted;

constexpr size_t kShownLinks = 4, kShownSteps = 4;

std::string row(std::string_view label, const std::string& text) {
  return fmt::format("{:<12}{}\n", label, text);
}

double share(Duration part, Duration whole) {
  return whole > Duration() ? part.seconds() / whole.seconds() : 0;
}

/// `12.3 %`
std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::vector<const MemoryUse*> devices_of(const Simulation& simulation) {
  std::vector<const MemoryUse*> devices;
  for (const MemoryUse& memory : simulation.memories) {
    if (!memory.is_host) devices.push_back(&memory);
  }
  return devices;
}

double fill_of(const MemoryUse& memory) {
  return memory.capacity == 0 ? 0 : static_cast<double>(memory.bytes()) / static_cast<double>(memory.capacity);
}

std::string memory_text(const MemoryUse& memory) {
  std::string text = fmt::format("{} {}", memory.space, support::size_text(memory.bytes()));
  if (memory.capacity > 0) {
    text += fmt::format(" of {} ({})", support::size_text(memory.capacity), percent(fill_of(memory)));
  }
  text +=
      fmt::format(": constants {}, arena {}", support::size_text(memory.constants), support::size_text(memory.arena));
  return memory.requests > 1 ? text + fmt::format(" for each of {} requests", memory.requests) : text;
}

/// `none 56, to 10 % 2, to 90 % 6`: how many devices fill how much of their memory, in steps of a tenth.
std::string histogram(const Simulation& simulation, const std::vector<const MemoryUse*>& devices) {
  std::array<size_t, 12> counts{};  // tenths, and what is more than there is
  for (const MemoryUse* memory : devices) {
    const double fill = fill_of(*memory);
    const auto tenths = static_cast<size_t>(std::clamp(fill * 10, 0.0, 10.0));
    ++counts[fill > 1 ? 11 : std::min<size_t>(tenths, 9) + 1];
  }
  counts[0] = simulation.devices > devices.size() ? simulation.devices - devices.size() : 0;
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const std::string label = i == 0 ? "unused" : i == 11 ? "over 100 %" : fmt::format("to {} %", 10 * i);
    runtime::add_to_list(text, fmt::format("{}: {}", label, counts[i]));
  }
  return text;
}

std::string memory_lines(const Simulation& simulation) {
  std::string text;
  const std::vector<const MemoryUse*> devices = devices_of(simulation);
  if (!devices.empty()) {
    const auto by_bytes = [](const MemoryUse* a, const MemoryUse* b) { return a->bytes() < b->bytes(); };
    const MemoryUse& fullest = **std::max_element(devices.begin(), devices.end(), by_bytes);
    size_t all = 0;
    for (const MemoryUse* memory : devices) all += memory->bytes();
    text += row("memory", "fullest " + memory_text(fullest));
    text += row(
        "", fmt::format("mean of {} {}", counted(devices.size(), "device"), support::size_text(all / devices.size())));
    text += row("", histogram(simulation, devices));
  }
  // On a single host memory is not known without code.
  for (const MemoryUse& memory : simulation.memories) {
    if (memory.is_host && memory.bytes() > 0) text += row(text.empty() ? "memory" : "", memory_text(memory));
  }
  return text;
}

std::string time_lines(const Simulation& simulation) {
  if (!simulation.stream) return row("time", human(simulation.time) + " for a run");
  const StreamFigures& stream = *simulation.stream;
  std::string text =
      row("time", fmt::format("{} to the first result, then one each {}: {:.4g} a second", human(stream.first),
                              human(stream.period), 1 / std::max(stream.period.seconds(), 1e-12)));
  text += row("", fmt::format("{} in flight, {}; devices are idle for {}", counted(stream.in_flight, "request"),
                              counted(stream.stages, "stage"), percent(stream.bubbles)));
  if (!stream.limited_by.empty()) text += row("", fmt::format("{} has no room for more requests", stream.limited_by));
  return text;
}

std::string busy_line(const Simulation& simulation) {
  const std::vector<const MemoryUse*> devices = devices_of(simulation);
  if (devices.empty()) return "";
  Duration all;
  const MemoryUse* most = devices.front();
  for (const MemoryUse* device : devices) {
    all += device->busy;
    if (device->busy > most->busy) most = device;
  }
  const double mean = share(all, simulation.base()) / static_cast<double>(devices.size());
  return row("busy", fmt::format("{} {}, mean of {} {}", most->space, percent(share(most->busy, simulation.base())),
                                 counted(devices.size(), "device"), percent(mean)));
}

std::string link_lines(const Simulation& simulation) {
  std::string text;
  const auto label = [&] { return text.empty() ? "links" : ""; };
  for (size_t i = 0; i < std::min(kShownLinks, simulation.links.size()); ++i) {
    const LinkUse& link = simulation.links[i];
    text += row(label(), fmt::format("{} busy {}: {} in {}", link.name, percent(share(link.busy, simulation.base())),
                                     support::size_text(link.bytes),
                                     link.copies == 1 ? "1 copy" : fmt::format("{} copies", link.copies)));
  }
  const std::string kinds = runtime::joined(simulation.kinds, ", ", [](const LinkKindUse& kind) {
    return fmt::format("{} {}", kind.kind, support::size_text(kind.bytes));
  });
  return kinds.empty() ? text : text + row("", "bytes over " + kinds);
}

std::string path_lines(const Simulation& simulation) {
  const CriticalPath& path = simulation.path;
  std::string parts;
  for (PathKind kind : {PathKind::Compute, PathKind::Copy, PathKind::Reorder, PathKind::Queued}) {
    const Duration length = path.of(kind);
    if (length > Duration()) runtime::add_to_list(parts, fmt::format("{} {}", name_of(kind), human(length)));
  }
  if (parts.empty()) return "";
  std::string text = row("path", fmt::format("{}: {}", counted(path.steps.size(), "step"), parts));
  std::vector<const PathStep*> longest;
  for (const PathStep& step : path.steps) longest.push_back(&step);
  std::stable_sort(longest.begin(), longest.end(),
                   [](const PathStep* a, const PathStep* b) { return a->length > b->length; });
  longest.resize(std::min(longest.size(), kShownSteps));
  for (const PathStep* step : longest) {
    text += row("", fmt::format("{:>10}  {} {} on {}", human(step->length), name_of(step->kind), step->what, step->on));
  }
  return text;
}

std::string search_text(const SimulatedSearch& search) {
  if (search.strategy.empty()) return "none: the model is placed";
  const bool has_gap = !search.is_proved && search.gap > 0;
  const std::string outcome = search.is_proved ? "optimal" : has_gap ? "best found" : search.strategy;
  const std::string gap = has_gap ? ", gap " + place::percent_text(search.gap, 2) : "";
  return fmt::format("{} in {:.3g} s: {}{}", outcome, search.seconds, search.found, gap);
}

ordered_json path_json(const CriticalPath& path) {
  ordered_json json = {{"compute_s", path.of(PathKind::Compute).seconds()},
                       {"copy_s", path.of(PathKind::Copy).seconds()},
                       {"reorder_s", path.of(PathKind::Reorder).seconds()},
                       {"queue_s", path.of(PathKind::Queued).seconds()},
                       {"steps", ordered_json::array()}};
  for (const PathStep& step : path.steps) {
    json["steps"].push_back(
        {{"kind", name_of(step.kind)}, {"what", step.what}, {"on", step.on}, {"seconds", step.length.seconds()}});
  }
  return json;
}

}  // namespace

std::string simulation_text(const ir::Graph& graph, const Simulation& simulation, const SimulatedSearch& search) {
  const ModelFigures model = figures_of(graph);
  std::string text =
      row("model", fmt::format("{}: {} ops, {} parameters, {}FLOP", graph.name, model.ops,
                               runtime::with_prefix(model.parameters), runtime::with_prefix(model.flops)));
  text += row("simulated", fmt::format("on {}, {} in use; nothing was run", counted(simulation.devices, "device"),
                                       devices_of(simulation).size()));
  text += row("search", search_text(search));
  text +=
      row("plan", fmt::format("{}, {} {} of {}", counted(simulation.partitions, "partition"), simulation.copies,
                              simulation.copies == 1 ? "copy" : "copies", support::size_text(simulation.copied_bytes)));
  return text + time_lines(simulation) + memory_lines(simulation) + busy_line(simulation) + link_lines(simulation) +
         path_lines(simulation);
}

std::string simulation_json(const ir::Graph& graph, const Simulation& simulation, const SimulatedSearch& search) {
  ordered_json json = model_object(graph);
  json["devices"] = simulation.devices;
  if (!search.strategy.empty()) {
    json["search"] = {{"strategy", search.strategy},
                      {"seconds", search.seconds},
                      {"found", search.found},
                      {"gap", search.gap},
                      {"is_proved", search.is_proved}};
  }
  json["partitions"] = simulation.partitions;
  json["copies"] = simulation.copies;
  json["copied_bytes"] = simulation.copied_bytes;
  json["time_s"] = simulation.time.seconds();
  if (simulation.stream) {
    const StreamFigures& stream = *simulation.stream;
    json["stream"] = {{"in_flight", stream.in_flight},       {"stages", stream.stages},
                      {"limited_by", stream.limited_by},     {"first_s", stream.first.seconds()},
                      {"period_s", stream.period.seconds()}, {"bubbles", stream.bubbles}};
  }
  const Duration base = simulation.base();
  json["memories"] = ordered_json::array();
  for (const MemoryUse& memory : simulation.memories) {
    json["memories"].push_back({{"space", memory.space},
                                {"constants_bytes", memory.constants},
                                {"arena_bytes", memory.arena},
                                {"capacity_bytes", memory.capacity},
                                {"requests", memory.requests},
                                {"busy", share(memory.busy, base)}});
  }
  json["links"] = ordered_json::array();
  for (const LinkUse& link : simulation.links) {
    json["links"].push_back({{"link", link.name},
                             {"kind", link.kind},
                             {"copies", link.copies},
                             {"bytes", link.bytes},
                             {"busy", share(link.busy, base)}});
  }
  json["link_kinds"] = ordered_json::array();
  for (const LinkKindUse& kind : simulation.kinds) {
    json["link_kinds"].push_back({{"kind", kind.kind},
                                  {"links", kind.links},
                                  {"bytes", kind.bytes},
                                  {"busy", share(kind.busy, base) / kind.links}});
  }
  json["path"] = path_json(simulation.path);
  return printed(json);
}

}  // namespace collage::report
