// SPDX-License-Identifier: Apache-2.0
// What conversions exist between the formats of a value, and what they cost: the edges of the problem's graphs of
// formats.
//
//     copy      host <-> device, device <-> device, in one layout    latency + bytes / bandwidth of the link
//     reorder   between layouts in one space                         launch + 2 * bytes / bandwidth of the memory
//
// Devices without a link between them meet through the host: `host` always is one of the spaces.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/place/candidates.h"
#include "compiler/place/problem.h"

namespace collage::place {

class FormatGraph {
 public:
  /// Knows the links of the devices of these backends.
  explicit FormatGraph(const std::vector<ActiveBackend>& backends);

  /// All conversions of a value of `type` among `spaces` x `layouts`, as far as the layouts exist for it.
  /// `formats` gains what is not there yet.
  std::vector<ConversionEdge> edges(const ir::TensorType& type, const std::vector<std::string>& spaces,
                                    const std::vector<std::string>& layouts, std::vector<ir::Format>* formats) const;

  /// Nothing where no link joins the two.
  std::optional<Duration> copy_cost(const std::string& from, const std::string& to, size_t bytes) const;
  static Duration reorder_cost(const std::string& space, size_t bytes);

 private:
  const ir::Link* find_link(const std::string& from, const std::string& to) const;
  std::map<std::string, const ir::DeviceDecl*, std::less<>> devices_;  ///< by instance: `npu[0]`
};

/// Index of `format` in the table, appended where it is new.
FormatId intern_format(const ir::Format& format, std::vector<ir::Format>* formats);

}  // namespace collage::place
