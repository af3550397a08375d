// SPDX-License-Identifier: Apache-2.0
// See steiner.h. best(T, u) is the cheapest arborescence from format u to the wanted formats T:
//
//     best({u}, u) = 0
//     best(T, u)   = min( best(T', u) + best(T \ T', u),  cost(u -> v) + best(T, v) )
//
// Prices are pairs (cost, edges), so that conversions of cost zero cannot form loops or detours.
#include "compiler/place/problem/steiner.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace collage::place {
namespace {

struct Price {
  Cost cost = Cost::max();
  int edges = 0;

  friend auto operator<=>(const Price&, const Price&) = default;
};

bool reachable(const Price& price) {
  return price.cost < Cost::max();
}

/// How a best price came about: over an edge, by splitting the wanted set, or not at all.
struct Origin {
  const ConversionEdge* edge = nullptr;
  size_t part = 0;
};

/// A format by its place among those of one call, ascending.
using SteinerSlot = Id<struct SteinerSlotTag>;

class SteinerTable {
 public:
  SteinerTable(const std::vector<ConversionEdge>& edges, FormatId root, const std::vector<FormatId>& wanted)
      : edges_(edges), wanted_(wanted) {
    std::vector<FormatId> formats = {root};
    for (const ConversionEdge& edge : edges) {
      formats.push_back(edge.from);
      formats.push_back(edge.to);
    }
    formats.insert(formats.end(), wanted.begin(), wanted.end());
    std::sort(formats.begin(), formats.end());
    formats.erase(std::unique(formats.begin(), formats.end()), formats.end());
    formats_ = Table<SteinerSlot, FormatId>(std::move(formats));
    const size_t cells = formats_.size() << wanted.size();
    prices_.resize(cells);
    origins_.resize(cells);
    for (size_t set = 1; set < size_t{1} << wanted.size(); ++set) fill(set);
  }

  Arborescence read(FormatId root) const {
    const size_t all = (size_t{1} << wanted_.size()) - 1;
    Arborescence result;
    result.cost = prices_[cell(all, slot(root))].cost;
    if (!result.reachable()) return result;
    std::vector<size_t> todo = {cell(all, slot(root))};
    // Depth first from the root: an edge is met before those that leave its target.
    while (!todo.empty()) {
      const size_t at = todo.back();
      todo.pop_back();
      const size_t set = at / formats_.size();
      const Origin& origin = origins_[at];
      if (origin.edge != nullptr) {
        result.edges.push_back(*origin.edge);
        todo.push_back(cell(set, slot(origin.edge->to)));
      } else if (origin.part != 0) {
        const SteinerSlot format(at % formats_.size());
        todo.push_back(cell(set ^ origin.part, format));
        todo.push_back(cell(origin.part, format));
      }
    }
    return result;
  }

 private:
  SteinerSlot slot(FormatId format) const {
    return SteinerSlot(std::lower_bound(formats_.begin(), formats_.end(), format) - formats_.begin());
  }
  size_t cell(size_t set, SteinerSlot format) const { return set * formats_.size() + format.slot(); }

  void fill(size_t set) {
    for (size_t t = 0; t < wanted_.size(); ++t) {
      if (set == size_t{1} << t) prices_[cell(set, slot(wanted_[t]))] = {Cost(), 0};
    }
    for (size_t part = (set - 1) & set; part > (set ^ part); part = (part - 1) & set) {
      for (SteinerSlot u : formats_.ids()) {
        const Price& a = prices_[cell(part, u)];
        const Price& b = prices_[cell(set ^ part, u)];
        if (reachable(a) && reachable(b)) improve(cell(set, u), {a.cost + b.cost, a.edges + b.edges}, {nullptr, part});
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const ConversionEdge& edge : edges_) {
        const Price& next = prices_[cell(set, slot(edge.to))];
        if (!reachable(next)) continue;
        const Price price = {edge.cost + next.cost, next.edges + 1};
        changed |= improve(cell(set, slot(edge.from)), price, {&edge, 0});
      }
    }
  }

  bool improve(size_t at, const Price& price, const Origin& origin) {
    if (!reachable(price) || price >= prices_[at]) return false;
    prices_[at] = price;
    origins_[at] = origin;
    return true;
  }

  const std::vector<ConversionEdge>& edges_;
  const std::vector<FormatId>& wanted_;
  Table<SteinerSlot, FormatId> formats_;
  std::vector<Price> prices_;
  std::vector<Origin> origins_;
};

/// Grows to the nearest wanted format each time. One queue serves for all: distances only fall as the tree grows.
Arborescence nearest_first(const std::vector<ConversionEdge>& edges, FormatId root,
                           const std::vector<FormatId>& wanted) {
  struct Reached {
    Price price;
    const ConversionEdge* by = nullptr;  ///< null: in the tree
  };
  std::map<FormatId, std::vector<const ConversionEdge*>> out_of;
  for (const ConversionEdge& edge : edges) out_of[edge.from].push_back(&edge);
  std::map<FormatId, Reached> reached;
  std::set<std::pair<Price, FormatId>> queue;
  const auto set_price = [&](FormatId format, const Price& price, const ConversionEdge* by) {
    Reached& known = reached[format];
    queue.erase({known.price, format});
    known = {price, by};
    queue.emplace(price, format);
  };
  set_price(root, {Cost(), 0}, nullptr);
  Arborescence tree;
  size_t missing = wanted.size();
  while (!queue.empty() && missing > 0) {
    const auto [price, format] = *queue.begin();
    queue.erase(queue.begin());
    if (reached[format].by != nullptr && std::binary_search(wanted.begin(), wanted.end(), format)) {
      std::vector<const ConversionEdge*> path;
      for (FormatId at = format; reached[at].by != nullptr; at = path.back()->from) path.push_back(reached[at].by);
      for (auto edge = path.rbegin(); edge != path.rend(); ++edge) {
        tree.edges.push_back(**edge);
        tree.cost += (*edge)->cost;
        if (std::binary_search(wanted.begin(), wanted.end(), (*edge)->to)) --missing;
        set_price((*edge)->to, {Cost(), 0}, nullptr);
      }
      continue;
    }
    for (const ConversionEdge* edge : out_of[format]) {
      const Price next = {price.cost + edge->cost, price.edges + 1};
      const auto known = reached.find(edge->to);
      if (known == reached.end() || next < known->second.price) set_price(edge->to, next, edge);
    }
  }
  if (missing > 0) return {Cost::max(), {}};
  return tree;
}

}  // namespace

Arborescence cheapest_arborescence(std::vector<ConversionEdge> edges, FormatId root, std::vector<FormatId> wanted) {
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::erase(wanted, root);
  if (wanted.empty()) return {};
  std::erase_if(edges, [](const ConversionEdge& edge) { return edge.cost >= Cost::max(); });
  std::sort(edges.begin(), edges.end(), [](const ConversionEdge& a, const ConversionEdge& b) {
    return std::tie(a.from, a.to, a.cost) < std::tie(b.from, b.to, b.cost);
  });
  if (wanted.size() > kMaxWantedFormats) return nearest_first(edges, root, wanted);
  return SteinerTable(edges, root, wanted).read(root);
}

}  // namespace collage::place
