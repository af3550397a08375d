// SPDX-License-Identifier: Apache-2.0
// The forms in which tensors lie, without the memory space: the table of those that a set of backends can ask for.
#pragma once

#include <string>

#include "compiler/ir/placement/placement.h"
#include "compiler/place/formats/active_backend.h"
#include "runtime/support/ids.h"

namespace collage::place {

using runtime::TensorForm;

using LayoutId = support::Id<TensorForm>;

/// The layouts that occur; 0 is plain, in the value's own dtype.
class LayoutTable {
 public:
  LayoutId intern(TensorForm layout);
  /// None: not there.
  LayoutId find(const TensorForm& layout) const;
  const TensorForm& at(LayoutId layout) const { return rows_[layout]; }
  ir::Format format(LayoutId layout, const std::string& space) const { return ir::Format(space, at(layout)); }
  /// `NHWC`, `plain`, `NHWC f16`
  std::string name(LayoutId layout) const;
  support::IdRange<LayoutId> ids() const { return rows_.ids(); }

 private:
  support::Table<LayoutId, TensorForm> rows_ = {TensorForm()};
};

/// Every layout, and each of them in every storage, that a format clause or a default of these backends names. What an
/// operand of format `any` may be in are those of one storage.
LayoutTable layouts_in_play(const ActiveBackends& backends);

}  // namespace collage::place
