// SPDX-License-Identifier: Apache-2.0
// The layouts of a partition's values. Values that an operator needs in one layout form a class, which lies as its
// members at the boundary do; a class inside the partition has its channels last where it can.
//
//     x NHWC at the boundary, %a = Relu(%x), %b = Add(%a, %c)   =>   x, a, b, c: one class, NHWC
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/codegen/layout/value_layouts.h"
#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::codegen {

class LayoutClasses {
 public:
  /// `given` are the layouts of values at the boundary; what is not named there is plain.
  LayoutClasses(const ir::Graph& graph, const ValueLayouts& given) : graph_(graph), given_(given) {}

  /// The two values lie alike.
  void tie(ir::ValueId a, ir::ValueId b);
  void keep_plain(ir::ValueId value) { plain_.push_back(value); }

  /// Decides all classes. The error names a value that would have to lie in two ways.
  runtime::Status resolve(const std::vector<ir::ValueId>& boundary, const std::vector<ir::ValueId>& inside);

  /// In plain layout and with the channels last its elements stand alike: it lies as its class does, and plainly.
  bool is_free(ir::ValueId value) const;
  std::string of(ir::ValueId value) const;

 private:
  ir::ValueId root(ir::ValueId value) const;
  runtime::Status assign(ir::ValueId value, const std::string& layout);

  const ir::Graph& graph_;
  const ValueLayouts& given_;
  std::map<ir::ValueId, ir::ValueId> parents_;
  std::map<ir::ValueId, std::string> of_class_;
  std::vector<ir::ValueId> plain_;
};

}  // namespace collage::codegen
