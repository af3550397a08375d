// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/formats/format_graph.h"

#include <algorithm>

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

FormatGraph::FormatGraph(const ActiveBackends& backends) : topology_(declared_by(backends)) {}

std::optional<Duration> FormatGraph::copy_cost(const std::string& from, const std::string& to, size_t bytes) const {
  const ir::Route* route = find_route(from, to);
  return route == nullptr ? std::nullopt : std::optional(route->time_of(bytes));
}

Duration FormatGraph::rewrite_cost(const std::string& space, size_t bytes) {
  double rate = space == "host" ? kHostBytesPerSecond : kDeviceBytesPerSecond;
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
  for (const ir::Format& from : here) {
    for (const ir::Format& to : here) {
      const int changes = (from.space != to.space) + (from.layout != to.layout) + (from.storage != to.storage);
      if (changes != 1 || (from.storage != to.storage && is_final(from.storage))) continue;
      const size_t bytes = ir::bytes_in(type, from);
      std::optional<Duration> cost = from.space == to.space ? rewrite_cost(from.space, bytes + ir::bytes_in(type, to))
                                                            : copy_cost(from.space, to.space, bytes);
      if (cost) edges.push_back({intern_format(from, formats), intern_format(to, formats), Cost::time(*cost)});
    }
  }
  return edges;
}

}  // namespace collage::place
