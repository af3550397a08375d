// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/formats/layouts.h"

#include <algorithm>

#include "runtime/core/layout.h"

namespace collage::place {

using runtime::Storage;

int LayoutTable::intern(TensorLayout layout) {
  int known = find(layout);
  if (known >= 0) return known;
  rows_.push_back(std::move(layout));
  return static_cast<int>(rows_.size() - 1);
}

int LayoutTable::find(const TensorLayout& layout) const {
  auto at = std::find(rows_.begin(), rows_.end(), layout);
  return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

std::string LayoutTable::name(int layout) const {
  const TensorLayout& row = at(layout);
  return row.storage ? row.layout + " " + runtime::to_string(*row.storage) : row.layout;
}

LayoutTable layouts_in_play(const std::vector<ActiveBackend>& backends) {
  LayoutTable table;
  std::vector<Storage> storages;
  auto add = [&](const std::optional<std::string>& layout, const std::optional<Storage>& storage) {
    if (storage && std::find(storages.begin(), storages.end(), *storage) == storages.end())
      storages.push_back(*storage);
    if (layout && *layout != runtime::kChannelsLast) table.intern({runtime::canonical_layout(*layout)});
    if (layout != runtime::kChannelsLast) return;
    for (size_t rank = 3; rank <= 5; ++rank) table.intern({runtime::layout_of_rank(*layout, rank)});
  };
  for (const ActiveBackend& active : backends) {
    add(active.backend->default_layout, active.backend->default_storage);
    for (const ir::Rule& rule : active.backend->rules) {
      for (const ir::FormatClause& clause : rule.formats) add(clause.layout, clause.storage);
    }
  }
  const size_t layouts = table.size();
  for (const Storage& storage : storages) {
    for (size_t i = 0; i < layouts; ++i) table.intern({table.at(static_cast<int>(i)).layout, storage});
  }
  return table;
}

}  // namespace collage::place
