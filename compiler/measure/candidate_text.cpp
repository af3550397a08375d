// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/candidate_text.h"

#include <fmt/format.h>

#include "compiler/ir/placement/extract_partition.h"
#include "compiler/ir/placement/print.h"
#include "runtime/core/host_space.h"

namespace collage::measure {
namespace {

/// A constant of at most this many floats determines shapes or bounds; a larger one is a weight.
constexpr int64_t kSmallFloats = 16;
/// At most this many integers are written out; larger tables become zeros, which are valid indices everywhere.
constexpr int64_t kSmallIntegers = 4096;

/// On the first host of a cluster: hosts are taken to be alike.
ir::Partition on_first_host(ir::Partition partition) {
  const auto move = [](std::string& space) {
    if (runtime::is_host_space(space)) space = runtime::host_space(0);
  };
  move(partition.instance);
  for (std::vector<ir::BoundaryValue>* list : {&partition.inputs, &partition.outputs}) {
    for (ir::BoundaryValue& item : *list) move(item.format.space);
  }
  return partition;
}

}  // namespace

bool tells_elements(const runtime::Tensor& constant) {
  return constant.count() <= (runtime::is_float(constant.dtype()) ? kSmallFloats : kSmallIntegers);
}

ir::Constant untrained_constant(const ir::Constant& constant) {
  ir::Constant made;
  made.data = constant.data;
  if (tells_elements(made.data)) return made;
  const bool can_be_random = runtime::is_float(made.data.dtype()) && runtime::is_arithmetic(made.data.dtype());
  made.form = can_be_random ? ir::Constant::Form::Random : ir::Constant::Form::Splat;
  made.seed = 1;
  return made;
}

std::string candidate_text(const ir::Graph& graph, const ir::Partition& candidate) {
  int names = 0;
  const ir::Extraction how{"candidate", [&](ir::ValueId) { return fmt::format("v{}", names++); }, untrained_constant};
  const ir::PlacedGraph model = ir::extract_partition(graph, on_first_host(candidate), how);
  return ir::print(model.graph, model.placement);
}

}  // namespace collage::measure
