// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/blocks.h"

#include <algorithm>
#include <tuple>

#include "runtime/core/text.h"

namespace collage::page {
namespace {

constexpr size_t kLongestPeriod = 1024;  // items of one block
constexpr size_t kShortSequence = 8;     // is shown as it is
constexpr size_t kFewItems = 4;          // of all equal blocks together: not worth a box
constexpr size_t kMostModules = 32;      // of a scope; a name may have any number of separators

struct Repeats {
  size_t begin = 0;
  size_t period = 0;
  size_t times = 0;

  size_t covered() const { return period * times; }
  size_t end() const { return begin + covered(); }
};

/// The longest runs of each period in [begin, end). Work: items times periods.
std::vector<Repeats> all_repeats(const std::vector<int>& items, size_t begin, size_t end) {
  std::vector<Repeats> all;
  const size_t longest = std::min(kLongestPeriod, (end - begin) / 2);
  for (size_t period = 1; period <= longest; ++period) {
    size_t equal = 0;  // items from `i` on that are as those a period later
    for (size_t i = end - period; i-- > begin;) {
      if (items[i] != items[i + period]) {
        equal = 0;
        continue;
      }
      ++equal;
      const bool goes_on = i > begin && items[i - 1] == items[i - 1 + period];
      const size_t times = equal / period + 1;
      if (!goes_on && times > 1 && period * times >= kFewItems) all.push_back({i, period, times});
    }
  }
  return all;
}

/// Those that cover most, of equal ones the shortest period; no two overlap. By begin.
std::vector<Repeats> choose(std::vector<Repeats> all) {
  std::sort(all.begin(), all.end(), [](const Repeats& a, const Repeats& b) {
    return std::tuple(b.covered(), a.period, a.begin) < std::tuple(a.covered(), b.period, b.begin);
  });
  std::vector<Repeats> chosen;
  for (const Repeats& one : all) {
    const bool is_free = std::all_of(chosen.begin(), chosen.end(), [&](const Repeats& other) {
      return one.end() <= other.begin || other.end() <= one.begin;
    });
    if (is_free) chosen.push_back(one);
  }
  std::sort(chosen.begin(), chosen.end(), [](const Repeats& a, const Repeats& b) { return a.begin < b.begin; });
  return chosen;
}

/// A section of [first, last).
Block section_of(std::vector<Block>::const_iterator first, std::vector<Block>::const_iterator last) {
  Block section{first->begin, (last - 1)->end};
  section.children.assign(first, last);
  return section;
}

/// Cuts a level into as many sections as it needs, of about the same length.
std::vector<Block> cut(const std::vector<Block>& blocks) {
  const size_t sections = (blocks.size() + kMostInBlock - 1) / kMostInBlock;
  std::vector<Block> level;
  for (size_t s = 0; s < sections; ++s) {
    const auto first = blocks.begin() + static_cast<ptrdiff_t>(s * blocks.size() / sections);
    const auto last = blocks.begin() + static_cast<ptrdiff_t>((s + 1) * blocks.size() / sections);
    level.push_back(section_of(first, last));
  }
  return level;
}

/// Puts what lies between repeats into sections, so that the repeats stay where they are seen.
std::vector<Block> with_repeats_apart(const std::vector<Block>& blocks) {
  std::vector<Block> level;
  for (auto first = blocks.begin(); first != blocks.end();) {
    const auto last = first->times > 1
                          ? first + 1
                          : std::find_if(first, blocks.end(), [](const Block& one) { return one.times > 1; });
    level.push_back(last - first == 1 ? *first : section_of(first, last));
    first = last;
  }
  return level;
}

/// Puts neighbours together until no level has too many.
std::vector<Block> in_sections(std::vector<Block> blocks) {
  if (blocks.size() <= kMostInBlock) return blocks;
  std::vector<Block> level = with_repeats_apart(blocks);
  const bool has_repeats = level.size() > 1 && level.size() < blocks.size();
  if (!has_repeats) level = cut(blocks);
  for (Block& block : level) {
    if (block.times == 1) block.children = in_sections(std::move(block.children));
  }
  return in_sections(std::move(level));
}

Block moved(Block block, size_t distance) {
  block.begin += distance;
  block.end += distance;
  for (Block& child : block.children) child = moved(std::move(child), distance);
  return block;
}

std::vector<Block> blocks_of(const std::vector<int>& items, size_t begin, size_t end);

Block repeated(const std::vector<int>& items, const Repeats& repeats) {
  Block first{repeats.begin, repeats.begin + repeats.period};
  if (repeats.period > 1) first.children = blocks_of(items, first.begin, first.end);
  std::vector<Block> equal;
  for (size_t i = 0; i < repeats.times; ++i) equal.push_back(moved(first, i * repeats.period));
  return {repeats.begin, repeats.end(), repeats.times, in_sections(std::move(equal))};
}

std::vector<Block> blocks_of(const std::vector<int>& items, size_t begin, size_t end) {
  std::vector<Block> blocks;
  size_t at = begin;
  const auto add_items = [&](size_t until) {
    for (; at < until; ++at) blocks.push_back({at, at + 1});
  };
  if (end - begin > kShortSequence) {
    for (const Repeats& repeats : choose(all_repeats(items, begin, end))) {
      add_items(repeats.begin);
      blocks.push_back(repeated(items, repeats));
      at = repeats.end();
    }
  }
  add_items(end);
  return in_sections(std::move(blocks));
}

/// Blocks of items [begin, end), which are all in the same module of each level above `depth`.
std::vector<Block> scopes_of(const std::vector<int>& items, const std::vector<Scope>& scopes, size_t begin, size_t end,
                             size_t depth) {
  const auto end_of_run = [&](size_t first) {
    size_t last = first + 1;
    while (last < end && scopes[last].size() > depth && scopes[last][depth] == scopes[first][depth]) ++last;
    return last;
  };
  std::vector<Block> blocks;
  size_t loose = begin;  // items from there on stand in no deeper module, or alone in it
  const auto add_loose = [&](size_t until) {
    std::vector<Block> found = blocks_of(items, loose, until);
    blocks.insert(blocks.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  };
  for (size_t at = begin; at < end;) {
    const size_t last = scopes[at].size() > depth ? end_of_run(at) : at + 1;
    if (last - at > 1) {
      add_loose(at);
      loose = last;
      Block block{at, last, 1, scopes_of(items, scopes, at, last, depth + 1), scopes[at][depth]};
      // `cells` that holds `6` alone is `cells/6`.
      if (block.children.size() == 1 && !block.children[0].name.empty()) {
        Block inner = std::move(block.children[0]);
        inner.name = block.name + "/" + inner.name;
        block = std::move(inner);
      }
      blocks.push_back(std::move(block));
    }
    at = last;
  }
  add_loose(end);
  return in_sections(std::move(blocks));
}

/// Names of modules below a module, those in sections, too.
void add_prefix(const std::string& outer, Block& block) {
  if (!block.name.empty()) {
    block.name = outer + "/" + block.name;
    return;
  }
  for (Block& child : block.children) add_prefix(outer, child);
}

}  // namespace

std::vector<Block> find_blocks(const std::vector<int>& items) {
  return blocks_of(items, 0, items.size());
}

Scope scope_of_name(const std::string& name) {
  const char separator = name.find('/') != std::string::npos ? '/' : '.';
  Scope scope;
  for (const std::string& module : runtime::split(name, separator)) {
    if (scope.size() > kMostModules) break;
    if (!module.empty()) scope.push_back(module);
  }
  if (!scope.empty()) scope.pop_back();  // the item's own name
  return scope;
}

Scope common_scope(const Scope& a, const Scope& b) {
  const auto last = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return {a.begin(), last};
}

std::vector<Block> find_blocks(const std::vector<int>& items, const std::vector<Scope>& scopes) {
  if (items.size() <= kShortSequence) return find_blocks(items);
  std::vector<Block> blocks = scopes_of(items, scopes, 0, items.size(), 0);
  if (blocks.size() == 1 && !blocks[0].name.empty()) {  // around all, it need not be opened
    const Block outer = std::move(blocks[0]);
    blocks = outer.children;
    for (Block& block : blocks) add_prefix(outer.name, block);
  }
  size_t in_modules = 0;
  for (const Block& block : blocks) {
    if (!block.name.empty() || (block.times == 1 && !block.children.empty())) in_modules += block.end - block.begin;
  }
  const bool says_much = 2 * in_modules >= items.size() && 2 * blocks.size() <= items.size();
  return says_much ? blocks : find_blocks(items);
}

}  // namespace collage::page
