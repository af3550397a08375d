// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/formats/layouts.h"

#include <algorithm>

#include "runtime/core/layout.h"

namespace collage::place {

using runtime::Storage;

LayoutId LayoutTable::intern(TensorForm layout) {
  const LayoutId known = find(layout);
  return known.is_valid() ? known : rows_.add(std::move(layout));
}

LayoutId LayoutTable::find(const TensorForm& layout) const {
  auto at = std::find(rows_.begin(), rows_.end(), layout);
  return at == rows_.end() ? LayoutId() : LayoutId(at - rows_.begin());
}

std::string LayoutTable::name(LayoutId layout) const {
  const TensorForm& row = at(layout);
  return row.storage ? row.layout + " " + runtime::to_string(*row.storage) : row.layout;
}

LayoutTable layouts_in_play(const ActiveBackends& backends) {
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
      for (const ir::Kernel& kernel : rule.kernels) {
        for (const ir::FormatClause& clause : kernel.formats) add(clause.layout, clause.storage);
      }
    }
  }
  const support::IdRange<LayoutId> layouts = table.ids();
  for (const Storage& storage : storages) {
    for (LayoutId layout : layouts) table.intern({table.at(layout).layout, storage});
  }
  return table;
}

}  // namespace collage::place
