// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/formats/format_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/host_space.h"
#include "runtime/core/layout.h"

namespace collage::place {
namespace {

/// A reorder or a cast reads and writes every element once, at the speed of the memory it lies in: host as in
/// host_cost.cpp, devices a moderate figure for the DRAM beside an accelerator.
constexpr double kHostBytesPerSecond = 10e9;
constexpr double kDeviceBytesPerSecond = 20e9;
constexpr double kRewriteLaunchSeconds = 1e-6;

std::vector<const ir::Backend*> declared_by(const ActiveBackends& backends) {
  std::vector<const ir::Backend*> declared;
  for (const ActiveBackend& active : backends) declared.push_back(active.backend);
  return declared;
}

}  // namespace

FormatId intern_format(const ir::Format& format, Table<FormatId, ir::Format>* formats) {
  const auto known = std::find(formats->begin(), formats->end(), format);
  return known == formats->end() ? formats->add(format) : FormatId(known - formats->begin());
}

FormatGraph::FormatGraph(const ActiveBackends& backends) : FormatGraph(backends, ir::Topology(declared_by(backends))) {}

FormatGraph::FormatGraph(const ActiveBackends& backends, const ir::RuleSet& registered)
    : FormatGraph(backends, backends.empty() ? ir::Topology(registered) : ir::Topology(declared_by(backends))) {}

FormatGraph::FormatGraph(const ActiveBackends& backends, ir::Topology topology) : topology_(std::move(topology)) {
  for (const ActiveBackend& active : backends) {
    for (const ir::DeviceDecl& device : active.backend->devices) {
      for (size_t i = 0; i < device.hosts.size(); ++i) {
        if (device.hosts[i] != 0) away_.emplace(fmt::format("{}[{}]", device.name, i), device.hosts[i]);
      }
    }
  }
}

int FormatGraph::host_of(const std::string& space) const {
  if (const std::optional<int> number = runtime::host_number(space)) return *number;
  const auto at = away_.find(space);
  return at == away_.end() ? 0 : at->second;
}

const ir::Route* FormatGraph::find_route(const std::string& from, const std::string& to) const {
  return topology_.find_copy(from, to);
}

std::optional<Duration> FormatGraph::copy_cost(const std::string& from, const std::string& to, size_t bytes) const {
  const ir::Route* route = find_route(from, to);
  return route == nullptr ? std::nullopt : std::optional(route->time_of(bytes));
}

Duration FormatGraph::rewrite_cost(const std::string& space, size_t bytes) {
  double rate = runtime::is_host_space(space) ? kHostBytesPerSecond : kDeviceBytesPerSecond;
  return Duration::seconds(kRewriteLaunchSeconds + static_cast<double>(bytes) / rate);
}

std::vector<ConversionEdge> FormatGraph::edges(const ir::TensorType& type, const Forms& forms,
                                               Table<FormatId, ir::Format>* formats) const {
  std::vector<ir::Format> here;
  for (const std::string& space : forms.spaces) {
    for (const std::string& layout : forms.layouts) {
      if (!runtime::layout_permutation(layout, type.shape.size())) continue;
      for (const std::optional<Storage>& storage : forms.storages) here.push_back({space, layout, storage});
    }
  }
  auto is_final = [&](const std::optional<Storage>& storage) {
    return storage && !forms.written.contains(storage) && runtime::is_lossy(type.dtype, *storage);
  };
  std::vector<ConversionEdge> edges;
  std::vector<FormatId> ids(here.size());  // in the order in which edges name them
  const auto id_of = [&](const ir::Format& format) {
    FormatId& id = ids[static_cast<size_t>(&format - here.data())];
    if (!id.is_valid()) id = intern_format(format, formats);
    return id;
  };
  for (const ir::Format& from : here) {
    for (const ir::Format& to : here) {
      const int changes = (from.space != to.space) + (from.layout != to.layout) + (from.storage != to.storage);
      if (changes != 1 || (from.storage != to.storage && is_final(from.storage))) continue;
      const size_t bytes = ir::bytes_in(type, from);
      std::optional<Duration> cost = from.space == to.space ? rewrite_cost(from.space, bytes + ir::bytes_in(type, to))
                                                            : copy_cost(from.space, to.space, bytes);
      if (!cost) continue;
      const FormatId start = id_of(from);
      edges.push_back({start, id_of(to), Cost::time(*cost)});
    }
  }
  return edges;
}

}  // namespace collage::place
