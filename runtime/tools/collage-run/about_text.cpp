// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/collage-run/about_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "runtime/core/duration.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"
#include "runtime/core/wrapped.h"
#include "runtime/runner/model_ports.h"
#include "runtime/support/size_text.h"

namespace collage::tools {
namespace {

using nlohmann::ordered_json;
using runtime::Duration;
using runtime::Plan;

constexpr size_t kColumn = 12;

std::string line(std::string_view label, const std::string& text) {
  return fmt::format("{:<{}}{}\n", label, kColumn, runtime::wrapped(text, {kColumn, kColumn}));
}

/// The first of a list by name, the others counted.
std::string named(const std::vector<std::string>& names, size_t most) {
  const size_t shown = names.size() > most + 1 ? most : names.size();
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

/// `f32[batch, 4]`: a dimension that is not the same in all specialisations by all its sizes, `2|8`.
std::string kind_text(const runner::Port& port, const std::vector<runtime::ShapedVariant>& variants, size_t index,
                      std::vector<runtime::Shape> runtime::ShapedVariant::*shapes) {
  if (variants.empty()) return to_string(port.kind);
  std::string dims;
  for (size_t axis = 0; axis < port.kind.shape.size(); ++axis) {
    std::vector<std::string> sizes;
    for (const runtime::ShapedVariant& variant : variants) {
      const runtime::Shape& shape = (variant.*shapes)[index];
      const std::string size = axis < shape.size() ? std::to_string(shape[axis]) : "?";
      if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
    }
    runtime::add_to_list(dims, fmt::format("{}", fmt::join(sizes, "|")));
  }
  return fmt::format("{}[{}]", name_of(port.kind.dtype), dims);
}

std::string ports_text(const char* label, const std::vector<runner::Port>& ports,
                       const std::vector<runtime::ShapedVariant>& variants,
                       std::vector<runtime::Shape> runtime::ShapedVariant::*shapes) {
  size_t width = 0;
  for (const runner::Port& port : ports) width = std::max(width, runtime::columns_of(port.name));
  std::string text;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string blanks(width - runtime::columns_of(ports[i].name), ' ');
    text += fmt::format("{:<{}}{}{} {}\n", i == 0 ? label : "", kColumn, ports[i].name, blanks,
                        kind_text(ports[i], variants, i, shapes));
  }
  return text;
}

/// What one backend runs.
struct Share {
  std::string backend;
  bool is_model = false;  ///< of a chip
  std::vector<std::string> partitions;
  size_t operators = 0;
  Duration cost;
};

class Placed {
 public:
  void add(const Plan& plan) {
    for (const runtime::PlanPartition& partition : plan.partitions) {
      Share& share = share_of(partition.backend);
      share.is_model = share.is_model || runs_on_model(plan, partition.instance);
      share.partitions.push_back(partition.name);
      share.operators += partition.nodes.size();
      share.cost += partition.cost;
      total_ += partition.cost;
    }
    // Two hosts have a part each of a copy between them.
    for (const runtime::Step& step : plan.steps) {
      const auto* conversion = std::get_if<runtime::ConvertStep>(&step);
      if (conversion == nullptr || plan.part.hosts > 1) continue;
      ++conversions_;
      moved_ += conversion->cost;
      total_ += conversion->cost;
    }
  }

  std::string text() {
    std::stable_sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) { return a.cost > b.cost; });
    size_t width = conversions_ > 0 ? kConversions.size() : 0;
    for (const Share& share : shares_) width = std::max(width, share.backend.size());
    std::string text;
    const auto add = [&](std::string_view name, Duration cost, const std::string& what) {
      text += fmt::format("{:<{}}{:<{}} {:>8} {:>10}   {}\n", text.empty() ? "placement" : "", kColumn, name, width,
                          percent(cost), human(cost), what);
    };
    for (const Share& share : shares_) {
      add(share.backend, share.cost,
          fmt::format("{}, {}{}", runtime::counted(static_cast<int64_t>(share.partitions.size()), "partition"),
                      runtime::counted(static_cast<int64_t>(share.operators), "operator"),
                      share.is_model ? "; a model of a chip" : ""));
    }
    if (conversions_ > 0) add(kConversions, moved_, runtime::counted(conversions_, "step"));
    constexpr size_t kMostNamed = 8;
    for (const Share& share : shares_) {
      if (!share.is_model) continue;
      text += line("simulated", fmt::format("{} is a model of a chip, and no device: reference kernels run {} in its "
                                            "place, and the time of a run is no latency",
                                            share.backend, named(share.partitions, kMostNamed)));
    }
    return text;
  }

 private:
  static constexpr std::string_view kConversions = "conversions";

  static bool runs_on_model(const Plan& plan, const std::string& instance) {
    return std::any_of(plan.devices.begin(), plan.devices.end(), [&](const runtime::DeviceSpec& device) {
      return device.space == instance && device.kind == runtime::kModelKind;
    });
  }
  Share& share_of(const std::string& backend) {
    const auto found =
        std::find_if(shares_.begin(), shares_.end(), [&](const Share& share) { return share.backend == backend; });
    if (found != shares_.end()) return *found;
    shares_.push_back({backend, false, {}, 0, {}});
    return shares_.back();
  }
  std::string percent(Duration cost) const {
    if (total_ == Duration()) return "-";
    return fmt::format("{:.1f} %", 100 * cost.seconds() / total_.seconds());
  }

  std::vector<Share> shares_;
  int64_t conversions_ = 0;
  Duration moved_, total_;
};

std::string memory_text(const Plan& plan) {
  return runtime::joined(plan.spaces, "   ", [](const runtime::MemorySpace& space) {
    return fmt::format("{} {} and {} of constants", space.name, support::size_text(space.arena_bytes),
                       support::size_text(space.constant_bytes));
  });
}

/// The field's text without leading blanks; empty where there is none.
std::string text_in(const ordered_json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_string()) return "";
  const std::string text = found->get<std::string>();
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

/// `16 KiB`; 0 B where there is no such number.
std::string bytes_in(const ordered_json& object, const char* field) {
  const auto found = object.find(field);
  const bool is_size = found != object.end() && found->is_number_unsigned();
  return support::size_text(is_size ? found->get<size_t>() : 0);
}

/// Levels of x86-64 by the names of /proc/cpuinfo, each with those before it.
struct Level {
  std::string_view name;
  std::vector<std::string_view> adds;
};

const std::vector<Level>& levels() {
  static const std::vector<Level> all = {
      {"x86-64-v2", {"pni", "popcnt", "sse4_1", "sse4_2", "ssse3"}},
      {"x86-64-v3", {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}},
      {"x86-64-v4", {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}},
  };
  return all;
}

/// Instruction sets in short: `x86-64-v3, avx_vnni`. More than a few are counted.
std::string features_text(const std::vector<std::string>& features) {
  std::vector<std::string> others = features;
  std::string level;
  for (const Level& next : levels()) {
    const bool has_all = std::all_of(next.adds.begin(), next.adds.end(), [&](std::string_view one) {
      return std::find(features.begin(), features.end(), one) != features.end();
    });
    if (!has_all) break;
    level = next.name;
    std::erase_if(others, [&](const std::string& one) {
      return std::find(next.adds.begin(), next.adds.end(), one) != next.adds.end();
    });
  }
  constexpr size_t kMostNamed = 4;
  if (others.empty()) return level;
  return level.empty() ? named(others, kMostNamed) : fmt::format("{}, {}", level, named(others, kMostNamed));
}

std::string needs_text(const ordered_json& about) {
  std::vector<std::string> features;
  for (const ordered_json& feature : about["features"]) features.push_back(feature.get<std::string>());
  const std::string architecture = text_in(about, "architecture");
  std::string text = features_text(features);
  if (text.empty()) text = architecture;
  const std::string processor = text_in(about, "processor");
  text = line("processor", processor.empty() ? text : fmt::format("{}; compiled on {}", text, processor));
  std::string libraries;
  const ordered_json versions = about.value("libraries", ordered_json::object());
  for (const auto& [name, version] : versions.items())
    runtime::add_to_list(libraries, fmt::format("{} {}", name, version.is_string() ? version.get<std::string>() : "?"));
  return libraries.empty() ? text : text + line("libraries", libraries);
}

std::string hosts_text(const ordered_json& about) {
  std::string text;
  for (const ordered_json& host : about.value("hosts", ordered_json::array())) {
    text += line(text.empty() ? "hosts" : "",
                 fmt::format("{}: plan {}, code {}, constants {}, memory {}", text_in(host, "name"),
                             bytes_in(host, "plan_bytes"), bytes_in(host, "code_bytes"),
                             bytes_in(host, "constant_bytes"), bytes_in(host, "arena_bytes")));
  }
  return text;
}

}  // namespace

runtime::Result<std::string> about_text(const runtime::PackageSet& set) {
  const size_t shown = set.is_cluster() ? 0 : set.count() - 1;
  const runtime::Result<runtime::Package> package = set.load(shown);
  if (!package) return package.status();
  const Plan& plan = package->plan;
  const ordered_json about = ordered_json::parse(set.about(), nullptr, false);
  const runner::ModelPorts ports = runner::ports_of(plan);
  const std::vector<runtime::ShapedVariant>& variants = set.shapes().variants;
  std::string text = line("model", fmt::format("{}, compiled by Collage {}", plan.model, text_in(about, "collage")));
  text += ports_text("inputs", ports.inputs, variants, &runtime::ShapedVariant::inputs);
  text += ports_text("outputs", ports.outputs, variants, &runtime::ShapedVariant::outputs);
  if (set.is_shaped()) {
    text += line("shapes", set.shapes().held());
    text += line("shown", "what follows is of " + set.shapes().name_of(shown));
  }
  text += line("predicted",
               fmt::format("{} a run{}", human(plan.predicted), plan.is_concurrent ? ", steps side by side" : ""));
  Placed placed;
  placed.add(plan);
  for (size_t host = 1; set.is_cluster() && host < set.hosts(); ++host) {
    const runtime::Result<runtime::Package> part = set.load(host);
    if (!part) return part.status();
    placed.add(part->plan);
  }
  text += placed.text();
  text += set.is_cluster() ? hosts_text(about) : line("memory", memory_text(plan));
  text += line("threads", std::to_string(set.threads()));
  text += needs_text(about);
  if (!plan.known_runs.empty())
    text += line("check", fmt::format("`--check` compares with {}",
                                      runtime::counted(static_cast<int64_t>(plan.known_runs.size()), "stored run")));
  return text;
}

}  // namespace collage::tools
