// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/check_placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/layout.h"
#include "runtime/kernels/kernel.h"

namespace collage::plan {
namespace {

using ir::Format;
using ir::Partition;
using support::Code;

class PlacementChecker {
 public:
  explicit PlacementChecker(const PlanContext& context)
      : context_(context), graph_(context.graph), targets_(context.targets) {}

  bool run() {
    const auto& [partitions, conversions] = context_.placement;
    return std::all_of(partitions.begin(), partitions.end(), [&](const Partition& p) { return check(p); }) &&
           std::all_of(conversions.begin(), conversions.end(), [&](const ir::Conversion& c) { return check(c); });
  }

 private:
  bool check(const Partition& partition) {
    return check_backend(partition) && check_boundary(partition) && check_operators(partition);
  }

  bool check_backend(const Partition& partition) {
    const std::string where = place_of(partition);
    const BackendTarget* backend = targets_.find_backend(partition.backend);
    if (backend == nullptr) {
      return context_.fail(Code::UnknownDevice, partition.span, where,
                           fmt::format("no rule file declares backend `{}`", partition.backend));
    }
    const bool is_host = targets_.has_host(partition.instance);
    if (!is_host && targets_.find_device(partition.instance) == nullptr) {
      return context_.fail(Code::UnknownDevice, partition.span, where,
                           fmt::format("no rule file declares `{}`", partition.instance));
    }
    const bool needs_host = !ir::is_device(backend->runtime);
    if (needs_host == is_host) return true;
    return context_.fail(Code::BackendFailed, partition.span, where,
                         fmt::format("backend `{}` cannot run on `{}`", partition.backend, partition.instance));
  }

  bool check_boundary(const Partition& partition) {
    for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
      for (const ir::BoundaryValue& entry : *boundary) {
        if (!check(entry, partition.span, place_of(partition))) return false;
        if (entry.format.space == partition.instance) continue;
        return context_.fail(Code::WrongFormat, partition.span, place_of(partition),
                             fmt::format("`%{}` is in `{}`, but the partition runs on `{}`",
                                         graph_.value(entry.value).name, entry.format.space, partition.instance));
      }
    }
    return true;
  }

  bool check_operators(const Partition& partition) {
    if (targets_.has_host(partition.instance)) return true;
    for (ir::NodeId node : partition.nodes) {
      const ir::Node& described = graph_.node(node);
      if (runtime::find_reference_kernel(described.op->name) != nullptr) continue;
      return context_.fail(Code::BackendFailed, described.span, place_of(partition),
                           fmt::format("`{}` has no kernel on `{}`", described.op->name, partition.instance));
    }
    return true;
  }

  /// Does the format exist, and can a tensor of the value's type be in it?
  bool check(const ir::BoundaryValue& entry, support::Span span, const std::string& where) {
    const Format& format = entry.format;
    const ir::Value& described = graph_.value(entry.value);
    if (!targets_.has_host(format.space) && targets_.find_device(format.space) == nullptr) {
      return context_.fail(Code::UnknownDevice, span, where, fmt::format("no rule file declares `{}`", format.space));
    }
    const size_t rank = described.type.shape.size();
    if (!runtime::layout_permutation(format.layout, rank)) {
      return context_.fail(
          Code::WrongFormat, span, where,
          fmt::format("`%{}` has rank {}, layout `{}` does not exist for it", described.name, rank, format.layout));
    }
    const std::string why = ir::format_mismatch(described.type, format);
    return why.empty() || context_.fail(Code::WrongFormat, span, where, fmt::format("`%{}` {}", described.name, why));
  }

  bool check(const ir::Conversion& conversion) {
    const std::string where = "conversion `" + conversion.name + "`";
    if (!check({conversion.value, conversion.from}, conversion.span, where)) return false;
    if (!check({conversion.value, conversion.to}, conversion.span, where)) return false;
    const Format from = context_.canonical(conversion.from, conversion.value);
    const Format to = context_.canonical(conversion.to, conversion.value);
    const bool from_host = targets_.has_host(from.space), to_host = targets_.has_host(to.space);
    if (targets_.host_of(from.space) != targets_.host_of(to.space) && !(from_host && to_host)) {
      return context_.fail(
          Code::NoRoute, conversion.span, where,
          fmt::format("`{}` and `{}` stand at different hosts: what one copies to the other goes through the memories "
                      "of both hosts",
                      from.space, to.space));
    }
    const bool is_peer_copy = from_host == to_host && from.space != to.space;
    if (!is_peer_copy || (from.layout == to.layout && from.storage == to.storage)) return true;
    return context_.fail(Code::NoRoute, conversion.span, where,
                         fmt::format("a copy between {} cannot change the {}", from_host ? "hosts" : "devices",
                                     from.layout != to.layout ? "layout" : "dtype"));
  }

  const PlanContext& context_;
  const ir::Graph& graph_;
  const PlanTargets& targets_;
};

}  // namespace

bool check_placement(const PlanContext& context) {
  return PlacementChecker(context).run();
}

}  // namespace collage::plan
