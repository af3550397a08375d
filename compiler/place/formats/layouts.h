// SPDX-License-Identifier: Apache-2.0
// The forms in which tensors lie, without the memory space: the table of those that a set of backends can ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/placement.h"
#include "compiler/place/formats/active_backend.h"

namespace collage::place {

/// How a tensor lies in memory, whichever: a format without its space.
struct TensorLayout {
  std::string layout = "plain";
  std::optional<runtime::Storage> storage{};
  friend auto operator<=>(const TensorLayout&, const TensorLayout&) = default;
};

/// What occurs, by index; 0 is plain, as the value's own dtype says.
class LayoutTable {
 public:
  int intern(TensorLayout layout);
  /// -1: not there.
  int find(const TensorLayout& layout) const;
  const TensorLayout& at(int layout) const { return rows_[static_cast<size_t>(layout)]; }
  ir::Format format(int layout, const std::string& space) const {
    return {space, at(layout).layout, at(layout).storage};
  }
  /// `NHWC`, `plain`, `NHWC f16`
  std::string name(int layout) const;
  size_t size() const { return rows_.size(); }

 private:
  std::vector<TensorLayout> rows_{1};
};

/// Every layout, and each of them in every storage, that a format clause or a default of these backends names. What an
/// operand of format `any` may be in are those of one storage.
LayoutTable layouts_in_play(const std::vector<ActiveBackend>& backends);

}  // namespace collage::place
