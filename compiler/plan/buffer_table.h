// SPDX-License-Identifier: Apache-2.0
// The buffers of a plan under construction: one per value and format. Constants become resident, once per memory space
// and layout, whichever steps read them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/ir/placement/placement.h"
#include "runtime/core/status.h"
#include "runtime/plan/plan.h"

namespace collage::plan {

class BufferTable {
 public:
  /// Adds to `plan`, which holds nothing but the host space yet.
  BufferTable(const ir::Graph& graph, runtime::Plan& plan) : graph_(graph), plan_(plan) {}

  /// Index into Plan::spaces; the space is added at first use.
  int space(const std::string& name);
  /// Expects a layout that exists for the value's rank.
  runtime::BufferId of(ir::ValueId value, const ir::Format& format);
  /// A constant of the graph as encoded bytes in a device's memory. The failure says why it cannot be encoded.
  runtime::Result<runtime::BufferId> of_encoded(ir::ValueId constant, const std::string& space,
                                                const std::string& encoding);
  /// Resident memory for data that is no value of the graph: packed weights. Equal data lie once in each space, as
  /// weights that many nodes share are packed for each of them.
  runtime::BufferId add_constant(std::string name, runtime::Tensor data, const std::string& space_name = "host");
  /// Memory that one call writes for others to read.
  runtime::BufferId add_temporary(std::string name, runtime::DType dtype, runtime::Shape shape,
                                  const std::string& space_name = "host");

  /// Where a buffer lies in another one: `root` shares its memory with no larger buffer.
  struct Place {
    runtime::BufferId root = -1;
    size_t offset = 0;  ///< bytes from the root's first
  };
  /// Makes plain value `part` of a host's memory lie in `whole` from byte `offset` on. Both are written once, so that
  /// sharing is right wherever the bytes are equal. False, and nothing happens: a constant, `part` already lies in
  /// another buffer, or the place is not aligned.
  bool share(ir::ValueId part, ir::ValueId whole, size_t offset, const std::string& space_name = "host");
  Place place_of(runtime::BufferId id) const;

 private:
  runtime::BufferId add(runtime::Buffer buffer);
  void make_resident(runtime::BufferId id, runtime::Tensor data);
  runtime::BufferId find_equal(uint64_t sample, int space, const runtime::Tensor& data) const;

  const ir::Graph& graph_;
  runtime::Plan& plan_;
  std::map<std::pair<ir::ValueId, ir::Format>, runtime::BufferId> by_value_;
  std::map<std::tuple<ir::ValueId, std::string, std::string>, runtime::BufferId> encoded_;  ///< with space, encoding
  /// By a sample of their bytes: what `add_constant` made, as places in Plan::constants.
  std::multimap<uint64_t, size_t> added_;
  std::map<runtime::BufferId, Place> shared_;  ///< the next larger buffer of those that lie in one
};

}  // namespace collage::plan
